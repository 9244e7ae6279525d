"""Stable hashes of rows.

The hashes are part of stored state. So they depend neither on the versions of libraries nor on the process.

Each value becomes 64 bits, which the finalizer of SplitMix64 mixes. The hashes of the columns of a row are
then combined one after another. Invariant: values that are equal as keys have equal hashes. So whole numbers
are hashed by value, whatever the width of their type; -0.0 as 0.0; and all NaNs alike. Numbers cost a few
passes over the column. Texts, bytes and decimals cost one Python call for each distinct value.

Rows are sorted by their hashes together with their places (:func:`hash_order`).
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import xxhash

from panewise.engine.kernels.sorting import Places

Hashes: TypeAlias = npt.NDArray[np.uint64]
_NULL = 0x9E3779B97F4A7C15
_FEW = 16  # values, up to which each is hashed, whether it occurs twice or not


def row_hashes(frame: pl.DataFrame, columns: Sequence[str]) -> Hashes:
    """Returns a 64-bit hash of each row over the given columns.

    Rows that are equal in these columns have equal hashes. The order of the columns matters.
    """
    total = np.zeros(frame.height, dtype=np.uint64)
    for column in columns:
        total = _mixed(total * np.uint64(31) + _hashed(frame[column]))
    return total


def _mixed(values: Hashes) -> Hashes:
    """Applies the finalizer of SplitMix64, in which every input bit affects every output bit.

    The multiplications wrap around on purpose.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _hashed(values: pl.Series) -> Hashes:
    if values.dtype.is_integer() or values.dtype.is_temporal() or values.dtype == pl.Boolean:
        whole = values if values.dtype.is_integer() else values.to_physical()
        bits = _filled(whole.cast(pl.Int64), 0).to_numpy().view(np.uint64)
    elif values.dtype.is_float():
        # -0.0 equals 0.0, and all NaNs are equal, as when rows are grouped.
        bits = (_filled(values.cast(pl.Float64), 0.0).fill_nan(float("nan")).to_numpy() + 0.0).view(np.uint64)
    else:
        bits = _hashed_texts(values)
    hashes = _mixed(bits + np.uint64(_NULL))
    return np.where(values.is_null().to_numpy(), np.uint64(_NULL), hashes) if values.null_count() else hashes


def _filled(values: pl.Series, value: float) -> pl.Series:
    return values.fill_null(value) if values.null_count() else values


def _hashed_texts(values: pl.Series) -> Hashes:
    """Returns hashes of strings, bytes or decimals. Each distinct value is hashed once."""
    if len(values) <= _FEW and values.dtype in (pl.String, pl.Binary):
        known = (
            b"" if value is None else value if isinstance(value, bytes) else value.encode()
            for value in values
        )
        return np.array([xxhash.xxh64_intdigest(text) for text in known], dtype=np.uint64)
    different = values.unique().drop_nulls()
    distinct_texts = different if different.dtype == pl.Binary else different.cast(pl.String).cast(pl.Binary)
    hashes = pl.DataFrame(
        {
            "v": different,
            "h": pl.Series(
                [xxhash.xxh64_intdigest(text) for text in distinct_texts.to_list()], dtype=pl.UInt64
            ),
        }
    )
    of_values = pl.DataFrame({"v": values}).join(hashes, on="v", how="left", maintain_order="left")["h"]
    return of_values.fill_null(0).to_numpy()


def hash_order(hashes: Hashes) -> Places:
    """Returns the places of the rows sorted by hash. The sort is stable.

    The upper bits of the hashes are sorted together with the places. That takes a tenth of the time of an
    argsort, and is wrong only if the upper bits of two different hashes are equal.
    """
    place = len(hashes).bit_length()
    packed = (hashes >> np.uint64(place)) << np.uint64(place)
    packed |= np.arange(len(hashes), dtype=np.uint64)
    packed.sort()
    packed &= np.uint64((1 << place) - 1)
    places: Places = packed.view(np.intp)
    ordered = hashes[places]
    return places if (ordered[1:] >= ordered[:-1]).all() else np.argsort(hashes, kind="stable")


def shard_places(frame: pl.DataFrame, keys: list[str], shards: int) -> Places:
    """Returns the place of the shard of each row, from 0. A stable hash of the keys decides it."""
    return ((row_hashes(frame, keys) >> np.uint64(33)) % np.uint64(shards)).astype(np.intp)
