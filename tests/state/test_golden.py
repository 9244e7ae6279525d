"""This release reads the states of earlier ones, from files of each format, and computes the same hashes.

``make_golden`` writes the files.
"""

import doctest
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pytest

from panewise.checkpoints.shard import shard_figures
from panewise.engine.checkpoint import StoredOperator, runs_of
from panewise.engine.columns import CARRY
from panewise.engine.kernels.hashing import row_hashes
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spark.shuffle.reports import FEEDS, lowest
from panewise.spec import OverOperator
from panewise.spec.codec import complete
from panewise.state import Manifest, MemoryRunStore
from panewise.state.manifest import READABLE
from panewise.state.run_format import checksum, decode
from tests.state.make_golden import CASES, SCHEMA, SECOND, formats_of, read, rows, store_of

ROOT = Path(__file__).parents[2]
STATES = [(name, number) for name in sorted(CASES) for number in formats_of(name)]
Load: TypeAlias = Callable[[str], StoredOperator]
PANE = ["timing", "index", "nonspeculative_index", "is_first", "is_last", "op"]


def stored_state(name: str, number: int) -> StoredOperator:
    """Returns a stored state of a format."""
    case = CASES[name]
    return StoredOperator.load(case.spec, case.schemas, RunLibrary(read(name, number), Cache()))


@pytest.fixture(params=READABLE, ids="format {}".format)
def load(request: pytest.FixtureRequest) -> Load:
    """Loads a stored state of the format of the test, or of its first format if that is newer."""
    return lambda name: stored_state(name, max(request.param, formats_of(name)[0]))


def windows(stored: StoredOperator) -> list[tuple[Any, ...]]:
    """Returns the key, start and end in seconds, and pending rows of each live window."""
    live = stored.operator.live().select(pl.exclude("input", "closed"))
    return [(k, start // SECOND, end // SECOND, pending) for k, start, end, pending in live.rows()]


def panes(sent: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Returns the panes as tuples, with bounds in seconds and without their processing times."""
    seconds = [pl.col(name) // SECOND for name in ("window_start", "window_end")]
    return sent.with_columns(seconds).drop("processing_time").rows()


def test_tumbling_windows_that_retract(load: Load) -> None:
    stored = load("tumbling")
    assert windows(stored) == [("a", 10, 20, 0), ("d", 20, 30, 0), ("c", 30, 40, 1)]
    late = stored.operator.add(rows(((15, "a", 100), (9, "b", 1)), offset=9))
    assert panes(late.panes) == [
        ("a", 10, 20, 3, 17, 17 / 3, "ON_TIME", 1, 0, False, False, "-"),
        ("a", 10, 20, 4, 117, 29.25, "LATE", 2, 1, False, False, "+"),
    ]
    assert late.late["__reason"].to_list() == ["expired"]  # for [0, 10) of b, which the runs still contain
    finished = stored.operator.finish()
    assert panes(finished.panes) == [("c", 30, 40, 1, 7, 7.0, "ON_TIME", 0, 0, True, True, "+")]
    assert stored.operator.live().is_empty()


def test_the_group_of_the_null_key(load: Load) -> None:
    """semantics 15.2: a row with a null key finds the stored window of the null key."""
    stored = load("null_key")
    assert windows(stored) == [(None, 0, 10, 2), ("a", 0, 10, 1), (None, 10, 20, 1)]
    sent = stored.operator.add(rows(((4, None, 8),), offset=4))  # type: ignore[arg-type]
    assert sent.counts.applied == 1
    assert panes(stored.operator.advance(watermark=10 * SECOND).panes) == [
        (None, 0, 10, 3, 13, "ON_TIME", 0, 0, True, True, "+"),
        ("a", 0, 10, 1, 2, "ON_TIME", 0, 0, True, True, "+"),
    ]


def test_marks_of_source_positions(load: Load) -> None:
    counts = load("tumbling").operator.add(rows(((35, "a", 1), (36, "a", 1)), offset=8)).counts
    assert (counts.replays, counts.applied) == (1, 1)


def test_intervals_of_offsets(load: Load) -> None:
    """semantics 4.4: offsets up to the floor, 3, count as received. So do 5 and 7, but not 4 and 6."""
    stored = load("positions")
    assert stored.manifest.header["marks"] == [[0, None, 3], [0, 5, 5], [0, 7, 7]]
    for offset, replays in ((1, 1), (4, 0), (4, 1), (5, 1), (6, 0), (7, 1)):
        assert stored.operator.add(rows(((16, "a", 1),), offset=offset)).counts.replays == replays


def test_frames(load: Load) -> None:
    stored = load("frames")
    assert windows(stored) == [("c", 11, 11, 1), ("a", 12, 12, 1)]  # a row is a window of one microsecond
    stored.operator.add(rows(((30, "b", 64), (12, "a", 128))))
    told = stored.operator.finish().panes.select("k", "v", "before", "total", "most", "second")
    assert told.rows() == [
        ("c", 32, None, 32, 32, None),
        ("a", 8, 4, 13, 128, 4),  # its range contains both rows of that time
        ("a", 128, 8, 141, 128, 4),
        ("b", 64, 16, 82, 64, 16),
    ]


def test_frames_that_look_ahead(load: Load) -> None:
    stored = load("frames_ahead")
    assert windows(stored) == [("b", 2, 2, 1), ("a", 3, 3, 1), ("a", 12, 12, 1)]
    told = stored.operator.finish().panes.select("k", "v", "next", "rank", "near")
    assert told.rows() == [("b", 8, None, 1, 1), ("a", 4, 16, 2, 3), ("a", 16, None, 4, 1)]


def test_frames_whose_rows_wait_for_values(load: Load) -> None:
    """semantics 29.14"""
    stored = load("frames_values")
    assert windows(stored) == [
        ("b", 2, 2, 1),
        ("a", 3, 3, 1),
        ("a", 3, 3, 1),
        ("b", 4, 4, 1),
        ("a", 12, 12, 1),
    ]
    emitted = stored.operator.finish().panes.select("k", "v", "next", "before", "second", "others")
    assert emitted.rows() == [
        ("b", 8, None, None, None, None),
        ("a", 4, 16, 1, 4, 1),
        ("a", None, 16, 4, 4, 5),
        ("b", None, None, 8, None, 8),
        ("a", 16, None, 4, 4, 5),
    ]


def test_frames_with_descending_event_time(load: Load) -> None:
    """semantics 29.13"""
    stored = load("frames_descending")
    assert windows(stored) == [("b", 2, 2, 1), ("a", 3, 3, 1), ("a", 12, 12, 1)]
    emitted = stored.operator.finish().panes.select("k", "v", "next", "all", "second")
    assert emitted.rows() == [
        ("b", 8, None, [8], None),
        ("a", 4, 16, [4, 2, 1], 2),
        ("a", 16, None, [16, 4, 2, 1], 4),
    ]


def test_groups_of_first_rows(load: Load) -> None:
    stored = load("deduplicate")
    assert windows(stored) == [("b", 12, 22, 0), ("c", 15, 25, 0), ("b", 22, 32, 0)]
    given = rows(((13, "a", 1), (21, "b", 2), (24, "c", 4), (32, "b", 8)), offset=9)
    assert stored.operator.add(given).panes["v"].to_list() == [1, 8]


def test_groups_of_last_rows(load: Load) -> None:
    stored = load("deduplicate_last")
    assert windows(stored) == [("a", 8, 8, 1), ("a", 1, 11, 1), ("a", 11, 11, 1), ("b", 12, 12, 1)]
    assert stored.operator.advance(watermark=11 * SECOND).panes["v"].to_list() == [8]
    assert stored.operator.finish().panes["v"].to_list() == [16, 4]


def test_sessions(load: Load) -> None:
    stored = load("session")
    assert windows(stored) == [("b", 5, 15, 1), ("a", 0, 18, 2), ("a", 30, 40, 1), ("a", 40, 50, 1)]
    assert panes(stored.operator.finish().panes) == [
        ("b", 5, 15, 1, [3], 3, "ON_TIME", 0, 0, True, True, "+"),
        ("a", 0, 18, 2, [1, 4], 1, "ON_TIME", 0, 0, True, True, "+"),
        ("a", 30, 40, 1, [2], 2, "ON_TIME", 0, 0, True, True, "+"),
        ("a", 40, 50, 1, [6], 6, "ON_TIME", 0, 0, True, True, "+"),
    ]


def test_sessions_are_found_and_merged(load: Load) -> None:
    stored = load("session")
    stored.operator.add(rows(((20, "a", 7), (39, "a", 9), (14, "a", 8))))
    assert windows(stored) == [("b", 5, 15, 1), ("a", 0, 30, 4), ("a", 30, 50, 3)]
    assert stored.operator.finish().panes["l"].to_list() == [[3], [1, 4, 8, 7], [2, 6, 9]]  # semantics 24.4


def test_windows_that_keep_rows(load: Load) -> None:
    """semantics 11.7, 21.8: a merged session has the rows that its evictor left; all are in its delta."""
    stored = load("contents")
    assert windows(stored) == [("b", 5, 15, 1), ("a", 0, 22, 1), ("a", 25, 35, 1)]
    told = [
        (k, s, [row["v"] for row in delta])
        for k, s, delta in stored.operator.finish().panes.select("k", "s", "delta").rows()
    ]
    assert told == [("b", 8, [8]), ("a", 15, [2, 3, 4, 6]), ("a", 5, [5])]


def test_rows_that_a_trigger_holds_back(load: Load) -> None:
    """semantics 20.1: the firing that emits the rows is the on-time firing.

    A state of release 0.1 does not record that this firing is still to come, so its pane is LATE.
    """
    for store, timing in ((read("held_back"), "ON_TIME"), (read("held_back_of_0.1", 1), "LATE")):
        spec = CASES["held_back"].spec
        operator = StoredOperator.load(spec, SCHEMA, RunLibrary(store, Cache())).operator
        assert panes(operator.advance(watermark=30 * SECOND).panes) == [
            ("a", 0, 10, 3, timing, 0, 0, True, True, "+"),
            ("b", 0, 10, 4, "LATE", 0, 0, True, True, "+"),
        ]


def test_a_chain(load: Load) -> None:
    """semantics 30.2, 30.4: what the stages store, and that they continue from it."""
    stored = load("chain")
    kept = [
        table.all().select(pl.exclude("__start", "^__live.*$")).sort(pl.all()).rows()
        for name, table in stored.operator.state.tables.items()
        if name != "windows"
    ]
    end = 20 * SECOND
    assert kept[0] == [("b", 1, 2, end), ("c", 2, 12, end)]
    assert kept[1] == [(1, end, 2, 0), (2, end, 1, 0)]
    assert kept[2] == [(1, 2, end), (2, 12, end)]
    assert kept[3] == [(end, 2, 0)]
    sent = stored.operator.add(rows(((15, "b", 1),), offset=4))
    assert panes(sent.panes) == [
        (10, 20, 14, 2, "EARLY", 1, -1, False, False, "-"),
        (10, 20, 15, 1, "EARLY", 2, -1, False, False, "+"),
    ]


def test_triggers_that_wait_for_a_delay(load: Load) -> None:
    """semantics 16.16, 16.17: the deadlines of processing time and of event time are stored."""
    stored = load("delays")
    assert windows(stored) == [("a", 0, 60, 2), ("b", 0, 60, 1), ("c", 0, 60, 0)]
    operator = stored.operator
    assert panes(operator.advance(7 * SECOND, 22 * SECOND).panes) == [
        ("b", 0, 60, 2, "EARLY", 0, -1, True, False, "+")
    ]
    assert operator.add(rows(((41, "c", 1),), offset=9)).late.is_empty()
    assert operator.advance(11 * SECOND, 40 * SECOND).panes.is_empty()
    assert panes(operator.advance(12 * SECOND).panes) == [
        ("a", 0, 60, 5, "EARLY", 0, -1, True, False, "+"),
        ("c", 0, 60, 1, "EARLY", 1, -1, False, False, "+"),
    ]


def test_a_global_window(load: Load) -> None:
    stored = load("global")
    assert stored.operator.live().rows() == [(None, None, 3, False)]
    early = stored.operator.advance(11 * SECOND)
    assert early.panes.select("most", "k", *PANE).rows() == [(5, "a", "EARLY", 0, -1, True, False, "+")]


def test_a_watermark_for_each_key(load: Load) -> None:
    stored = load("stream_time")
    assert windows(stored) == [("b", 0, 10, 1), ("a", 10, 20, 0), ("a", 20, 30, 1)]
    judged = stored.operator.add(rows(((9, "a", 7), (11, "a", 8), (9, "b", 9))))
    assert judged.late["__late_by"].to_list() == [14 * SECOND]
    assert panes(judged.panes) == [("a", 10, 20, 1, 8, "LATE", 1, 1, False, False, "+")]
    assert panes(stored.operator.finish().panes) == [
        ("b", 0, 10, 2, 11, "ON_TIME", 0, 0, True, True, "+"),
        ("a", 20, 30, 1, 4, "ON_TIME", 0, 0, True, True, "+"),
    ]


def test_row_numbering_continues(load: Load) -> None:
    stored = load("rows")
    assert [row[:3] for row in stored.operator.live().rows()] == [("b", -2, 2), ("b", 0, 4), ("a", 2, 6)]
    sent = stored.operator.add(rows(((0, "b", 10), (0, "a", 5), (0, "a", 6)), 5)).panes
    assert sent.select("k", "window_start", "n", "s").rows() == [("b", -2, 2, 19), ("a", 2, 4, 18)]


def test_row_numbering_of_all_keys_continues(load: Load) -> None:
    stored = load("session_of_rows")
    assert stored.operator.state.clocks.watermark == 4
    sent = stored.operator.add(rows(((0, "b", 5),), 4)).panes
    assert sent.select("k", "window_start", "window_end", "n").rows() == [("a", 0, 5, 2)]
    assert stored.operator.live().select("k", "window_start", "window_end").rows() == [("b", 2, 8)]


def test_an_input_stays_silent(load: Load) -> None:
    stored = load("inputs")
    assert stored.operator.advance(watermark=10 * SECOND, source="one").panes.is_empty()
    assert panes(stored.operator.advance(61 * SECOND).panes) == [
        ("a", 0, 10, 1, "ON_TIME", 0, 0, True, True, "+")
    ]


def slices(stored: StoredOperator) -> list[tuple[Any, ...]]:
    """Returns the key, start and end (in microseconds or row numbers), and number of rows of each slice."""
    found = stored.operator.state.slices
    assert found is not None
    return sorted(found.all().select("k", "__start", "__end", "__rows").rows())


def test_slices_of_windows_that_are_not_made_yet(load: Load) -> None:
    """semantics 7, 7.4: windows made from stored slices have their rows in arrival order.

    For an order-sensitive aggregate a slice stores its rows, or the turn of the row that the aggregate
    returns.
    """
    stored = load("sliding")
    last = 20 * SECOND + 2  # how long a slice is needed after its time, in microseconds
    at = {t: (t * SECOND, t * SECOND + last) for t in (1, 2, 4, 9)}
    assert slices(stored) == [("a", *at[1], 1), ("a", *at[4], 3), ("a", *at[9], 1), ("b", *at[2], 1)]
    assert windows(stored) == [("a", -1, 9, 5), ("a", 1, 11, 4), ("a", 4, 14, 1)]
    assert stored.operator.state.received == 6
    sent = stored.operator.advance(watermark=14 * SECOND + 1).panes
    first, second = [2, 1, 4, 32, 16], [1, 4, 32, 16]  # in arrival order
    assert [row[:7] for row in panes(sent)] == [
        ("a", -1, 9, 5, 55, 16, first),
        ("a", 1, 11, 4, 53, 16, second),
    ]
    assert [row[:7] for row in panes(stored.operator.finish().panes)] == [("a", 4, 14, 1, 16, 16, [16])]


def test_slices_beside_windows(load: Load) -> None:
    """semantics 7, 7.1, 12.8: a row that arrives out of order makes a window, and belongs to a stored one."""
    stored = load("sliding_updates")
    assert windows(stored) == [("b", -3, 2, 0), ("a", 4, 9, 0)]
    assert panes(stored.operator.add(rows(((7, "a", 16), (4, "b", 32)), 4)).panes) == [
        ("b", -1, 4, 34, "EARLY", 0, -1, True, False, "+"),
        ("a", 2, 7, 20, "LATE", 0, 0, True, False, "+"),
        ("a", 4, 9, 12, "EARLY", 0, -1, True, False, "-"),
        ("a", 4, 9, 28, "EARLY", 1, -1, False, False, "+"),
    ]


def test_the_last_rows_of_keys(load: Load) -> None:
    """semantics 8.8: the last two rows of each key are stored, and the next windows contain them."""
    stored = load("sliding_rows")
    assert slices(stored) == [("a", 2, 5, 1), ("a", 3, 6, 1), ("b", 0, 3, 1)]
    sent = stored.operator.add(rows(((0, "a", 32), (0, "b", 64)), 5)).panes
    assert sent.select("k", "window_start", "window_end", "s").rows() == [("b", -1, 2, 72), ("a", 2, 5, 52)]


def test_listeners(load: Load) -> None:
    """semantics 10.8, 10.19: listeners keep their attributes, and triggers their references."""
    stored = load("listeners")
    assert [row[0::3] for row in stored.operator.live().rows()] == [("a", 3), ("b", 1)]
    told = (
        stored.operator.add(rows(((0, "a", 12), (0, "b", 6)), 5))
        .panes.select("k", "event", "seen", "tuples")
        .rows()
    )
    assert told == [
        ("a", "TRIGGER", 2, 3),
        ("a", "EVICTION", 2, 1),
        ("a", "INSERTION", 5, 1),
        ("b", "INSERTION", 2, 1),
    ]


def test_windows_by_policies(load: Load) -> None:
    """semantics 10.10, 10.14: what partitions contain, and what becomes due at which reading of the clock."""
    stored = load("policies")
    assert [row[0::3] for row in stored.operator.live().rows()] == [("a", 2), ("b", 2)]
    assert stored.operator.state.tally == 4
    assert stored.operator.add(rows(((0, "b", 4),), offset=3)).counts.replays == 1

    def told(seconds: int) -> list[tuple[Any, ...]]:
        sent = stored.operator.advance(seconds * SECOND).panes.select("k", "event", "tuples").rows()
        return [(k, event, [row["v"] for row in tuples]) for k, event, tuples in sent]

    assert told(5) == []
    assert told(6) == [("a", "EVICTION", [1, 3]), ("b", "EVICTION", [2])]
    assert told(10) == [("a", "TRIGGER", []), ("b", "EVICTION", [4]), ("b", "TRIGGER", [])]
    assert told(20) == [("a", "TRIGGER", []), ("a", "PARTITION_EVICTION", []), ("b", "TRIGGER", [])]


def joined_rows(sent: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Returns emitted rows of a join as tuples, with their times in seconds."""
    return sent.with_columns(pl.col("join_time") // SECOND).rows()


def test_a_join(load: Load) -> None:
    """semantics 39, 41: rows that wait, those that had a partner, and the numbers of rows."""
    stored = load("join")
    waiting = [("a", 1), ("b", 2), ("c", 3), ("a", 5), ("a", 6), ("b", 9), ("a", 14)]
    assert [row[:2] for row in windows(stored)] == waiting
    tables = {
        name: table.all()["__join_number"].to_list() for name, table in stored.operator.state.tables.items()
    }
    assert (tables["left matches"], tables["left unmatched"]) == ([1], [1, 2, 7])
    assert stored.operator.state.next_number == 8
    assert stored.operator.add(rows(((3, "c", 3),), 2)).counts.replays == 1
    sent = stored.operator.add(rows(((13, "c", 50),), 9), "right")
    assert joined_rows(sent.panes) == [("c", 3, 50, "+", None, 13)]
    assert joined_rows(stored.operator.finish().panes) == [("a", 4, None, "+", "right", 14)]


def test_a_join_that_retracts(load: Load) -> None:
    """semantics 39: a row that was emitted without a partner is retracted, but not one that had a partner."""
    stored = load("join_early")
    sent = stored.operator.add(rows(((13, "c", 50), (11, "a", 60), (10, "b", 70)), 9), "right")
    assert joined_rows(sent.panes) == [
        ("c", 3, None, "-", "right", 3),
        ("c", 3, 50, "+", None, 13),
        ("a", 1, 60, "+", None, 11),
        ("b", 2, 70, "+", None, 10),
    ]
    assert stored.operator.finish().panes.is_empty()


def test_a_join_as_of_a_time(load: Load) -> None:
    """semantics 37.2: the last left row waits, and its partner may be a stored row or a new one."""
    assert joined_rows(load("join_as_of").operator.finish().panes) == [("a", 4, 40, "+", None, 14)]
    stored = load("join_as_of")
    stored.operator.add(rows(((14, "a", 50), (15, "a", 60)), 9), "right")
    assert joined_rows(stored.operator.finish().panes) == [("a", 4, 50, "+", None, 14)]


def test_a_join_whose_left_rows_wait(load: Load) -> None:
    """semantics 37.23: a left row that is overdue, one that is not, and what decides them."""
    stored = load("join_awaited")
    assert [row[:2] for row in windows(stored)] == [("e", 3), ("a", 14)]
    assert joined_rows(stored.operator.finish().panes) == [
        ("e", 9, None, "+", "right", 3),
        ("a", 4, 60, "+", None, 20),
    ]
    stored = load("join_awaited")
    stored.operator.add(rows(((8, "e", 70), (9, "a", 80)), 9), "right")
    assert joined_rows(stored.operator.advance(watermark=20 * SECOND).panes) == [
        ("e", 9, 70, "+", None, 8),
        ("a", 4, 80, "+", None, 14),
    ]


def test_a_join_that_retains_rows(load: Load) -> None:
    """semantics 37.1, 41: the number of rows of each key, and rows that were evicted."""
    stored = load("join_retained")
    assert [row[:2] for row in windows(stored)] == [("b", 2), ("a", 4), ("b", 9)]
    sent = stored.operator.add(rows(((5, "a", 5), (8, "b", 6)), 9))
    assert joined_rows(sent.panes) == [("b", 6, 30, "+", None, 9), ("a", 4, None, "+", "right", 4)]
    sent = stored.operator.add(rows(((50, "a", 50), (50, "b", 70)), 9), "right")
    assert joined_rows(sent.panes) == [("a", 5, 50, "+", None, 50), ("b", 6, 70, "+", None, 50)]
    assert stored.operator.finish().panes.is_empty()


def test_a_window_join(load: Load) -> None:
    """semantics 37.11 to 37.13: a window that has fired emits what is new in its content."""
    stored = load("join_windows")
    assert windows(stored) == [("a", 0, 10, 0), ("c", 0, 10, 0), ("b", 10, 20, 2), ("a", 20, 30, 1)]
    sent = stored.operator.add(rows(((9, "a", 50), (9, "c", 60)), 9))
    assert sorted(row[:5] for row in joined_rows(sent.panes)) == [
        ("a", 50, 10, "+", None), ("c", 60, 20, "+", None),
    ]  # fmt: skip
    assert [row[:5] for row in joined_rows(stored.operator.finish().panes)] == [
        ("b", 2, 30, "+", None), ("a", None, 40, "+", "left"),
    ]  # fmt: skip


def test_a_window_join_of_sessions(load: Load) -> None:
    """semantics 37.12, 37.13: a session that grows takes the content of the one that it replaces."""
    stored = load("join_sessions")
    assert windows(stored) == [("b", 12, 18, 0), ("a", 21, 25, 0)]
    sent = stored.operator.add(rows(((17, "b", 50),), 9))
    assert sorted(row[:4] for row in joined_rows(sent.panes)) == [
        ("b", 2, 30, "+"), ("b", 2, 30, "-"), ("b", 50, 30, "+"),
    ]  # fmt: skip


@pytest.mark.parametrize("lacks", ["", "_without_emissions"])
def test_what_window_joins_retract(lacks: str) -> None:
    """semantics 37.20: a retraction has the bounds with which the row was emitted.

    States from before the table of emissions have no such bounds of their own. The last pane has them here.
    """
    found = {}
    for name, case in (("join_sessions", (17, "b", 50)), ("join_sessions_early", (20, "a", 50))):
        store = RunLibrary(read(name + lacks), Cache())
        stored = StoredOperator.load(CASES[name].spec, CASES[name].schemas, store)
        assert bool(stored.operator.state.tables["emitted"].runs) == (not lacks)
        found[name] = joined_rows(stored.operator.add(rows((case,), 9)).panes)
    assert found["join_sessions"][0] == ("b", 2, 30, "-", None, 12 * SECOND, 18 * SECOND, "EARLY", 17)
    assert found["join_sessions_early"] == [
        ("a", None, 40, "-", "left", 21 * SECOND, 25 * SECOND, "EARLY", 24),
        ("a", 50, 40, "+", None, 20 * SECOND, 25 * SECOND, "EARLY", 24),
    ]


@pytest.mark.parametrize(("lacks", "number"), [("", 1), ("_without_emissions", 2)])
def test_how_often_a_window_join_has_emitted(lacks: str, number: int) -> None:
    """semantics 37.21: the number of a firing; states without the table count all firings."""
    name = "join_windows_accumulating"
    store = RunLibrary(read(name + lacks), Cache())
    operator = StoredOperator.load(CASES[name].spec, CASES[name].schemas, store).operator
    sent = operator.add(rows(((15, "b", 60),), 9))
    numbers = sent.panes.select("k", "v", "w", "timing", *PANE[1:5]).rows()
    assert numbers == [
        ("b", 2, 30, "EARLY", number, -1, False, False),
        ("b", 60, 30, "EARLY", number, -1, False, False),
    ]


def test_a_join_with_the_last_rows(load: Load) -> None:
    """semantics 37.4, 39: windows of both sides, and rows that had no partner yet."""
    stored = load("join_last_rows")
    sent = stored.operator.add(rows(((20, "c", 5), (21, "b", 70)), 9), "right")
    assert joined_rows(sent.panes) == [
        ("c", 3, None, "-", "right", 3),
        ("c", 3, 5, "+", None, 20),
        ("b", 2, 70, "+", None, 21),
    ]
    sent = stored.operator.add(rows(((30, "b", 1), (31, "c", 2)), 9))
    assert joined_rows(sent.panes) == [("b", 1, 70, "+", None, 30), ("c", 2, 5, "+", None, 31)]


def test_a_join_of_the_latest_rows(load: Load) -> None:
    """semantics 37.7 to 37.9: the newest rows, and when they arrived."""
    stored = load("join_latest")
    assert [row[:2] for row in windows(stored)] == [("b", 2), ("c", 3), ("a", 6), ("b", 9), ("a", 14)]
    assert joined_rows(stored.operator.advance(6 * SECOND).panes) == [("c", 3, None, "+", "right", 3)]
    sent = stored.operator.add(rows(((20, "a", 5), (21, "b", 7)), 9))
    assert joined_rows(sent.panes) == [("a", 5, 40, "+", None, 20), ("b", 7, 30, "+", None, 21)]


def test_a_join_without_event_times(load: Load) -> None:
    """semantics 36.13: the newest rows, which have no time."""
    stored = load("join_without_event_times")
    live = stored.operator.live()
    assert live["k"].to_list() == ["a", "a", "b", "b", "c"]
    assert live["window_start"].null_count() == 5
    sent = stored.operator.add(rows(((20, "a", 5), (21, "b", 7)), 9)).panes
    assert sent.rows() == [("a", 5, 40, "+", None), ("b", 7, 30, "+", None)]
    assert stored.operator.finish().panes.select("k", "v", "missing").rows() == [("c", 3, "right")]


def test_a_windowed_stream_join(load: Load) -> None:
    """semantics 37.15 to 37.18, 41.5: rows that wait, and when they are released."""
    stored = load("join_streams")
    waiting = stored.operator.state.clocks.waiting
    assert waiting["left"].complete == 20 * SECOND
    assert waiting["right"].release == 10 * SECOND
    assert stored.operator.add(rows(((19, "b", 5),), 9)).panes.is_empty()
    assert stored.operator.advance(10 * SECOND).panes.is_empty()
    sent = stored.operator.advance(watermark=20 * SECOND)
    assert joined_rows(sent.panes) == [("a", 4, 40, "+", None, 14), ("b", 5, 30, "+", None, 19)]
    assert stored.operator.finish().panes.is_empty()


def test_a_windowed_stream_join_of_rows(load: Load) -> None:
    """semantics 37.17, 41.5: the numbers of released rows, and those that windows of rows contain."""
    stored = load("join_streams_of_rows")
    assert stored.operator.state.next_release == 6
    sent = stored.operator.add(rows(((20, "a", 5), (21, "b", 6)), 9))
    assert joined_rows(sent.panes) == [("a", 5, 10, "+", None, 20), ("b", 6, 20, "+", None, 21)]
    sent = stored.operator.advance(10 * SECOND)
    assert joined_rows(sent.panes) == [
        ("b", 2, 30, "+", None, 9),
        ("b", 6, 30, "+", None, 21),
        ("a", 4, 40, "+", None, 14),
        ("a", 5, 40, "+", None, 20),
    ]
    assert stored.operator.finish().panes.is_empty()


def test_a_cogroup(load: Load) -> None:
    """semantics 43.1 to 43.3: aggregates of each side, and the last row of a side."""
    stored = load("cogroup")
    assert windows(stored) == [("a", 0, 10, 0), ("c", 0, 10, 0), ("b", 10, 20, 2), ("a", 20, 30, 1)]
    sent = stored.operator.add(rows(((9, "c", 60), (7, "a", 50)), 9), "left")
    assert [(*row[:6], row[-1]) for row in panes(sent.panes)] == [
        ("a", 0, 10, 2, 3, 10, "-"),
        ("a", 0, 10, 3, 50, 10, "+"),
        ("c", 0, 10, 0, None, 20, "-"),
        ("c", 0, 10, 1, 60, 20, "+"),
    ]
    assert [row[:7] for row in panes(stored.operator.finish().panes)] == [
        ("b", 10, 20, 1, 2, 30, [30]), ("a", 20, 30, 0, None, 40, [40]),
    ]  # fmt: skip


def test_a_cogroup_of_sessions(load: Load) -> None:
    """semantics 43.1: a session of both sides grows by a row of one of them."""
    stored = load("cogroup_sessions")
    assert windows(stored) == [("b", 12, 18, 0), ("a", 21, 25, 0)]
    sent = stored.operator.add(rows(((17, "b", 50),), 9), "right")
    assert [row[:6] for row in panes(sent.panes)] == [("b", 12, 21, 1, 50, "EARLY")]
    assert [row[:6] for row in panes(stored.operator.finish().panes)] == [
        ("b", 12, 21, 1, 50, "ON_TIME"), ("a", 21, 25, 0, 40, "ON_TIME"),
    ]  # fmt: skip


def test_windows_over_a_join(load: Load) -> None:
    """semantics 42: the state of the windows, and that of the join."""
    stored = load("windowed_join")
    assert windows(stored) == [("a", 0, 10, 2), ("b", 0, 10, 1)]
    stored.operator.add(rows(((9, "c", 50),), 9), "right")
    found = panes(stored.operator.finish().panes)
    assert [row[:5] for row in found] == [
        ("a", 0, 10, 2, 50), ("b", 0, 10, 1, 30), ("c", 0, 10, 1, 50), ("a", 10, 20, 1, None),
    ]  # fmt: skip


def test_the_reports_of_a_first_operator(load: Load) -> None:
    """semantics 42.6: the second operator stores the output watermark that each shard has reported."""
    stored = load("second_operator")
    reports = stored.manifest.header[FEEDS]["input"]
    assert (lowest(reports, (0, 3)), lowest(reports, (0, 3, 4))) == (5 * SECOND, None)
    assert [row[:4] for row in panes(stored.operator.advance(watermark=12 * SECOND).panes)] == [
        ("a", 0, 10, 5)
    ]


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_state_has_files_of_todays_format(name: str) -> None:
    assert READABLE[-1] in formats_of(name)


@pytest.mark.parametrize(("name", "number"), STATES)
def test_the_rows_of_runs_stand_in_the_order_of_their_hashes(name: str, number: int) -> None:
    store, state = read(name, number), stored_state(name, number).operator.state
    for table_number, table in enumerate(state.tables.values()):
        for run in runs_of(Manifest.decode(store.manifest() or "").runs, table_number):
            hashes = row_hashes(decode(store.run(run.name), run.name), table.shape.by)
            assert (hashes[1:] >= hashes[:-1]).all()


@pytest.mark.parametrize(("name", "number"), STATES)
def test_the_same_steps_store_the_same_today(name: str, number: int) -> None:
    """The steps of a case give the stored manifest, and the stored rows in their order.

    Bytes and checksums are not compared, as the Arrow writer may change. A field of the specification that is
    newer than the file has its default. The carries of sums, which are newer than the files, are 0.
    """
    assert _content(store_of(CASES[name])) == _content(read(name, number))


def _content(store: MemoryRunStore) -> tuple[dict[str, Any], list[Any]]:
    manifest = json.loads(store.manifest() or "")
    manifest["spec"] = complete(manifest["spec"])
    types = {name: kind for name, kind in manifest["header"]["types"].items() if CARRY not in name}
    manifest["header"]["types"] = types
    frames = [_without_carries(decode(store.run(run["name"]))) for run in manifest["runs"]]
    runs = [{name: value for name, value in run.items() if name != "checksum"} for run in manifest["runs"]]
    told = {name: value for name, value in manifest.items() if name not in ("panewise_state", "checksum")}
    return told | {"runs": runs}, [(frame.schema, frame.rows()) for frame in frames]


def _without_carries(frame: pl.DataFrame) -> pl.DataFrame:
    carries = [name for name in frame.columns if CARRY in name]
    assert not any(any(frame[name].fill_null(0)) for name in carries)
    return frame.drop(carries)


@pytest.mark.parametrize(
    ("name", "number"), [one for one in STATES if not isinstance(CASES[one[0]].spec, OverOperator)]
)
def test_an_inspection_counts_what_is_live(name: str, number: int) -> None:
    """Also of tables whose rows are deleted. Of OVER operators it counts less."""
    store = read(name, number)
    shard = {"manifest": (store.manifest() or "").encode(), **{run: store.run(run) for run in store.names}}
    assert shard_figures(0, shard).windows == stored_state(name, number).operator.live().height


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_manifest_has_the_checksum_of_each_run(name: str) -> None:
    store = read(name)
    runs = Manifest.decode(store.manifest() or "").runs
    assert [run.checksum for run in runs] == [checksum(store.run(run.name)) for run in runs]


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_run_has_its_name_in_its_head(name: str) -> None:
    store = read(name)
    assert {run: store.run(run)[10:64].rstrip(b"\0").decode() for run in store.names} == {
        run: run for run in store.names
    }


def is_part(shown: Any, stored: Any) -> bool:
    """Returns whether a value is another one, or an object with some of its fields, in the same order."""
    if not isinstance(shown, dict):
        return bool(shown == stored)
    return [*shown] == [name for name in stored if name in shown] and all(
        is_part(value, stored[name]) for name, value in shown.items()
    )


def test_the_document_shows_the_stored_manifest() -> None:
    text = (ROOT / "docs" / "state-format.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    assert is_part(json.loads(shown.replace(", ...}", "}")), json.loads(read("tumbling").manifest() or ""))


def test_the_documents_name_every_field_and_column() -> None:
    pages = ("state-format.md", "reference/state-tables.md")
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    manifest = json.loads(read("tumbling").manifest() or "")
    fields = {*manifest, *manifest["header"], *manifest["runs"][0]} - {"header"}
    columns = {re.sub(r":.*", ":", name) for name in manifest["header"]["types"] if name.startswith("__")}
    missing = [
        name for name in fields | columns if not re.search(rf"`([\w.\[\]]*\.)?{re.escape(name)}", text)
    ]
    assert missing == []


def test_the_examples_of_the_document_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "state-format.md"), module_relative=False, optionflags=flags
    )
    assert tried > 0
    assert failed == 0
