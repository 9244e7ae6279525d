"""The Spark query of the demo of joins."""

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from panewise.demo.job import follow, stream
from panewise.demo.join.check import COUNTS, INVALID, JOINED, LATE, MAX_AGE
from panewise.demo.join.inputs import FLIGHTS, OBSERVATION, WEATHER
from panewise.spark import JoinResult, joined

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
    sinks = {"rows": out / JOINED}
    for kind in (LATE, INVALID, COUNTS):
        sinks |= {f"left_{kind}": out / f"{FLIGHTS}_{kind}", f"right_{kind}": out / f"{WEATHER}_{kind}"}
    result = described(flights, weather)
    follow(result.write(sinks, checkpoint=out / "checkpoint", available_now=True), on_batch)


def described(flights: DataFrame, weather: DataFrame) -> JoinResult:
    """Returns the join: each flight with the latest weather of its airport, at most `MAX_AGE` old."""
    description = joined(flights, weather, event_time=("scheduled", "observed")).on("origin")
    return description.as_of(tolerance=MAX_AGE).select(*COLUMNS).finish("at_end").how("left")
