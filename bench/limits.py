"""Bounds for the other runners: a bare pass through Python on Spark, and the same windows without Spark."""

import time

import polars as pl
from pyspark.sql import DataFrame

from bench import over
from bench.data import Events
from bench.shapes import Counted, Framed, Sessions, Shape, Slides, Windows


def identity(events: DataFrame) -> DataFrame:
    """Returns the events, passed to Python and back unchanged: the cost that every Python operator has."""
    # A lambda is pickled by value: a function of this module would load Polars in workers that later serve
    # other queries.
    return events.mapInArrow(lambda batches: batches, events.schema)


def polars_seconds(events: Events, shape: Shape) -> list[float]:
    """Returns seconds per file of one query over all files, without batches, state or checkpoint."""
    began = time.perf_counter()
    polars_panes(pl.scan_parquet(events.directory), shape).collect(engine="streaming")
    return [(time.perf_counter() - began) / events.batches]


def polars_panes(events: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    """Returns all windows, but only the complete windows of rows; all rows of the OVER shapes."""
    if isinstance(shape, Framed):
        return over.polars(events, shape)
    if isinstance(shape, Counted):
        return _counted(events, shape)
    if isinstance(shape, Slides):
        return _slides(events, shape)
    return _sessions(events, shape) if isinstance(shape, Sessions) else _windows(events, shape)


_TOTALS = (pl.len().cast(pl.Int64).alias("n"), pl.col("v").sum().alias("s"), pl.col("v").max().alias("m"))
_FULL = {"median": (pl.col("v").median().alias("median"),), "list": (pl.col("v").alias("list"),)}
_COLUMNS = ("k", "start", "end", "n", "s", "m")


def _windows(events: pl.LazyFrame, shape: Windows) -> pl.LazyFrame:
    """Aggregates each interval between two hops, and merges the intervals of each window."""
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


def _slides(events: pl.LazyFrame, shape: Slides) -> pl.LazyFrame:
    """Computes a window for each row. Rows of a key with the same time make the same window."""
    keyed = events.with_columns(pl.col("k") % shape.keys).sort("k", "ts")
    panes = (
        keyed.rolling("ts", period=f"{shape.size_us}us", closed="both", group_by="k")
        .agg(*_TOTALS)
        .unique(["k", "ts"])
    )
    return panes.with_columns(
        (pl.col("ts") - pl.duration(microseconds=shape.size_us)).alias("start"), pl.col("ts").alias("end")
    ).select(_COLUMNS)


def _sessions(events: pl.LazyFrame, shape: Sessions) -> pl.LazyFrame:
    gap = pl.duration(microseconds=shape.gap_us)
    opens = (pl.col("k") != pl.col("k").shift()) | (pl.col("ts") - pl.col("ts").shift() >= gap)
    numbered = events.sort("k", "ts").with_columns(opens.fill_null(value=True).cum_sum().alias("session"))
    bounds = (pl.col("k").first(), pl.col("ts").min().alias("start"), (pl.col("ts").max() + gap).alias("end"))
    return numbered.group_by("session").agg(*bounds, *_TOTALS).select(_COLUMNS)
