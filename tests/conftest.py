"""Shared by all tests: the environment that Spark needs, one lazily created session, and markers."""

import gc
import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.campaigns import Parts
from tests.driver_workers import quick_python
from tests.engine.effort import FULL
from tests.jvm import QUICK_JVM
from tests.parts import ROOT, part_of, part_of_worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No test depends on how fast the machine is. Tests with settings of their own have other numbers of examples.
settings.register_profile("panewise", deadline=None, max_examples=100 if FULL else 15)
settings.load_profile("panewise")

# Set before any JVM or worker starts. Workers must run this Python; the driver must not look up a host name.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

# The tests start hundreds of Python processes. They must not compile panewise again, each for itself.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

SPARK_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    # saves 40 ms in each Python stage (docs/decisions/0075-measurements.md)
    # a fifth of the processor time of a streaming query is the second partition's
    "spark.sql.shuffle.partitions": "2" if FULL else "1",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": QUICK_JVM,
    # of a server for Connect (tests/spark/test_connect.py)
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}


def _session(scratch: Path) -> "SparkSession":
    from pyspark.sql import SparkSession

    from panewise.spark import configure

    builder = SparkSession.builder.master("local[2]").appName("panewise tests")
    builder = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse")).config(
        "spark.local.dir", str(scratch / "local")
    )
    for name, value in SPARK_CONF.items():
        builder = builder.config(name, value)
    return configure(builder.getOrCreate(), local_checkpoints=True)


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Yields the only session of a test run, created for the first test that requests it."""
    with (
        tempfile.TemporaryDirectory(prefix="panewise-") as scratch,
        quick_python(Path(scratch)) as python,
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSPARK_PYTHON", python)  # for the JVM and the session, not for jobs of tests
            session = _session(Path(scratch))
        yield session
        session.stop()


@pytest.fixture
def restored_settings(spark: "SparkSession") -> Iterator[None]:
    """Restores the settings of the session after a test that changes them, as a script with SET does."""
    before = spark.conf.getAll
    yield
    after = spark.conf.getAll
    for name in after.keys() - before.keys():
        spark.conf.unset(name)
    for name, value in before.items():
        if after.get(name) != value:
            spark.conf.set(name, value)


@pytest.fixture(scope="module")
def two_partitions(spark: "SparkSession") -> Iterator[None]:
    """Runs the queries of a module with two partitions of state. In `make nightly` all queries have two."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option that divides long runs."""
    parser.addoption("--part", default="1/1", metavar="N/M", help="run the Nth of M parts of the tests")


def pytest_configure(config: pytest.Config) -> None:
    """Divides long runs, and ignores warnings about open sockets on PySpark 4.1.

    Unlike 4.2, PySpark 4.1 leaves the domain sockets of its actions open. The running test is not at fault.
    """
    config.pluginmanager.register(Parts(config.getoption("part")), "panewise-parts")
    if version("pyspark").startswith("4.1."):
        for leak in (
            "Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
            "unclosed <socket:ResourceWarning",
        ):
            config.addinivalue_line("filterwarnings", f"ignore:{leak}")


# Tests here depend on PySpark or pandas even without the session: conversions, settings, separate processes.
_OF_SPARK = [ROOT / "tests" / name for name in ("spark", "connectors", "faults", "cli", "demo")] + [
    ROOT / "src" / "panewise" / "spark"
]

_LONG = ("checkpoints", "docs", "families", "standalone", "stores")


@cache
def _is_of_spark(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _OF_SPARK)


@cache
def _is_long(path: Path) -> bool:
    return _is_of_spark(path) or any(path.is_relative_to(ROOT / "tests" / name) for name in _LONG)


def _parts(config: pytest.Config) -> int:
    """Returns the number of processes if each collects one part of the tests, or else 0."""
    processes = len(config.getvalue("tx") or ())
    return processes if config.getvalue("dist") == "loadscope" and processes > 1 else 0


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects no garbage meanwhile, which took a third of the time, nor what exists then."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a process which part it collects."""
    processes = _parts(node.config)
    node.workerinput["part"] = part_of_worker(node.gateway.id, processes)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadscope` a process runs a whole group of files."""
    if not _parts(config):
        return None
    from tests.scheduling import Parts

    return Parts(config, log, _parts(config))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out the files of the other part. No process imports what it does not run."""
    part = getattr(config, "workerinput", {}).get("part")
    if part is None or collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    return True if part_of(collection_path) != part else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by what they use.

    A test that requests the session is a spark test; `-m "not spark"` leaves out all of them. Spark tests,
    and all tests in the folders about Spark, depend on its version; `-m versions` selects them. `-m drawn`
    selects the tests whose examples Hypothesis draws.
    """
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.drawn)
        needs_session = "spark" in getattr(item, "fixturenames", ())
        if needs_session:
            item.add_marker(pytest.mark.spark)
        if needs_session or _is_of_spark(item.path):
            item.add_marker(pytest.mark.versions)
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """Returns where a test comes: what takes longest first, so that all processes end at about the same time.

    First the group with a session, then files with few long tests.
    """
    return 0 if part_of(item.path) == "spark" else 1 if _is_long(item.path) else 2
