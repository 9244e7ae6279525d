"""Tests of queries that use the emitted rows of one result twice (semantics 42.13)."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame

import panewise as pw
from panewise import functions as F
from panewise.spark import cogrouped, joined, windowed
from tests.nightly import first_here
from tests.spark.conftest import Feed, emitted

HALF, MINUTE = pw.Tumbling("30 seconds"), pw.Tumbling("1 minute")


def counts(df: DataFrame) -> Any:
    described = windowed(df, "ts").groupBy("k").window(HALF).options(timestamp="window_time")
    return described.agg(F.count().alias("n"))


def united(result: Any) -> DataFrame:
    panes = result.panes.select("k", "window_start", "n")
    return panes.union(panes)


def paired(result: Any) -> DataFrame:
    both = joined(result, result).on("k").within(0, 0)
    return both.select("k", ("left", "n"), ("right", "window_start", "m")).how("inner").rows


def grouped(result: Any) -> DataFrame:
    both = cogrouped(result, result).on("k").window(MINUTE)
    panes = both.agg(left=[F.count().alias("n")], right=[F.sum("n").alias("m")]).panes
    return panes.select("k", "window_start", "n", "m")


def filtered(result: Any) -> DataFrame:
    """The result with something made from itself."""
    both = joined(result, result.where("n > 2")).on("k").within(0, 0)
    return both.select("k", ("left", "n"), ("right", "window_start", "m")).how("inner").rows


USES: list[Callable[[Any], DataFrame]] = [united, paired, grouped, filtered]


@pytest.mark.parametrize("use", first_here(USES))
def test_one_result_used_twice(feed: Feed, use: Callable[[Any], DataFrame]) -> None:
    """Both uses emit all rows: a stream emits what a batch emits."""
    feed.put(*((5 * n, "ab"[n % 2], n) for n in range(12)))
    feed.put((100, "a", 1))
    stream = use(counts(feed.stream().withWatermark("ts", "10 seconds")))
    batch = pl.DataFrame(use(counts(feed.batch().where("ts < '2024-01-01 00:01:00'"))).toArrow())
    rows = emitted(feed, stream).select(batch.columns)
    assert rows.sort(pl.all()).equals(batch.sort(pl.all()))
    assert rows.height in (2, 4, 8)
