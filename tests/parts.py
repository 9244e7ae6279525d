"""The two parts of a run with several processes: the tests with a Spark session, and all others.

One process has the session. It collects the first part alone, and the other processes the second one. So no
process imports what it does not run, and the longest part begins first.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final, Literal

Part = Literal["spark", "others"]

ROOT: Final = Path(__file__).resolve().parents[1]
# What a file has whose tests use the session.
_SESSION = re.compile(
    r'\bspark: "?SparkSession|\bfeed: Feed|: Expected\b|usefixtures\("spark"\)|marks=pytest.mark.spark'
)


@cache
def part_of(file: Path) -> Part:
    """Returns the part of a file."""
    return "spark" if _SESSION.search(file.read_text(encoding="utf-8")) else "others"


def group_of(nodeid: str) -> str:
    """Returns the group of a test, which one process runs: its file, or all files with a session.

    So one process has a JVM, which is slow at first.
    """
    file = nodeid.partition("::")[0]
    return "spark" if part_of(ROOT / file) == "spark" else file


def part_of_worker(number: str, workers: int) -> Part | None:
    """Returns the part that a process collects. It is None, for both, if there is one process.

    It is None, too, for a process that takes the place of one that died.
    """
    place = int(number.removeprefix("gw"))
    if workers < 2 or place >= workers:
        return None
    return "others" if place else "spark"
