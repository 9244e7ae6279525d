"""pyspark.sql, with window functions that work on streams, too: batch code moves with a change of one import (semantics 29.12).

Example::

    from panewise.spark.sql import Window, functions as F  # was: from pyspark.sql import Window, functions as F

    w = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
    df.withColumn("rise", F.col("v") - F.lag("v").over(w)).withColumn("total", F.sum("v").over(w))

On a batch DataFrame this is what pyspark does, by Spark's own operators. On a stream it is an operator of frames
(:func:`panewise.spark.over`); its late and invalid rows are in :func:`frames_of`. All other names are those of pyspark.sql.
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
