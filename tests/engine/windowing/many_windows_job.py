"""Measures the memory of a hundred rows of one key, each in 86,400 windows.

test_overlaps runs this script in a process of its own.
"""

import json
import sys
import warnings
from pathlib import Path

import polars as pl

import panewise as pw
from panewise import functions as F
from panewise.engine.windows.operator import WindowEngine

SECOND = 1_000_000
ROWS = 100
SCHEMA: dict[str, pl.DataType] = {"key": pl.String(), "event_time": pl.Int64(), "v": pl.Int64()}
WINDOWS = {
    "hopping": lambda: pw.Hopping("1 day", "1 second"),
    "cumulating": lambda: pw.Cumulating("1 day", "1 second"),
    "rows": lambda: pw.Hopping(pw.rows(86_400), pw.rows(1)),
}


def peak() -> int:
    """Returns the peak of the resident bytes of this process, without that of the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def main(window: str) -> None:
    warnings.simplefilter("ignore")
    aggregates = [F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")]
    operator = WindowEngine(
        pw.WindowOperator(window=WINDOWS[window](), keys=["key"], aggregates=aggregates), SCHEMA
    )
    operator.add(pl.DataFrame({"key": ["a"], "event_time": [0], "v": [0]}, schema=SCHEMA).clear())
    before = peak()
    times = [number * SECOND for number in range(ROWS)]
    operator.add(pl.DataFrame({"key": ["a"] * ROWS, "event_time": times, "v": range(ROWS)}, schema=SCHEMA))
    held = operator.live().height
    sys.stdout.write(json.dumps({"windows": held, "grown": peak() - before}))


if __name__ == "__main__":
    main(sys.argv[1])
