"""The peers that ours is compared with, and how much of each is run."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from bench import empty, limits, native, per_key, session
from bench.data import Events
from bench.measure import stream_seconds
from bench.shapes import Counted, Framed, Shape, Slides, output_mode


@dataclass(frozen=True, slots=True)
class Peer:
    """A way to compute a shape. `run` returns the seconds per micro-batch of one run.

    A slow peer runs once over fewer batches, without a warm-up run of its own. Spark's own operator does not
    have all shapes: it has no windows of rows, no sliding windows made by rows and no OVER rows.
    """

    run: Callable[[SparkSession, Events, Shape], list[float]]
    slow: bool = False
    all_shapes: bool = True

    def can(self, shape: Shape) -> bool:
        """Returns whether the peer can compute the shape."""
        return self.all_shapes or not isinstance(shape, Counted | Slides | Framed)


def _native(spark: SparkSession, events: Events, shape: Shape) -> list[float]:
    assert not isinstance(shape, Counted | Slides | Framed)
    with session.settings(spark, native.SETTINGS.get(shape.name, {})):
        return stream_seconds(native.query(session.read(spark, events), shape), output_mode(shape))


def _identity(spark: SparkSession, events: Events, shape: Shape) -> list[float]:
    return stream_seconds(limits.identity(session.read(spark, events)), "append")


def _empty(spark: SparkSession, events: Events, shape: Shape) -> list[float]:
    return stream_seconds(empty.query(session.read(spark, events)), "append")


def _polars(spark: SparkSession, events: Events, shape: Shape) -> list[float]:
    return limits.polars_seconds(events, shape)


def _per_key(spark: SparkSession, events: Events, shape: Shape) -> list[float]:
    return stream_seconds(per_key.query(session.read(spark, events), shape), output_mode(shape))


PEERS = {
    "native": Peer(_native, all_shapes=False),
    "identity": Peer(_identity),
    "empty": Peer(_empty),
    "polars": Peer(_polars),
    "per_key": Peer(_per_key, slow=True),
}
