"""Keys and results of windows as the stores of panewise take them (semantics 31.14, 31.15).

A key of one column is its value, any other key a tuple. A result is a dict by the names of the aggregates.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from panewise.engine.kernels.column_types import with_leaves
from panewise.standalone.value_types import in_microseconds

KEY_TYPES: Final = (*pl.datatypes.group.INTEGER_DTYPES, pl.String, pl.Boolean, pl.Binary)


def keys_of(windows: pl.DataFrame, names: Sequence[str]) -> list[Any]:
    """Returns the key of each row, in the columns with these names.

    >>> windows = pl.DataFrame({"k": ["a", None], "n": [1, 2]})
    >>> keys_of(windows, ["k"]), keys_of(windows, ["k", "n"]), keys_of(windows, [])
    (['a', (None,)], [('a', 1), (None, 2)], [(), ()])
    """
    if len(names) == 1:  # a store refuses null as a key, but not as a part of one
        return [(None,) if value is None else value for value in windows[names[0]].to_list()]
    return windows.select(names).rows() if names else [()] * windows.height


def stored_key(key: Any) -> tuple[Any, ...]:
    """Returns the values of the key columns of a key that :func:`keys_of` returned."""
    return key if isinstance(key, tuple) else (key,)


def values_of(results: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the value of each row.

    Decimals, dates and times of day become texts; instants and durations become microseconds.

    >>> from decimal import Decimal
    >>> values_of(pl.DataFrame({"total": [Decimal("1.50")], "rows": [2]}))
    [{'total': '1.50', 'rows': 2}]
    """
    changed = {name: with_leaves(dtype, _value_type) for name, dtype in results.schema.items()}
    casts = [
        pl.col(name).cast(with_leaves(results.schema[name], in_microseconds)).cast(dtype)
        for name, dtype in changed.items()
        if dtype != results.schema[name]
    ]
    return results.with_columns(casts).to_dicts()


def has_bytes(dtype: pl.DataType) -> bool:
    """Returns whether values of a type contain bytes, which a dict in a store cannot contain.

    >>> has_bytes(pl.List(pl.Binary())), has_bytes(pl.String())
    (True, False)
    """
    return with_leaves(dtype, lambda leaf: pl.Null() if leaf == pl.Binary else leaf) != dtype


def _value_type(leaf: pl.DataType) -> pl.DataType:
    if isinstance(leaf, (pl.Datetime, pl.Duration)):
        return pl.Int64()
    return pl.String() if isinstance(leaf, (pl.Decimal, pl.Date, pl.Time)) else leaf
