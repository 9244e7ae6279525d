"""Window and frame operators over Spark DataFrames: the only part of panewise that imports pyspark."""

from panewise.spark import worker  # noqa: F401 - before anything that imports Polars
from panewise.spark.api import Result, Windowed, apply, windowed
from panewise.spark.over import FrameResult, Overs, over
from panewise.spark.session import configure
from panewise.spark.streamwindow import EventResult, stream_window
from panewise.spark.writer import ParquetSink, WindowQuery

__all__ = [
    "EventResult",
    "FrameResult",
    "Overs",
    "ParquetSink",
    "Result",
    "WindowQuery",
    "Windowed",
    "apply",
    "configure",
    "over",
    "stream_window",
    "windowed",
]
