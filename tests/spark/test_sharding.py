"""Shards: stable, even, and where Spark's partitioner puts them."""

from collections import Counter
from datetime import date
from decimal import Decimal

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

from panewise.spark.sharding import SHARD, even_shards, with_shards

GOLDEN: dict[str, list[int]] = {
    "i": [470, 516, 337],
    "s": [418, 904, 516],
    "f": [695, 516, 336],
    "b": [470, 779, 516],
    "d": [397, 516, 996],
    "n": [276, 516, 737],
    "y": [629, 904, 516],
}
GOLDEN_PAIR = [173, 802, 708]


@pytest.mark.parametrize(("per", "partitions"), [(1, 1), (1, 2), (3, 5), (2, 200)])
def test_sparks_partitioner_puts_as_many_shards_on_each_partition(spark: SparkSession, per: int, partitions: int) -> None:
    shards = even_shards(per, partitions)
    assert len(set(shards)) == per * partitions
    df = spark.createDataFrame([(s,) for s in shards], "shard INT").select(SF.pmod(SF.hash("shard"), SF.lit(partitions)).alias("p"))
    assert Counter(row.p for row in df.collect()) == dict.fromkeys(range(partitions), per)


def test_a_keys_shard_never_changes() -> None:
    """It is part of stored state: these numbers are those of the first release."""
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
