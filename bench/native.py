"""Spark's own window operator."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from bench.shapes import WATERMARK_DELAY, Sessions, Windows

# Where native is faster with another setting than the session's. Medians per batch of a million rows, 2
# cores, over 10 batches: changelog on / off: tumbling 0.36 / 0.37 s, tumbling_final 0.33 / 0.35 s, hopping
# 1.14 / 1.01 s, session 1.00 / 1.01 s; sessions merged before the shuffle 1.00 s, after it only 1.18 s.
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "hopping": {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "false"},
    "session": {"spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": "true"},
}


def query(events: DataFrame, shape: Windows | Sessions) -> DataFrame:
    """Returns the panes of a shape. The query must run in the shape's output mode."""
    grouped = events.withWatermark("ts", WATERMARK_DELAY).groupBy("k", _window(shape).alias("w"))
    measures = _measures(shape)
    return grouped.agg(*measures.values()).select("k", "w.start", "w.end", *measures)


def _measures(shape: Windows | Sessions) -> dict[str, Column]:
    """Returns the aggregates of a shape. It is no constant because PySpark's functions need a session."""
    made = {
        "totals": {"n": sf.count("*"), "s": sf.sum("v"), "m": sf.max("v")},
        "median": {"median": sf.median("v")},
        "list": {"list": sf.collect_list("v")},
    }[shape.measure]
    return {name: column.alias(name) for name, column in made.items()}


def _window(shape: Windows | Sessions) -> Column:
    if isinstance(shape, Sessions):
        return sf.session_window("ts", f"{shape.gap_us} microseconds")
    return sf.window("ts", f"{shape.size_us} microseconds", f"{shape.hop_us} microseconds")
