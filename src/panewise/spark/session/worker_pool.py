"""One pool of Python workers for all stages of an operator.

Spark has a pool of workers for each environment that it starts them with. It sets a variable for the stages
of `mapInArrow`, but not for those of `transformWithStateInPandas`. So each core would have two workers, both
of which import all packages, and of which one is idle while the other works.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final

from pyspark.sql import SparkSession

from panewise.spark.session.driver import is_classic

_VARIABLE: Final = "SPARK_SIMPLIFIED_TRACEBACK"
_SETTING: Final = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"
_ONE_AT_A_TIME: Final = RLock()  # all sessions of a process have one SparkContext, and so one environment


@contextmanager
def one_worker_pool(spark: SparkSession) -> Iterator[None]:
    """Gives functions made inside the block the environment variable that Spark sets for `mapInArrow`.

    A Connect server makes the functions itself. There the stages have a pool each.

    Queries may be built in several threads, one after the other here. Other threads of the user may make
    functions meanwhile, for which Spark iterates over the environment. So it is replaced and never changed:
    such an iteration reads the one with which it began.
    """
    if not is_classic(spark) or spark.conf.get(_SETTING, "true") != "true":
        yield
        return
    context = spark.sparkContext
    with _ONE_AT_A_TIME:
        before = context.environment
        context.environment = {**before, _VARIABLE: "1"}
        try:
            yield
        finally:
            context.environment = before
