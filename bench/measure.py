"""Measures seconds per micro-batch from the progress of streaming queries, and compares two runners."""

import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

WARM_UP_BATCHES = 2  # the first batches of a run start Python workers and open state stores

Run = Callable[[], list[float]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Median seconds per micro-batch of ours and of a peer."""

    ours_s: float
    peer_s: float

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer ours is."""
        return self.peer_s / self.ours_s


def alternate(ours: Run, peer: Run, rounds: int, warm_up: Sequence[Run]) -> Pair:
    """Runs ours and the peer in turn, first and last ours; returns the median of each.

    The warm-up, in which the JVM compiles its code, runs before them and does not count.
    """
    for run in warm_up:
        run()
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        samples[0].extend(ours())
        samples[1].extend(peer())
    samples[0].extend(ours())
    return Pair(statistics.median(samples[0]), statistics.median(samples[1]))


def batch_seconds(progress: Sequence[Mapping[str, Any]]) -> list[float]:
    """Returns the seconds of each batch that read data; Spark adds an empty batch at the end."""
    data = sorted((p for p in progress if p["numInputRows"] > 0), key=lambda p: int(p["batchId"]))
    return [p["durationMs"]["triggerExecution"] / 1000 for p in data]


def warm(seconds: Sequence[float]) -> list[float]:
    """Returns the seconds without those of the warm-up batches."""
    if len(seconds) <= WARM_UP_BATCHES:
        raise ValueError(
            f"{len(seconds)} batches with data | the first {WARM_UP_BATCHES} are warm-up | give more batches"
        )
    return list(seconds[WARM_UP_BATCHES:])


def stream_seconds(frame: DataFrame, output_mode: str) -> list[float]:
    """Runs a query over all its input with a new checkpoint; returns the seconds after the warm-up."""
    with tempfile.TemporaryDirectory(prefix="bench-") as checkpoint:
        return warm(seconds_of(frame, output_mode, checkpoint))


def seconds_of(frame: DataFrame, output_mode: str, checkpoint: str) -> list[float]:
    """Runs a query over all its input and discards the output; returns the seconds of every batch."""
    return batch_seconds(progress_of(frame, output_mode, checkpoint))


def rows_out(progress: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of rows that the query has emitted, also in batches without data."""
    return sum(p["sink"]["numOutputRows"] for p in progress)


def progress_of(frame: DataFrame, output_mode: str, checkpoint: str) -> Sequence[Mapping[str, Any]]:
    """Runs a query over all its input and discards the output; returns the progress of every batch."""
    writer = frame.writeStream.format("noop").outputMode(output_mode).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return list(query.recentProgress)
