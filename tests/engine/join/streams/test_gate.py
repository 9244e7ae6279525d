"""Windowed stream joins where random events do not lead: merges, pieces, ends of time and inspections."""

from dataclasses import replace
from typing import Any

import pytest

from panewise import (
    Duration,
    Every,
    Hopping,
    JoinOperator,
    JoinWindow,
    Side,
    StateError,
    StreamTime,
    Tumbling,
    WindowedStreams,
)
from panewise import rows as last
from panewise.engine.join.search import candidate_slices
from panewise.engine.join.streams import released_rows
from panewise.engine.registry import operator_for
from panewise.state import MemoryRunStore
from panewise.testing import run
from tests.engine.join.micro_batches import SCHEMAS, inspected, rows, steps
from tests.nightly import first_here

MAX, MIN = 2**63 - 1, -(2**63)
TYPES = {"left": {"k": "bigint", "t": "bigint"}, "right": {"k": "bigint", "t": "bigint"}}


def join(left: Any = None, right: Any = None, **fields: Any) -> JoinOperator:
    sides = {
        "left": Side(keys=["k"], event_time="t", allowed_lateness=10**6),
        "right": Side(keys=["k"], event_time="t", allowed_lateness=10**6, prefix="r_"),
    }
    return JoinOperator(**sides, match=WindowedStreams(left, right), **fields)


@pytest.mark.parametrize(
    "window", [JoinWindow(last(2)), JoinWindow(retention_rows=2), JoinWindow(Tumbling(9), retention=10**6)]
)
def test_rows_that_cannot_match_are_dropped_at_merges(window: JoinWindow) -> None:
    """semantics 41.5: also if a batch is so long that it is sealed before the commit."""
    micro_batches = steps(join(window), MemoryRunStore())
    for n in range(12):
        operator = next(micro_batches).operator
        operator.advance(watermark=n * 5000 + 10**6)
        operator.add(rows("left", *((m % 10, n * 5000 + m, m) for m in range(5000))))
    operator = next(micro_batches).operator
    assert operator.state.tables["left"].all().height < 4 * 5000
    panes = operator.add(rows("right", (3, 60_000, 1)), "right").panes
    assert sorted(panes["v"].to_list()) == ([4993] if window.size is not None else [4983, 4993])


def test_rows_that_wait_are_released_once_after_restarts() -> None:
    """semantics 37.15, 33: a row that was released is deleted from those that wait, also from older runs."""
    micro_batches = steps(join(JoinWindow(early=100)), MemoryRunStore())
    next(micro_batches).operator.add(rows("right", (1, 5, 7)), "right")
    for n in range(5):
        operator = next(micro_batches).operator
        operator.advance(processing_time=100 * n + 1)
        operator.add(rows("left", *((m, n, m) for m in range(3))))
    operator = next(micro_batches).operator
    assert operator.state.tables["left waiting"].all().height == 3
    assert operator.advance(processing_time=500).panes["t"].to_list() == [4]
    operator = next(micro_batches).operator
    assert operator.state.tables["left waiting"].all().is_empty()
    assert operator.add(rows("right", (1, 6, 8)), "right").panes["t"].to_list() == [0, 1, 2, 3, 4]


def test_a_row_that_waits_finds_rows_that_have_left_their_window_after_a_restart() -> None:
    """semantics 37.17, 41.5: the state has the event time from which on rows wait."""
    micro_batches = steps(join(JoinWindow(Tumbling(5)), JoinWindow(early=100)), MemoryRunStore())
    operator = next(micro_batches).operator
    operator.advance(processing_time=1)
    operator.add(rows("left", (1, 4, 0), (1, 5, 0)))
    operator.add(rows("right", (1, 10, 7)), "right")
    next(micro_batches).operator.advance(watermark=10**6 + 50)
    operator = next(micro_batches).operator
    operator.advance(watermark=10**6 + 50)
    assert operator.live()["window_start"].to_list() == [10]
    assert operator.advance(processing_time=100).panes["t"].to_list() == [5]
    assert operator.state.tables["left"].all().is_empty()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (JoinWindow(Tumbling(5), early=10), JoinWindow(last(4))),
        (JoinWindow(Tumbling(5), retention_rows=3), JoinWindow(retention_rows=4, early=10)),
        (JoinWindow(retention_rows=3), JoinWindow(retention_rows=2)),
        (None, JoinWindow(early=10)),
    ],
)
@pytest.mark.parametrize("evaluate", first_here(["batch", "record"]))
def test_pairs_in_pieces_are_those_of_one_piece(
    left: Any, right: Any, evaluate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 40.3: the order is that of the releases, and it does not depend on the pieces."""
    given = {side: [{"k": n % 3, "t": (n * 7) % 20} for n in range(30)] for side in ("left", "right")}
    events: list[dict[str, Any]] = [{"op": "clock", "to": 1}, {"op": "add", "rows": given}]
    events += [{"op": "add", "rows": given}, {"op": "clock", "to": 10}]
    spec, found = join(left, right, evaluate=evaluate), []
    for piece, few in ((1 << 16, 4), (7, 100), (1, 0)):
        monkeypatch.setattr(candidate_slices, "PIECE", piece)
        monkeypatch.setattr(released_rows, "FEW", few)
        found.append([out["panes"] for out in run(spec, events, "engine", types=TYPES)])
    assert (
        found[0] == found[1] == found[2] == [out["panes"] for out in run(spec, events, "oracle", types=TYPES)]
    )
    assert sum(map(len, found[0])) > 100


@pytest.mark.parametrize("window", [Tumbling(10**18, origin=7), Hopping(2**62, 5), Tumbling(3)])
def test_windows_at_the_ends_of_time(window: Any) -> None:
    """semantics 37.16, 37.17: nothing wraps around, and a window that ends beyond is never complete."""
    made = join(JoinWindow(window, early=Every(MAX, aligned=True)), JoinWindow())
    sides: dict[str, Any] = {
        side: replace(one, allowed_lateness=Duration(0)) for side, one in made.sides.items()
    }
    spec = replace(made, **sides)
    times = [MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX]
    both = {side: [{"k": 1, "t": time} for time in times] for side in ("left", "right")}
    events: list[dict[str, Any]] = [{"op": "clock", "to": 5}, {"op": "add", "rows": both}]
    events += [{"op": "watermark", "to": to} for to in (MIN, 0, 1, MAX - 10**6, MAX - 1, MAX)]
    events += [{"op": "restart"}, {"op": "clock", "to": MAX}, {"op": "restart"}, {"op": "finish"}]
    found, wanted = (run(spec, events, it, types=TYPES, windows=True) for it in ("engine", "oracle"))
    assert [(out["panes"], out["windows"]) for out in found] == [
        (out["panes"], out["windows"]) for out in wanted
    ]
    assert any(out["panes"] for out in found)


@pytest.mark.parametrize("runtime", ["engine", "oracle"])
def test_rows_whose_window_a_batch_completes_are_released_after_its_own(runtime: Any) -> None:
    """semantics 36.7, 37.15, 37.16: so the left row finds only the right row that is stored by then."""
    spec = join(JoinWindow(Tumbling(10), early=None), JoinWindow(retention_rows=1))
    driven = replace(spec.left, watermark=StreamTime(0, per="all"))
    events: list[dict[str, Any]] = [
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 5}]},
        {"op": "add", "rows": {"left": [{"k": 2, "t": 10}], "right": [{"k": 1, "t": 6}, {"k": 1, "t": 7}]}},
    ]
    panes = run(replace(spec, left=driven), events, runtime, types=TYPES)[1]["panes"]
    assert [(pane["t"], pane["r_t"]) for pane in panes] == [(5, 7)]


@pytest.mark.parametrize("runtime", ["engine", "oracle"])
def test_the_last_rows_are_chosen_before_windows_bound_the_distance(runtime: Any) -> None:
    """semantics 37.17, 37.18: the left row at 5 is near enough, and not the latest one."""
    spec = join(JoinWindow(Tumbling(99), retention_rows=1), JoinWindow(Tumbling(3)))
    given = {"left": [{"k": 1, "t": 5}, {"k": 1, "t": 20}], "right": [{"k": 1, "t": 4}, {"k": 1, "t": 19}]}
    panes = run(spec, [{"op": "add", "rows": given}], runtime, types=TYPES)[0]["panes"]
    assert [(pane["t"], pane["r_t"]) for pane in panes] == [(20, 19)]


@pytest.mark.parametrize("runtime", ["engine", "oracle"])
def test_the_watermark_before_a_batch_decides_its_retention(runtime: Any) -> None:
    """semantics 36.7, 37.18: the watermark that the rows of the batch drive moves after their release."""
    driven = Side(keys=["k"], event_time="t", allowed_lateness=20, watermark=StreamTime(0, per="all"))
    spec = replace(join(), left=driven, match=WindowedStreams(JoinWindow(retention=20)))
    right = [{"k": 1, "t": 7}]
    events: list[dict[str, Any]] = [
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 10}]},
        {"op": "add", "rows": {"left": [{"k": 1, "t": 31}], "right": right}},
        {"op": "add", "input": "right", "rows": right},
    ]
    found = run(spec, events, runtime, types=TYPES)
    assert [[pane["t"] for pane in out["panes"]] for out in found] == [[], [10, 31], [31]]


@pytest.mark.parametrize("runtime", ["engine", "oracle"])
def test_late_rows_wait_for_their_own_period(runtime: Any) -> None:
    """semantics 37.16: the watermark and the period of early rows do not release them."""
    late = Every(100, aligned=True, offset=50)
    spec = join(JoinWindow(Tumbling(10), early=10, late=late), JoinWindow())
    events: list[dict[str, Any]] = [
        {"op": "clock", "to": 1},
        {"op": "watermark", "to": 12},
        {"op": "add", "rows": {"left": [{"k": 1, "t": 5}, {"k": 1, "t": 15}], "right": [{"k": 1, "t": 9}]}},
        {"op": "clock", "to": 10},
        {"op": "watermark", "to": 30},
        {"op": "clock", "to": 49},
        {"op": "clock", "to": 50},
        {"op": "clock", "to": 51},
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 6}]},
        {"op": "finish", "input": "left"},
    ]
    found = [[pane["t"] for pane in out["panes"]] for out in run(spec, events, runtime, types=TYPES)]
    assert found == [[], [], [], [15], [], [], [5], [], [], [6]]


def test_the_next_watermark_that_completes_a_window() -> None:
    operator = operator_for(join(JoinWindow(Tumbling(10), early=None)), SCHEMAS)
    assert operator.next_due() is None
    operator.add(rows("left", (1, 25, 0), (1, 13, 0)))
    assert operator.next_due() == 20


@pytest.mark.parametrize(
    ("left", "right", "watermark", "times"),
    [
        (None, None, 5, [1, 2, 3, 4, 5, 6, 7, 8]),
        (JoinWindow(last(1)), JoinWindow(early=100), 5, [4, 5, 6, 7, 8]),
        (JoinWindow(Tumbling(3), early=100), JoinWindow(retention_rows=1), 5, [1, 2, 3, 4, 8]),
        (JoinWindow(Tumbling(3)), JoinWindow(early=100), 10**6 + 7, [4, 5, 6, 7, 8]),
        (JoinWindow(retention=10**6), JoinWindow(Tumbling(1)), 10**6 + 2, [2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_an_inspection_shows_what_is_stored(left: Any, right: Any, watermark: int, times: list[int]) -> None:
    """semantics 41.5: the operator shows the same."""
    spec = join(left, right)
    micro_batches = steps(spec, MemoryRunStore())
    operator = next(micro_batches).operator
    operator.advance(processing_time=101)
    operator.add(rows("left", (1, 1, 0), (1, 2, 0)))
    operator.add(rows("right", (1, 5, 0), (1, 6, 0)), "right")
    operator = next(micro_batches).operator
    operator.add(rows("left", (1, 3, 0), (1, 4, 0)))
    operator.add(rows("right", (1, 7, 0), (1, 8, 0)), "right")
    stored = next(micro_batches)
    stored.operator.advance(watermark=watermark)
    assert stored.operator.live()["window_start"].to_list() == times
    found = inspected(stored.operator)
    assert sorted(found.rows["__end"]) == times


@pytest.mark.parametrize(
    "change",
    [
        {"waiting": None},
        {"waiting": {"left": 1}},
        {"waiting": {"left": [1, 2], "right": [1, 2, 3]}},
        {"waiting": {"left": [None] * 3, "right": [1, "2", 3]}},
        {"released": -1},
    ],
)
def test_a_corrupt_header_is_refused(change: dict[str, Any]) -> None:
    operator = operator_for(join(), SCHEMAS)
    header = operator.header() | {"marks": []} | change
    with pytest.raises(StateError, match=r"a header with (waiting|released)=.* \| .* \| "):
        operator.with_header(header)
    with pytest.raises(StateError, match="a header without 'waiting'"):
        operator.with_header({name: one for name, one in operator.header().items() if name != "waiting"})
