"""The files that a row enters on its way from a stream to a pane, counted by a profiler.

The process is warm, and the row belongs to a window that has rows in a stored run. docs/explanation/walk.md
lists the same files in the same order.
"""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import panewise
import panewise as pw
from panewise.families import INPUT
from panewise.spec import Specification
from tests.house.sources import ROOT
from tests.spark.in_process import Envelope, Query
from tests.spark.test_micro_batches import COLUMNS, LEFT, RIGHT, table, windows

PACKAGE = Path(panewise.__file__).parent
PAGE = ROOT / "docs" / "explanation" / "walk.md"
CALLED_BY_SPARK = {"Pack", "Control", "Processor", "ShardRunner", "Unpack"}

Walk = dict[str, dict[str, None]]  # the functions by file, in the order in which they are entered

TUMBLING = windows(pw.Tumbling("3 seconds"))
INTERVAL = pw.JoinOperator(left=LEFT, right=RIGHT, match=pw.Interval(-1_000_000, 2_000_000), how="left")


def own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(f"{PACKAGE}/")


def called_by_spark(frame: FrameType) -> bool:
    """Returns whether a call is made by a function that Spark calls, not by this test's part of Spark."""
    outermost, caller = frame, frame.f_back
    while caller is not None:
        outermost, caller = (caller if own(caller) else outermost), caller.f_back
    return outermost.f_code.co_qualname.partition(".")[0] in CALLED_BY_SPARK


def followed(walk: Walk, work: Callable[[], Any]) -> Any:
    """Does some work, and adds what it enters to the walk."""

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and own(frame) and called_by_spark(frame):
            file = str(Path(frame.f_code.co_filename).relative_to(PACKAGE))
            walk.setdefault(file, {})[frame.f_code.co_qualname] = None

    sys.setprofile(note)
    try:
        return work()
    finally:
        sys.setprofile(None)


def unpacked(query: Query, emitted: list[Envelope]) -> list[pa.RecordBatch]:
    kinds, payloads = zip(*(one for one in emitted if one[0] == "panes"), strict=True)
    batch = pa.RecordBatch.from_pydict({"kind": pa.array(kinds), "payload": pa.array(payloads, pa.binary())})
    return list(query.unpack(iter([batch])))


def walk_of(spec: Specification) -> Walk:
    """Follows a row into its window, and the pane out of it when the window is complete."""
    query = Query(spec, dict.fromkeys(spec.ports, COLUMNS), shards=3, late_wanted=False)

    def rows(second: int, keys: str) -> Mapping[str, pa.Table]:
        return {port: table([(second, key, 1) for key in keys]) for port in spec.ports}

    query.run(rows(1, "abcdefg"), now=1000)
    assert query.unpack, "it is made when the query is built"
    query.run(rows(11, "a"), now=1200)
    query.run(rows(31, "abcdefg"), now=1500, watermark=20_000)
    query.run(rows(31, "b"), now=2000, watermark=20_000)
    port = INPUT if INPUT in spec.ports else "left"
    row = {port: table([(31, "a", 1)])}
    walk: Walk = {}
    emitted = followed(walk, lambda: query.run(row, now=3000, watermark=20_000))
    emitted += followed(walk, lambda: query.run(now=4000, watermark=60_000))
    followed(walk, lambda: unpacked(query, emitted))
    lines = [
        f"{file}: {', '.join(name for name in names if '<' not in name)}" for file, names in walk.items()
    ]
    sys.stdout.write("\n".join(["", f"{len(walk)} files", *lines, ""]))
    return walk


@pytest.fixture(scope="module")
def walk() -> Walk:
    return walk_of(TUMBLING)


def listed() -> dict[str, list[str]]:
    """Returns the functions by file, as the page lists them."""
    rows = re.findall(r"^\| `([\w/]+\.py)` \| (.*?) \|", PAGE.read_text().split("**A row**")[1], re.MULTILINE)
    return {file: re.findall(r"`([\w.]+)`", functions) for file, functions in rows}


def test_the_page_lists_the_files_in_order(walk: Walk) -> None:
    assert list(listed()) == list(walk)


def test_the_functions_of_the_page_are_entered(walk: Walk) -> None:
    assert {file: [name for name in names if name not in walk[file]] for file, names in listed().items()} == {
        file: [] for file in walk
    }


def test_a_row_passes_few_files(walk: Walk) -> None:
    assert len(walk) <= 30


def test_a_row_of_a_join_passes_few_files() -> None:
    """It passes pairing and two stored sides in place of partials, triggers and panes."""
    assert len(walk_of(INTERVAL)) <= 32
