"""`panewise check` says whether this environment can run queries."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import click

from panewise.cli.command import new_command
from panewise.cli.messages import echo
from panewise.cli.progress import progress_bar
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
class Checked:
    """One thing that was checked.

    Attributes:
        problem: what is wrong, as `given | rule | remedy`. None if nothing is.
    """

    subject: str
    value: str
    problem: str | None = None


@new_command(
    "check",
    "Prints the versions that matter, and starts a local Spark session whose workers import panewise. The "
    "exit status is 1 if something is wrong. Each problem says what to do.",
    "panewise check",
    "panewise check --connector kafka --connector delta",
)
@click.option("--no-spark", is_flag=True, help="start no Spark session")
@click.option(
    "--connector",
    "connectors",
    multiple=True,
    type=click.Choice(["kafka", "delta"]),
    help="also check that the session has this connector; may be repeated",
)
def command(*, no_spark: bool, connectors: tuple[str, ...]) -> int:
    """Prints what was checked; returns the exit status."""
    problems = 0
    for checked in checks(spark=not no_spark, connectors=connectors):
        word, colour = ("wrong", "red") if checked.problem else ("ok", "green")
        echo(f"{click.style(f'{word:<6}', fg=colour)}{checked.subject:<20}{checked.value}")
        if checked.problem:
            problems += 1
            echo(f"      {checked.problem}")
    return min(problems, 1)


def checks(*, spark: bool, connectors: tuple[str, ...]) -> Iterator[Checked]:
    """Yields one thing after the other, because Spark takes some seconds."""
    yield Checked("Python", platform.python_version())
    yield _java()
    yield from map(_package, _PACKAGES)
    yield from (_extra(name, purpose) for name, purpose in _EXTRAS.items())
    if spark:
        yield _session(connectors)


def _java() -> Checked:
    """Looks for the java that Spark would start: that of JAVA_HOME if it is set, else the first in PATH."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    rule = "Spark 4 runs on Java 17 or 21"
    remedy = "install Java 17, and set JAVA_HOME or PATH to it"
    if command is None:
        where = f"JAVA_HOME={home!r}" if home else "PATH"
        return Checked("Java", "missing", str(SetupError(f"no java in {where}", rule, remedy)))
    shown = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    # Java 8 calls itself 1.8.
    number = re.search(r'version "(?:1\.)?(\d+)', shown)
    name = number[1] if number else "of unknown version"
    problem = SetupError(f"{command} is Java {name}", rule, remedy)
    right = number is not None and int(number[1]) in _JAVA
    return Checked("Java", f"{name} ({command})", None if right else str(problem))


def _package(name: str) -> Checked:
    try:
        return Checked(name, version(name))
    except PackageNotFoundError:
        remedy = "install panewise[spark], unless you use only panewise.standalone and panewise.testing"
        problem = SetupError(f"no package {name}", "queries on Spark need it", remedy)
        return Checked(name, "missing", str(problem))


def _extra(name: str, purpose: str) -> Checked:
    try:
        return Checked(name, f"{version(name)}, for {purpose}")
    except PackageNotFoundError:
        return Checked(name, f"not installed; for {purpose}")


def _session(connectors: tuple[str, ...]) -> Checked:
    """Starts a local session whose workers import panewise."""
    subject = "Spark's workers"
    try:
        from panewise.spark.session.trial import try_session  # noqa: PLC0415 - only this check needs Spark

        with progress_bar(at_once=True) as progress:
            try_session(connectors, progress)
    except PanewiseError as error:
        return Checked(subject, "failed", str(error))
    except Exception as error:  # pyspark raises errors of many kinds when no JVM starts
        return Checked(subject, "failed", f"{type(error).__name__}: {error}")
    return Checked(subject, ", ".join(("they start, and import panewise", *connectors)))
