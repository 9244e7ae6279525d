"""Jars from a Maven repository, resolved once by Spark's own Ivy and kept for later runs.

They are kept outside the repository, in ``$XDG_CACHE_HOME/panewise/jars`` (``~/.cache`` without the
variable). ``python -m tests.connectors.jars COORDINATE FOLDER FILE`` is the only step that needs a network.
It writes the paths into FILE.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyspark

from panewise.spark import connectors
from panewise.spark.session.connector_versions import minor
from tests.faults.rounds import PATIENCE, ROOT

SPARK = minor(pyspark.__version__)
KAFKA_CONNECTOR = connectors()["kafka"]
AVRO = f"org.apache.spark:spark-avro_2.13:{KAFKA_CONNECTOR.rpartition(':')[2]}"
KAFKA_BROKER = "org.apache.kafka:kafka_2.13:4.3.1"
DELTA_FITS = "delta" in connectors()
DELTA = connectors().get("delta", "")
# The jars contain the programs of PostgreSQL, for one kind of machine each.
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64v8", "arm64": "arm64v8"}
_MACHINE = f"{platform.system().lower()}-{_MACHINES.get(platform.machine(), platform.machine())}"
_POSTGRES = f"io.zonky.test.postgres:embedded-postgres-binaries-{_MACHINE}"
POSTGRES = [
    f"{_POSTGRES}:{version}" for version in ("18.6.0", "15.19.0")
]  # the newest, and the oldest admitted


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
