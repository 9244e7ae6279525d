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
_SOURCES = "from tests.house.sources import"


@cache
def part_of(file: Path) -> Part:
    """Returns the part of a file."""
    return "spark" if _SESSION.search(file.read_text(encoding="utf-8")) else "others"


@cache
def group_of(file: str) -> str:
    """Returns the group of a file, which one process runs: the file, or several that share what is slow.

    Files with a session share a JVM, and those that look at all sources share their syntax trees.
    """
    if part_of(ROOT / file) == "spark":
        return "spark"
    text = (ROOT / file).read_text(encoding="utf-8")
    return "sources" if file.startswith(("tests/house/", "tests/docs/")) and _SOURCES in text else file


def part_of_worker(number: str, workers: int) -> Part | None:
    """Returns the part that a process collects. It is None, for both, if there is one process.

    It is None, too, for a process that takes the place of one that died.
    """
    place = int(number.removeprefix("gw"))
    if workers < 2 or place >= workers:
        return None
    return "others" if place else "spark"
