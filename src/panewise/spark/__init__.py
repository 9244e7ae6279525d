"""Window and frame operators over Spark DataFrames: the only part of panewise that imports pyspark."""

from panewise.spark import worker  # noqa: F401 - before anything that imports Polars
from panewise.spark.api import Result, Windowed, apply, windowed
from panewise.spark.failures import QueryError
from panewise.spark.over import FrameResult, Overs, over
from panewise.spark.session import configure
from panewise.spark.sinks import ParquetSink
from panewise.spark.streamwindow import EventResult, stream_window
from panewise.spark.writer import WindowQuery

__all__ = [
    "EventResult",
    "FrameResult",
    "Overs",
    "ParquetSink",
    "QueryError",
    "Result",
    "WindowQuery",
    "Windowed",
    "apply",
    "configure",
    "over",
    "stream_window",
    "windowed",
]
