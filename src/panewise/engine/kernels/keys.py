"""Key columns as outputs show them."""

import polars as pl


def output_key(name: str, dtype: pl.DataType) -> pl.Expr:
    """Returns a key column as outputs show it: -0.0 is 0.0 (semantics 15.2)."""
    value = pl.col(name)
    return pl.when(value == 0).then(0.0).otherwise(value).alias(name) if dtype.is_float() else value
