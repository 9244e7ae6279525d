"""pyspark.sql with window functions that also work on streams (semantics 29.12).

Batch code moves to streams with a change of one import.

Example::

    # was: from pyspark.sql import Window, functions as F
    from panewise.spark.sql import Window, functions as F

    w = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
    df.withColumn("rise", F.col("v") - F.lag("v").over(w)).withColumn("total", F.sum("v").over(w))

On a batch DataFrame Spark computes the functions, as with pyspark, except over ranges whose bounds are texts.
On a stream an OVER operator (:func:`panewise.spark.over`) computes them. :func:`frames_of` returns its late
and invalid rows. All other names are those of pyspark.sql.
"""

from typing import Any

import pyspark.sql

from panewise.spark.sql import functions
from panewise.spark.sql.dataframe import frames_of, teach
from panewise.spark.sql.window import Window, WindowSpec

__all__ = ["Window", "WindowSpec", "frames_of", "functions"]

teach()


def __getattr__(name: str) -> Any:
    return getattr(pyspark.sql, name)
