"""Chooses shard numbers that Spark spreads evenly over its partitions."""

from typing import Final

_SEED: Final = 42  # of Spark's hash


def even_shards(shards: int) -> list[int]:
    """Returns the numbers of so many shards, which Spark's hash spreads evenly over its partitions.

    Their hashes have every remainder modulo the number of shards, each once. So they are spread evenly over
    as many partitions as there are shards, or over half as many, and so on.

    The numbers depend only on the number of shards, never on a setting, because the state of a shard is found
    by its number. 0 is always among them, so a state with another number of shards is always noticed.
    """
    by_remainder: dict[int, int] = {}
    number = 0
    while len(by_remainder) < shards:
        by_remainder.setdefault(_murmur3(number) % shards, number)
        number += 1
    return list(by_remainder.values())


def _murmur3(value: int) -> int:
    """Returns Spark's hash of an INT: 32-bit Murmur3 of one block.

    It is org.apache.spark.unsafe.hash.Murmur3_x86_32.hashInt.
    """
    mask = 0xFFFFFFFF

    def rotl(x: int, r: int) -> int:
        return ((x << r) | (x >> (32 - r))) & mask

    block = rotl((value * 0xCC9E2D51) & mask, 15) * 0x1B873593 & mask
    h = (rotl(_SEED ^ block, 13) * 5 + 0xE6546B64) & mask
    h ^= 4
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & mask
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & mask
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h
