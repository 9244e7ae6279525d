"""Tests of shards: the shard of a key is stable, shards are even, and partitions have equally many."""

from collections import Counter
from datetime import date
from decimal import Decimal

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

from panewise.spark.shard_numbers import even_shards
from panewise.spark.workers.pack import SHARD, with_shards

GOLDEN: dict[str, list[int]] = {
    "i": [470, 516, 337],
    "s": [418, 904, 516],
    "f": [695, 516, 336],
    "b": [470, 779, 516],
    "d": [397, 516, 996],
    "n": [276, 516, 737],
    "y": [629, 904, 516],
}
SHARDS_OF_2 = [0, 2]
SHARDS_OF_5 = [0, 1, 2, 4, 22]
GOLDEN_PAIR = [173, 802, 708]


@pytest.mark.parametrize(("shards", "partitions"), [(1, 1), (2, 2), (5, 5), (200, 200), (200, 50), (12, 4)])
def test_sparks_partitioner_puts_as_many_shards_on_each_partition(
    spark: SparkSession, shards: int, partitions: int
) -> None:
    numbers = even_shards(shards)
    assert len(set(numbers)) == shards
    df = spark.createDataFrame([(s,) for s in numbers], "shard INT").select(
        SF.pmod(SF.hash("shard"), SF.lit(partitions)).alias("p")
    )
    assert Counter(row.p for row in df.collect()) == dict.fromkeys(range(partitions), shards // partitions)


def test_the_numbers_of_shards_never_change_and_0_is_among_them() -> None:
    """The numbers are part of stored state, so they are those of the first release."""
    assert even_shards(2) == SHARDS_OF_2
    assert even_shards(5) == SHARDS_OF_5
    assert all(even_shards(shards)[0] == 0 for shards in range(1, 40))


def test_a_keys_shard_never_changes() -> None:
    """The shard of a key is part of stored state, so it is that of the first release."""
    frame = pl.DataFrame(
        {
            "i": [1, None, -(2**63)],
            "s": ["a", "", None],
            "f": [0.5, None, float("inf")],
            "b": [True, False, None],
            "d": [date(2024, 1, 1), None, date(1960, 1, 1)],
            "n": [Decimal("1.50"), None, Decimal("-2.00")],
            "y": [b"\x00", b"", None],
        }
    )
    found = {name: with_shards(frame, [name], list(range(1000)))[SHARD].to_list() for name in frame.columns}
    assert found == GOLDEN
    assert with_shards(frame, ["i", "s"], list(range(1000)))[SHARD].to_list() == GOLDEN_PAIR


def test_keys_spread_evenly() -> None:
    for keys in (pl.Series("k", range(20_000)), pl.Series("k", [f"user-{n}" for n in range(20_000)])):
        sizes = Counter(with_shards(pl.DataFrame(keys), ["k"], list(range(8)))[SHARD])
        assert max(sizes.values()) < 1.1 * 20_000 / 8
