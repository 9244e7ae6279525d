"""Which shard a key belongs to, and which shard numbers Spark spreads evenly.

A key's shard is a stable hash of its columns: it is part of stored state, so it depends on no library's version, and on no process.
"""

import numpy as np
import polars as pl

from panewise.engine.hashing import row_hashes

SHARD = "__shard"


def with_shards(frame: pl.DataFrame, keys: list[str], shards: list[int]) -> pl.DataFrame:
    """The frame with each row's shard in ``__shard``."""
    place = (row_hashes(frame, keys) >> np.uint64(33)) % np.uint64(len(shards))
    return frame.with_columns(pl.Series(SHARD, np.asarray(shards, dtype=np.int32)[place]))


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
