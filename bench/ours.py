"""The same through panewise."""

from pyspark.sql import DataFrame

import panewise as pw
from bench.shapes import WATERMARK_DELAY, Sessions, Shape
from panewise import functions as F
from panewise.spark import windowed


def query(events: DataFrame, shape: Shape) -> DataFrame:
    """The panes of a shape, in append mode whatever the shape."""
    keyed = windowed(events.withWatermark("ts", WATERMARK_DELAY), event_time="ts").groupBy("k").window(_window(shape))
    if shape.final:
        timed = keyed.trigger(pw.AfterWatermark())
    else:
        timed = keyed.trigger(pw.Always()).accumulation("accumulating")
    result = timed.agg(F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m"))
    return result.panes


def _window(shape: Shape) -> pw.Tumbling | pw.Hopping | pw.Session:
    if isinstance(shape, Sessions):
        return pw.Session(shape.gap_us)
    if shape.hop_us == shape.size_us:
        return pw.Tumbling(shape.size_us)
    return pw.Hopping(shape.size_us, shape.hop_us)
