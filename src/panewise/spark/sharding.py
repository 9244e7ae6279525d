"""Which shard a key belongs to, and which shard numbers Spark spreads evenly.

A key's shard is a stable hash of its columns: it is part of stored state, so it depends on no library's version, and on no process.
"""

import numpy as np
import polars as pl

from panewise.engine.kernels.hashing import row_hashes

SHARD = "__shard"


def with_shards(frame: pl.DataFrame, keys: list[str], shards: list[int]) -> pl.DataFrame:
    """The frame with each row's shard in ``__shard``."""
    place = (row_hashes(frame, keys) >> np.uint64(33)) % np.uint64(len(shards))
    return frame.with_columns(pl.Series(SHARD, np.asarray(shards, dtype=np.int32)[place]))


def even_shards(shards: int) -> list[int]:
    """Numbers for so many shards, which Spark's hash spreads evenly over as many partitions, or over half as many, and so on.

    They depend on the number of shards alone, never on a setting, for the state of a shard is found by its number. 0 is always
    among them, so a state of another number of shards is always noticed.
    """
    found: dict[int, int] = {}
    number = 0
    while len(found) < shards:
        found.setdefault(_murmur3(number) % shards, number)
        number += 1
    return list(found.values())


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
