"""pyspark.sql with window functions that also work on streams (semantics 29.12).

Batch code moves to streams with a change of one import and a call of :func:`enable`.

Example::

    # was: from pyspark.sql import Window, functions as F
    from panewise.spark.compat import Window, enable, functions as F

    enable()
    w = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
    df.withColumn("rise", F.col("v") - F.lag("v").over(w)).withColumn("total", F.sum("v").over(w))

Importing the module changes nothing in PySpark. `enable()` replaces withColumn, withColumns and select of its
DataFrames for the whole process, `disable()` restores them, and `with enabled():` does both.

On a batch DataFrame Spark computes the functions, as with pyspark, except over ranges whose bounds are texts.
On a stream an OVER operator (:func:`panewise.spark.over`) computes them. :func:`result_of` returns its late
and invalid rows. All other names are those of pyspark.sql.
"""

from typing import Any

from panewise.extras import from_extra
from panewise.replaced_names import REPLACED, no_attribute

with from_extra("spark", "panewise.spark.compat has the names of pyspark.sql"):
    import pyspark.sql

    from panewise.spark.compat import functions
    from panewise.spark.compat.dataframes import disable, enable, enabled, result_of
    from panewise.spark.compat.window import Window, WindowSpec

__all__ = ["Window", "WindowSpec", "disable", "enable", "enabled", "functions", "result_of"]


def __getattr__(name: str) -> Any:
    if name in REPLACED[__name__]:
        no_attribute(__name__, name)
    return getattr(pyspark.sql, name)
