"""Approximate distinct counts: the k smallest hashes of the values seen (KMV).

With fewer than k distinct hashes the count is exact. Otherwise it is estimated as (k - 1) / h, where h is the
k-th smallest hash as a fraction of the hash range. The relative standard deviation of the estimate is
1 / sqrt(k - 2), so k = ceil(1 / rsd^2) + 2.

Invariant: a partial has the k smallest distinct hashes of its rows, ascending. Those of two partials contain
the k smallest of both, so merges lose nothing, in whatever order. Cost: one hash for each value, and a sort
of the hashes that are merged.

Hashes are part of stored state, so they must not change with the version of a library. They are xxHash64 of
the bytes of the value.

Source: Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan: Counting distinct elements in a data stream (2002).
"""

import math
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal

import polars as pl
import xxhash

from panewise.engine.kernels.column_types import whole_instants

_RANGE = 2.0**64


def size_for(rsd: float) -> int:
    """Returns the number of hashes k for a relative standard deviation."""
    return math.ceil(1 / rsd**2) + 2


def smallest(hashes: pl.Expr, size: int) -> pl.Expr:
    """Returns the `size` smallest distinct hashes, ascending."""
    return hashes.unique().sort().head(size)


def hash_values(values: pl.Series) -> pl.Series:
    """Returns xxHash64 of each value, and null for a null.

    Most callers pass distinct values, so one Python call for each value is affordable.
    """
    if values.dtype.is_temporal():
        values = values.to_physical()
    elif values.dtype.is_nested():
        values = values.cast(whole_instants(values.dtype))  # Python has no dates after the year 9999
    return pl.Series(
        [None if value is None else xxhash.xxh64_intdigest(_bytes(value)) for value in values.to_list()],
        dtype=pl.UInt64,
    )


def _bytes(value: object) -> bytes:
    if isinstance(value, float):
        # -0.0 equals 0.0, and all NaNs are equal (semantics 24.2).
        return struct.pack("<d", math.nan if math.isnan(value) else value + 0.0)
    if isinstance(value, (int, Decimal, date, datetime, timedelta)):
        return str(value).encode()
    return value if isinstance(value, bytes) else str(value).encode()


def estimate(hashes: pl.Expr, size: int) -> pl.Expr:
    """Returns the distinct count that is computed from a list of the smallest hashes."""
    # n hashes spread evenly have distances of 1 / n of the range. So the k-th smallest is near k / n.
    kth = hashes.list.get(size - 1, null_on_oob=True).cast(pl.Float64)
    guess = ((size - 1) * _RANGE / kth).round().cast(pl.Int64)
    return pl.when(hashes.list.len() < size).then(hashes.list.len().cast(pl.Int64)).otherwise(guess)
