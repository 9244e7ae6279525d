"""Jars from a Maven repository, resolved once by Spark's own Ivy and kept for later runs.

They are kept outside the repository, in ``$XDG_CACHE_HOME/panewise/jars`` (``~/.cache`` without the
variable). ``python -m tests.connectors.jars COORDINATE FOLDER FILE`` is the only step that needs a network.
It writes the paths into FILE.
"""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyspark

from tests.faults.rounds import PATIENCE, ROOT

SPARK = ".".join(pyspark.__version__.split(".")[:2])
# The connector of the newest release that the Maven repository has for each version of Spark; 4.3 runs the
# one for 4.2.
_CONNECTORS = {"4.1": "4.1.1", "4.2": "4.2.0", "4.3": "4.2.0"}
KAFKA_CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{_CONNECTORS[SPARK]}"
AVRO = f"org.apache.spark:spark-avro_2.13:{_CONNECTORS[SPARK]}"
KAFKA_BROKER = "org.apache.kafka:kafka_2.13:4.3.1"
DELTA = f"io.delta:delta-spark_{SPARK}_2.13:4.4.0"
DELTA_FITS = SPARK in ("4.1", "4.2")


def cache() -> Path:
    """Returns the folder for jars."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "panewise" / "jars"


def jars(coordinate: str) -> list[Path]:
    """Returns the jars of a Maven coordinate (group:artifact:version) and of all its dependencies.

    Raises:
        AssertionError: if they are missing and cannot be fetched.
    """
    folder = cache() / coordinate.replace(":", "_")
    listed = folder / "jars.txt"
    if not listed.exists():
        _fetch(coordinate, folder, listed)
    found = [Path(line) for line in listed.read_text(encoding="utf-8").splitlines()]
    missing = [str(path) for path in found if not path.exists()]
    assert not missing, (
        f"{missing} are missing | {listed} names them | delete {folder}, and run the test again"
    )
    return found


def _fetch(coordinate: str, folder: Path, listed: Path) -> None:
    """Resolves the jars in a process of its own, because a running session keeps the jars that it has."""
    folder.mkdir(parents=True, exist_ok=True)
    part = listed.with_suffix(f".{os.getpid()}")
    command = [sys.executable, "-m", "tests.connectors.jars", coordinate, str(folder), str(part)]
    rule = (
        f"{coordinate} could not be fetched | tests with real connectors need it once, and keep it "
        f"in {folder} | "
    )
    remedy = "run them once with access to a Maven repository"
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{rule}{remedy}; none answered in {PATIENCE} s") from error
    assert done.returncode == 0, f"{rule}{remedy}\n{done.stderr[-3000:]}"
    part.replace(listed)


def _resolve(coordinate: str, folder: str, listed: str) -> None:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
    )
    spark = builder.config("spark.jars.packages", coordinate).config("spark.jars.ivy", folder).getOrCreate()
    found = sorted(url2pathname(urlsplit(url).path) for url in spark.conf.get("spark.jars", "").split(","))
    Path(listed).write_text("".join(f"{path}\n" for path in found), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    _resolve(*sys.argv[1:])
