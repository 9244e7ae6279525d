"""Checks that the interpreter of Spark's Python workers has the packages that operators import."""

import sys
from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from panewise.errors import SetupError
from panewise.spark.session.failures import reason_of

_NEEDED = ("panewise", "polars", "pyarrow", "pandas", "numpy", "xxhash", "google.protobuf")
_RULE = "operators run in Spark's Python workers, which import panewise"


def check_workers(spark: SparkSession) -> None:
    """Runs a job of one row that looks for the packages that operators need, without importing them."""
    remedy = (
        f"set PYSPARK_PYTHON={sys.executable} before the session starts, or install "
        "panewise[spark] where the workers run"
    )
    try:
        row = (
            spark.range(0, 1, 1, 1)
            .select(F.udf(_look(_NEEDED), "string", useArrow=False)("id").alias("seen"))
            .collect()[0]
        )
    except (PySparkException, Py4JJavaError) as error:
        raise SetupError(
            f"a Python worker that does not work: {reason_of(str(error))}", _RULE, remedy
        ) from None
    interpreter, _, missing = str(row.seen).partition("|")
    if missing:
        raise SetupError(f"workers run {interpreter}, which has no {missing}", _RULE, remedy)


def _look(needed: tuple[str, ...]) -> Callable[[int], str]:
    """Returns the function of the job.

    It is nested, so that Spark sends its code to the workers, and they need not import this module.
    """

    def look(_: int) -> str:
        from importlib.util import find_spec  # noqa: PLC0415 - runs in a worker
        from sys import executable  # noqa: PLC0415

        def can_import(name: str) -> bool:
            try:
                return find_spec(name) is not None
            except ImportError:  # its parent package is missing
                return False

        return f"{executable}|{', '.join(name for name in needed if not can_import(name))}"

    return look
