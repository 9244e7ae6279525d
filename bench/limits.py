"""What bounds the others: the mere way through Python on Spark, and the same windows without Spark."""

import time

import polars as pl
from pyspark.sql import DataFrame

from bench.data import Events
from bench.shapes import Counted, Sessions, Shape, Windows


def identity(events: DataFrame) -> DataFrame:
    """The events, taken to Python and back unchanged: what every operator written in Python pays."""
    # A lambda travels by value: a function of this module would load Polars in workers that later serve other queries.
    return events.mapInArrow(lambda batches: batches, events.schema)


def polars_seconds(events: Events, shape: Shape) -> list[float]:
    """Seconds per file of one query over all files: no batches, no state, no checkpoint."""
    began = time.perf_counter()
    polars_panes(pl.scan_parquet(events.directory), shape).collect(engine="streaming")
    return [(time.perf_counter() - began) / events.batches]


def polars_panes(events: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    """All windows of the events, complete or not; of windows of rows the complete ones."""
    if isinstance(shape, Counted):
        return _counted(events, shape)
    return _sessions(events, shape) if isinstance(shape, Sessions) else _windows(events, shape)


_TOTALS = (pl.len().cast(pl.Int64).alias("n"), pl.col("v").sum().alias("s"), pl.col("v").max().alias("m"))
_FULL = {"median": (pl.col("v").median().alias("median"),), "list": (pl.col("v").alias("list"),)}
_COLUMNS = ("k", "start", "end", "n", "s", "m")


def _windows(events: pl.LazyFrame, shape: Windows) -> pl.LazyFrame:
    """Aggregates over the stretches between two hops, then those of each window together."""
    size, hop = pl.duration(microseconds=shape.size_us), f"{shape.hop_us}us"
    if shape.measure != "totals":
        full = events.group_by("k", pl.col("ts").dt.truncate(hop).alias("start")).agg(*_FULL[shape.measure])
        return full.select("k", "start", (pl.col("start") + size).alias("end"), pl.exclude("k", "start"))
    panes = events.group_by("k", pl.col("ts").dt.truncate(hop).alias("start")).agg(*_TOTALS)
    if shape.hop_us < shape.size_us:
        backs = range(0, shape.size_us, shape.hop_us)
        shifted = [panes.with_columns(pl.col("start") - pl.duration(microseconds=back)) for back in backs]
        panes = pl.concat(shifted).group_by("k", "start").agg(pl.sum("n", "s"), pl.max("m"))
    return panes.with_columns((pl.col("start") + size).alias("end")).select(_COLUMNS)


def _counted(events: pl.LazyFrame, shape: Counted) -> pl.LazyFrame:
    number = pl.int_range(pl.len(), dtype=pl.Int64).over("k")
    numbered = events.with_columns((number // shape.rows * shape.rows).alias("start"))
    full = numbered.group_by("k", "start").agg(*_TOTALS).filter(pl.col("n") == shape.rows)
    return full.with_columns((pl.col("start") + shape.rows).alias("end")).select(_COLUMNS)


def _sessions(events: pl.LazyFrame, shape: Sessions) -> pl.LazyFrame:
    gap = pl.duration(microseconds=shape.gap_us)
    opens = (pl.col("k") != pl.col("k").shift()) | (pl.col("ts") - pl.col("ts").shift() >= gap)
    numbered = events.sort("k", "ts").with_columns(opens.fill_null(value=True).cum_sum().alias("session"))
    bounds = (pl.col("k").first(), pl.col("ts").min().alias("start"), (pl.col("ts").max() + gap).alias("end"))
    return numbered.group_by("session").agg(*bounds, *_TOTALS).select(_COLUMNS)
