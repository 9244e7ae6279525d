"""Key columns as outputs show them."""

import polars as pl


def shown_key(name: str, dtype: pl.DataType) -> pl.Expr:
    """Returns a key column as outputs show it: -0.0 is 0.0 (semantics 15.2)."""
    shown = pl.col(name)
    return pl.when(shown == 0).then(0.0).otherwise(shown).alias(name) if dtype.is_float() else shown
