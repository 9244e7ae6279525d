"""Which shard a key belongs to, and which shard numbers Spark spreads evenly.

A key's shard is a stable hash of its columns: it is part of stored state, so it depends on no library's version, and on no process.
"""

import numpy as np
import numpy.typing as npt
import polars as pl
import xxhash

SHARD = "__shard"
_U64 = npt.NDArray[np.uint64]
_NULL = 0x9E3779B97F4A7C15


def with_shards(frame: pl.DataFrame, keys: list[str], shards: list[int]) -> pl.DataFrame:
    """The frame with each row's shard in ``__shard``."""
    total = np.zeros(frame.height, dtype=np.uint64)
    for key in keys:
        total = _mixed(total * np.uint64(31) + _hashed(frame[key]))
    place = (total >> np.uint64(33)) % np.uint64(len(shards))
    return frame.with_columns(pl.Series(SHARD, np.asarray(shards, dtype=np.int32)[place]))


def _mixed(values: _U64) -> _U64:
    """The finaliser of SplitMix64: every input bit reaches every output bit. Multiplication wraps, as meant."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _hashed(values: pl.Series) -> _U64:
    """A hash of each value of one column."""
    nulls = values.is_null().to_numpy()
    if values.dtype.is_integer() or values.dtype.is_temporal() or values.dtype == pl.Boolean:
        bits = values.to_physical().cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    elif values.dtype.is_float():
        bits = values.cast(pl.Float64).fill_null(0.0).to_numpy().view(np.uint64)
    else:
        bits = _hashed_texts(values)
    return np.where(nulls, np.uint64(_NULL), _mixed(bits + np.uint64(_NULL)))


def _hashed_texts(values: pl.Series) -> _U64:
    """Texts, bytes and decimals: each different value is hashed once."""
    different = values.unique().drop_nulls()
    texts = different if different.dtype == pl.Binary else different.cast(pl.String).cast(pl.Binary)
    hashes = pl.DataFrame({"v": different, "h": pl.Series([xxhash.xxh64_intdigest(text) for text in texts.to_list()], dtype=pl.UInt64)})
    found = pl.DataFrame({"v": values}).join(hashes, on="v", how="left", maintain_order="left")["h"]
    return found.fill_null(0).to_numpy()


def even_shards(per_partition: int, partitions: int) -> list[int]:
    """Numbers that Spark's hash partitioner spreads over its partitions, `per_partition` on each."""
    wanted = dict.fromkeys(range(partitions), per_partition)
    found: list[int] = []
    number = 0
    while len(found) < per_partition * partitions:
        partition = _murmur3(number) % partitions
        if wanted[partition]:
            wanted[partition] -= 1
            found.append(number)
        number += 1
    return found


def _murmur3(value: int, seed: int = 42) -> int:
    """Spark's hash of an INT: Murmur3, 32 bits, one block (org.apache.spark.unsafe.hash.Murmur3_x86_32.hashInt)."""
    mask = 0xFFFFFFFF

    def rotl(x: int, r: int) -> int:
        return ((x << r) | (x >> (32 - r))) & mask

    block = rotl((value * 0xCC9E2D51) & mask, 15) * 0x1B873593 & mask
    h = (rotl(seed ^ block, 13) * 5 + 0xE6546B64) & mask
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & mask
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & mask
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h
