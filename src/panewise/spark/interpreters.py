"""Whether the interpreter of Spark's Python workers has what operators import there."""

import sys
from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from panewise.errors import SetupError
from panewise.spark.failures import reason_of

_NEEDED = ("panewise", "polars", "pyarrow", "pandas", "numpy", "xxhash", "google.protobuf")
_RULE = "operators run in Spark's Python workers, which import panewise"


def check_workers(spark: SparkSession) -> None:
    """Runs a job of one row that looks for the packages that operators need. It imports none of them.

    Raises:
        SetupError: naming the interpreter of the workers, and the variable to set.
    """
    remedy = f"set PYSPARK_PYTHON={sys.executable} before the session starts, or install panewise[spark] where the workers run"
    try:
        row = spark.range(0, 1, 1, 1).select(F.udf(_look(_NEEDED), "string", useArrow=False)("id").alias("seen")).collect()[0]
    except (PySparkException, Py4JJavaError) as error:
        raise SetupError(f"a Python worker that does not work: {reason_of(str(error))}", _RULE, remedy) from None
    interpreter, _, missing = str(row.seen).partition("|")
    if missing:
        raise SetupError(f"workers run {interpreter}, which has no {missing}", _RULE, remedy)


def _look(needed: tuple[str, ...]) -> Callable[[int], str]:
    """The function of the job. It is nested, so that workers get its code, and do not import this module for it."""

    def look(_: int) -> str:
        from importlib.util import find_spec  # noqa: PLC0415 - runs in a worker
        from sys import executable  # noqa: PLC0415

        def found(name: str) -> bool:
            try:
                return find_spec(name) is not None
            except ImportError:  # the package around it is not there
                return False

        return f"{executable}|{', '.join(name for name in needed if not found(name))}"

    return look
