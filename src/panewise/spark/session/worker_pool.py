"""One pool of Python workers for all stages of an operator.

Spark has a pool of workers for each environment that it starts them with. It sets a variable for the stages
of `mapInArrow`, but not for those of `transformWithStateInPandas`. So each core would have two workers, both
of which import all packages, and of which one waits while the other works.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from panewise.spark.session.worker_python import is_connect

_VARIABLE = "SPARK_SIMPLIFIED_TRACEBACK"
_SETTING = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"


@contextmanager
def one_worker_pool(spark: SparkSession) -> Iterator[None]:
    """Gives functions that are made inside the variable that Spark sets for other functions.

    A Connect server makes the functions itself. There the stages have a pool each.
    """
    if is_connect(spark) or spark.conf.get(_SETTING, "true") != "true":
        yield
        return
    environment = spark.sparkContext.environment
    before = environment.get(_VARIABLE)
    environment[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            environment.pop(_VARIABLE, None)
        else:
            environment[_VARIABLE] = before
