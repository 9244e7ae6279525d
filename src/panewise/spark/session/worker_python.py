"""Checks that the interpreter of Spark's Python workers has the packages that operators import.

Spark starts the same command on the driver, too, when a query with an operator starts: the driver reads the
state variables of the operator. With a packed environment the command is a relative path, which may exist on
the executors alone. A table function is analyzed in the same way, on the driver, so it finds out beforehand.
There is a difference: for a table function Spark puts the files of --py-files on the path, for an operator it
does not.
"""

import sys
from collections.abc import Callable, Iterator
from typing import cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType
from pyspark.sql.udtf import AnalyzeResult, UserDefinedTableFunction

from panewise.errors import SetupError
from panewise.spark.session.driver import is_classic, is_local
from panewise.spark.session.failures import reason_of

_NEEDED = ("panewise", "polars", "pyarrow", "pandas", "numpy", "xxhash", "google.protobuf")
_RULE = "operators run in Spark's Python workers, which import panewise"
_DRIVER_RULE = "Spark starts the interpreter of its workers on the driver, too, when a streaming query starts"
_NEEDED_FOR_SINKS = ("grpc", "grpc_status", "google.rpc", "zstandard")
DRIVER_CHECKED = "panewise.driverChecked"
UNCHECKED = "no"  # the setting's value where `configure` was called with check=False


def check_workers(spark: SparkSession) -> None:
    """Runs a job of one row that looks for the packages that operators need, without importing them."""
    remedy = (
        f"set PYSPARK_PYTHON={sys.executable} before the session starts, or install "
        "panewise[spark] where the workers run"
    )
    try:
        row = (
            spark.range(0, 1, 1, 1)
            .select(F.udf(look_for(_NEEDED), "string", useArrow=False)("id").alias("seen"))
            .collect()[0]
        )
    except (PySparkException, Py4JJavaError) as error:
        raise SetupError(
            f"a Python worker that does not work: {reason_of(str(error))}", _RULE, remedy
        ) from None
    interpreter, _, missing = str(row.seen).partition("|")
    if missing:
        raise SetupError(f"workers run {interpreter}, which has no {missing}", _RULE, remedy)


def check_driver(spark: SparkSession) -> None:
    """Checks once for each session that the driver can start the interpreter of the workers.

    Without a cluster the workers are where the driver is, and `check_workers` has checked them.
    """
    if spark.conf.get(DRIVER_CHECKED, "") == "" and not is_local(spark.conf.get("spark.master", "") or ""):
        check_driver_python()
        spark.conf.set(DRIVER_CHECKED, "true")


def check_sinks(spark: SparkSession) -> None:
    """Checks that sinks can be called. A Connect server has a process for that, which is a client of it."""
    if not is_classic(spark) and spark.conf.get(DRIVER_CHECKED, "") != UNCHECKED:
        interpreter, missing = _seen_on_driver(_NEEDED_FOR_SINKS)
        if missing:
            raise SetupError(
                f"the server runs {interpreter}, which has no {missing}",
                "on a Connect server sinks are called by a process that is itself a client of the server",
                "install panewise[connect] there (docs/operations/deployment.md)",
            )


def check_driver_python() -> None:
    """Starts the interpreter of the workers on the driver, where it looks for what operators need."""
    try:
        interpreter, missing = _seen_on_driver(_NEEDED)
    except (PySparkException, Py4JJavaError) as error:
        raise SetupError(
            f"the driver cannot start the interpreter of the workers: {reason_of(str(error))}",
            _DRIVER_RULE,
            "unpack the environment where the driver runs, so that the same path exists there, or give a "
            "path that exists everywhere (docs/operations/deployment.md)",
        ) from None
    if missing:
        raise SetupError(
            f"the driver runs {interpreter}, which has no {missing}",
            _DRIVER_RULE,
            "install them there. Spark does not give it the files of --py-files: set PYTHONPATH to them "
            "before spark-submit or the Connect server starts (docs/operations/deployment.md)",
        )


def _seen_on_driver(needed: tuple[str, ...]) -> tuple[str, str]:
    """Returns the interpreter that Spark starts on the driver, and the packages that it lacks."""
    interpreter, _, missing = _table_function(look_for(needed, shipped=False))().columns[0].partition("|")
    return interpreter, missing


def _table_function(look: Callable[[int], str]) -> UserDefinedTableFunction:
    """Returns a table function whose only column has the name that `look` returns on the driver.

    Its rows, which nobody reads, would be computed by the workers.
    """

    class Look:
        @staticmethod
        def analyze() -> AnalyzeResult:
            return AnalyzeResult(StructType([StructField(look(0), StringType())]))

        def eval(self) -> Iterator[tuple[str]]:
            yield (look(0),)

    return cast(UserDefinedTableFunction, F.udtf(Look, useArrow=False))


def look_for(needed: tuple[str, ...], *, shipped: bool = True) -> Callable[[int], str]:
    """Returns a function whose result is the interpreter, "|", and the packages that it lacks.

    It is nested, so that Spark ships its code, and the interpreter need not import this module. Without
    `shipped` it does not look into files that Spark has shipped.
    """

    def look(_: int) -> str:
        import sys  # noqa: PLC0415 - runs in a worker
        from importlib.util import find_spec  # noqa: PLC0415

        from pyspark import SparkFiles  # noqa: PLC0415

        def can_import(name: str) -> bool:
            try:
                return find_spec(name) is not None
            except ImportError:  # its parent package is missing
                return False

        before = list(sys.path)
        if not shipped:
            root = SparkFiles.getRootDirectory()
            sys.path[:] = [path for path in before if not path.startswith(root)]
        try:
            return f"{sys.executable}|{', '.join(name for name in needed if not can_import(name))}"
        finally:
            sys.path[:] = before

    return look
