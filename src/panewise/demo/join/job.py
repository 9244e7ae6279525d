"""The Spark query of the demo of joins."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from panewise.demo.job import follow, stream
from panewise.demo.join.check import COUNTS, INVALID, JOINED, LATE, MAX_AGE
from panewise.demo.join.inputs import FLIGHTS, OBSERVATION, WEATHER
from panewise.spark import JoinResult, ParquetSink, joined

LEAVES_WITHIN = "1 day"  # of its scheduled departure: so no flight is late
EMITTED = ("id", "origin", "carrier", "flight", "dest", "scheduled", "dep_delay")

COLUMNS = (
    *(("left", name) for name in EMITTED),
    *(("right", name) for name in OBSERVATION if name != "origin"),
)


def run(spark: SparkSession, source: Path, out: Path, on_batch: Callable[[int], None]) -> None:
    """Runs the join over the files below `source`, one of each side at a time, and writes its outputs.

    It returns when all files are processed. About once a second it calls `on_batch` with the number of the
    last finished micro-batch.
    """
    flights = stream(spark, source / FLIGHTS).withWatermark("scheduled", LEAVES_WITHIN)
    weather = stream(spark, source / WEATHER).withWatermark("observed", "0 seconds")

    def sink(name: str) -> ParquetSink:
        return ParquetSink(str(out / name))

    query = described(flights, weather).write(
        rows=sink(JOINED),
        left_late=sink(f"{FLIGHTS}_{LATE}"),
        right_late=sink(f"{WEATHER}_{LATE}"),
        left_invalid=sink(f"{FLIGHTS}_{INVALID}"),
        right_invalid=sink(f"{WEATHER}_{INVALID}"),
        left_counts=sink(f"{FLIGHTS}_{COUNTS}"),
        right_counts=sink(f"{WEATHER}_{COUNTS}"),
        checkpoint=str(out / "checkpoint"),
        available_now=True,
    )
    follow(query, on_batch)


def described(flights: DataFrame, weather: DataFrame) -> JoinResult:
    """Returns the join: each flight with the latest weather of its airport, at most `MAX_AGE` old."""
    description = joined(flights, weather, event_time=("scheduled", "observed")).on("origin")
    return description.as_of(tolerance=MAX_AGE).select(*COLUMNS).finish("at_end").how("left")
