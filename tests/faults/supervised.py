"""Runs several queries in one application at the same time, and starts again each that fails.

What happened stands in files, because the application is killed: a mark for each query that has ended, and a
line for each that failed.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.errors import PySparkException

from panewise.spark import QueryError

ENDED, FAILED = "ended", "failed"
_STARTS = 10  # of a query; the harness says how many failures there may be


def supervise(out: Path, queries: Mapping[str, Callable[[], None]]) -> None:
    """Runs all queries that have not ended before, each in a thread of its own, until all have ended."""
    (out / ENDED).mkdir(parents=True, exist_ok=True)
    left = {name: run for name, run in queries.items() if not (out / ENDED / name).exists()}
    with ThreadPoolExecutor(max(1, len(left))) as threads:
        for done in [threads.submit(_supervise, out, name, run) for name, run in left.items()]:
            done.result()


def _supervise(out: Path, name: str, run: Callable[[], None]) -> None:
    for _ in range(_STARTS):
        try:
            run()
        except (PySparkException, QueryError) as error:
            _record_failure(out / FAILED, name, error)
        else:
            (out / ENDED / name).touch()
            return
    raise AssertionError(f"{name} failed {_STARTS} times")


def _record_failure(path: Path, name: str, error: Exception) -> None:
    """Appends a line. A line is short enough to be written at once, also beside those of other threads.

    An error of Spark begins with its cause, and ends with a plan of any length.
    """
    line = json.dumps({"query": name, "at": time.time(), "error": str(error)[:1500]})
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    sys.stderr.write(f"failed: {line}\n")


def failures(out: Path) -> list[dict[str, str]]:
    """Returns the failures of queries, in their order."""
    path = out / FAILED
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def ended(out: Path) -> set[str]:
    """Returns the names of the queries that have ended."""
    return {path.name for path in (out / ENDED).glob("*")}
