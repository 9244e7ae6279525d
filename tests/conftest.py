"""What the tests share: the environment Spark needs, and one lazily made session."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Before any JVM or worker starts. Workers must be this very Python; the driver must not look for a host name.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

SPARK_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",  # saves 40 ms in each Python stage (docs/performance.md)
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "ERROR",
}


def _session(scratch: Path) -> "SparkSession":
    from pyspark.sql import SparkSession

    from panewise.spark import configure

    builder = SparkSession.builder.master("local[2]").appName("panewise tests")
    builder = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse")).config("spark.local.dir", str(scratch / "local"))
    for name, value in SPARK_CONF.items():
        builder = builder.config(name, value)
    return configure(builder.getOrCreate(), local_checkpoints=True)


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """The one session of a test run, made by the first test that asks for it."""
    with tempfile.TemporaryDirectory(prefix="panewise-") as scratch:
        session = _session(Path(scratch))
        yield session
        session.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for the session is a spark test: `-m "not spark"` leaves out all of them."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
