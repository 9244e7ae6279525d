"""The shapes in panewise."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import panewise as pw
from bench import over
from bench.shapes import WATERMARK_DELAY, Counted, Framed, Sessions, Shape, Slides, Windows
from panewise import functions as F
from panewise.spark import windowed

_MEASURES = {
    "totals": [F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")],
    "median": [F.median("v").alias("median")],
    "list": [F.collect_list("v").alias("list")],
}


def query(events: DataFrame, shape: Shape) -> DataFrame:
    """Returns the panes of a shape. The query runs in append mode for every shape."""
    if isinstance(shape, Framed):
        return over.ours(events, shape)
    if isinstance(shape, Counted):
        counted = windowed(events).groupBy("k").window(pw.Tumbling(pw.rows(shape.rows)))
        return counted.trigger(pw.AfterWatermark()).agg(*_MEASURES[shape.measure]).panes
    if isinstance(shape, Slides):
        events = events.withColumn("k", sf.col("k") % shape.keys)
    keyed = (
        windowed(events.withWatermark("ts", WATERMARK_DELAY), event_time="ts")
        .groupBy("k")
        .window(_window(shape))
    )
    if shape.final:
        timed = keyed.trigger(pw.AfterWatermark())
    else:
        timed = keyed.trigger(pw.Always()).accumulation("accumulating")
    return timed.agg(*_MEASURES[shape.measure]).panes


def _window(shape: Windows | Sessions | Slides) -> pw.Tumbling | pw.Hopping | pw.Session | pw.Sliding:
    if isinstance(shape, Slides):
        return pw.Sliding(shape.size_us)
    if isinstance(shape, Sessions):
        return pw.Session(shape.gap_us)
    if shape.hop_us == shape.size_us:
        return pw.Tumbling(shape.size_us)
    return pw.Hopping(shape.size_us, shape.hop_us)
