"""`panewise check` says whether this environment can run queries."""

import argparse
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from panewise.errors import PanewiseError, SetupError

_JAVA: Final = (17, 21)
_PACKAGES: Final = ("panewise", "pyspark", "pandas", "pyarrow", "polars", "numpy")
# What an extra adds, and for what.
_EXTRAS: Final = {
    "grpcio": "Spark Connect (extra connect)",
    "psycopg": "PostgresSink (extra postgres)",
    "prometheus-client": "metrics for Prometheus (extra metrics)",
    "hypothesis": "panewise.testing.strategies (extra testing)",
}


@dataclass(frozen=True)
class Finding:
    """What was found about one thing.

    Attributes:
        problem: what is wrong, as `given | rule | remedy`. None if nothing is.
    """

    subject: str
    value: str
    problem: str | None = None


def add_command(commands: Any) -> None:
    """Adds the command `panewise check` to a parser."""
    check = commands.add_parser(
        "check",
        help="check the environment: Python, Java, Spark, its workers, connectors",
        description=(
            "Prints the versions that matter, and starts a local Spark session whose workers import "
            "panewise. The exit status is 1 if something is wrong. Each problem says what to do."
        ),
    )
    check.add_argument("--no-spark", action="store_true", help="start no Spark session")
    check.add_argument(
        "--connector",
        action="append",
        default=[],
        choices=("kafka", "delta"),
        help="also check that the session has this connector; may be repeated",
    )
    check.set_defaults(run=_run)


def _run(namespace: argparse.Namespace) -> int:
    """Prints the findings; returns the exit status."""
    problems = 0
    for finding in findings(spark=not namespace.no_spark, connectors=tuple(namespace.connector)):
        print(f"{'wrong' if finding.problem else 'ok':<6}{finding.subject:<20}{finding.value}", flush=True)
        if finding.problem:
            problems += 1
            print(f"      {finding.problem}", flush=True)
    return min(problems, 1)


def findings(*, spark: bool, connectors: tuple[str, ...]) -> Iterator[Finding]:
    """Yields what is found, one thing after the other, because Spark takes some seconds."""
    yield Finding("Python", platform.python_version())
    yield _java()
    yield from map(_package, _PACKAGES)
    yield from (_extra(name, purpose) for name, purpose in _EXTRAS.items())
    if spark:
        yield _session(connectors)


def _java() -> Finding:
    """Looks for the java that Spark would start: that of JAVA_HOME if it is set, else the first in PATH."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    rule = "Spark 4 runs on Java 17 or 21"
    remedy = "install Java 17, and set JAVA_HOME or PATH to it"
    if command is None:
        where = f"JAVA_HOME={home!r}" if home else "PATH"
        return Finding("Java", "missing", str(SetupError(f"no java in {where}", rule, remedy)))
    shown = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    # Java 8 calls itself 1.8.
    number = re.search(r'version "(?:1\.)?(\d+)', shown)
    name = number[1] if number else "of unknown version"
    problem = SetupError(f"{command} is Java {name}", rule, remedy)
    right = number is not None and int(number[1]) in _JAVA
    return Finding("Java", f"{name} ({command})", None if right else str(problem))


def _package(name: str) -> Finding:
    try:
        return Finding(name, version(name))
    except PackageNotFoundError:
        remedy = "install panewise[spark], unless you use only panewise.standalone and panewise.testing"
        problem = SetupError(f"no package {name}", "queries on Spark need it", remedy)
        return Finding(name, "missing", str(problem))


def _extra(name: str, purpose: str) -> Finding:
    try:
        return Finding(name, f"{version(name)}, for {purpose}")
    except PackageNotFoundError:
        return Finding(name, f"not installed; for {purpose}")


def _session(connectors: tuple[str, ...]) -> Finding:
    """Starts a local session whose workers import panewise."""
    return _attempt("Spark's workers", lambda: _started(connectors))


def _started(connectors: tuple[str, ...]) -> str:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only this check needs it

    from panewise.spark import configure  # noqa: PLC0415

    builder = SparkSession.builder.master("local[1]").appName("panewise check")
    for name, value in {"spark.ui.enabled": "false", "spark.log.level": "OFF"}.items():
        builder = builder.config(name, value)
    with builder.getOrCreate() as session:
        configure(session, connectors=connectors)
        return ", ".join(("they start, and import panewise", *connectors))


def _attempt(subject: str, act: Callable[[], str]) -> Finding:
    """Returns what an action returns, or how it failed."""
    try:
        return Finding(subject, act())
    except PanewiseError as error:
        return Finding(subject, "failed", str(error))
    except Exception as error:  # pyspark raises errors of many kinds when no JVM starts
        return Finding(subject, "failed", f"{type(error).__name__}: {error}")
