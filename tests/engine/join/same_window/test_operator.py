"""Window joins where random events do not lead: state, restarts, long runs and names."""

import math
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Custom, Global, JoinOperator, SameWindow, Session, Side, Tumbling
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.join.same_window.operator import WindowJoinEngine
from panewise.engine.join.search import candidate_slices
from panewise.engine.registry import cached_operator, operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.tables import compaction
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.windowing.slicing import slicing_of
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import AfterCount, AfterWatermark, Always, AnyWindow, Cumulating, Hopping, Repeatedly
from panewise.state import MemoryRunStore
from panewise.testing import run
from panewise.testing.compare import same
from tests.engine.effort import examples

LONG = pl.Int64()
SCHEMAS = {"left": {"k": LONG, "t": LONG, "v": LONG}, "right": {"k": LONG, "t": LONG, "w": LONG}}


def join(window: AnyWindow, **fields: Any) -> JoinOperator:
    match = SameWindow(
        window, **{name: fields.pop(name) for name in ("trigger", "accumulation") if name in fields}
    )
    sides = {"left": Side(keys=["k"], event_time="t"), "right": Side(keys=["k"], event_time="t", prefix="r_")}
    return JoinOperator(**sides, match=match, **fields)  # type: ignore[arg-type]


def rows(side: str, *given: tuple[int | None, int, int]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=SCHEMAS[side], orient="row")


def steps(spec: JoinOperator) -> Iterator[Any]:
    """Yields the operator of each micro-batch, which commits as on Spark: only if there is a change."""
    store = MemoryRunStore()
    while True:
        stored = StoredOperator.load(spec, SCHEMAS, RunLibrary(store, Cache()))
        yield stored.operator
        if stored.changed:
            stored.commit()


@pytest.mark.parametrize("window", [Tumbling(10), Session(5), Cumulating(20, 10), Hopping(20, 10)], ids=repr)
def test_rows_go_with_their_windows(window: AnyWindow) -> None:
    """semantics 41.4: the state does not grow with the number of rows that have passed."""
    micro_batches, most = steps(join(window)), 0
    for n in range(20):
        operator = next(micro_batches)
        for side in SCHEMAS:
            operator.add(rows(side, *((m % 50, n * 100 + m % 30, m) for m in range(300))), side)
        operator.advance(watermark=n * 100 + 60)
        most = max(most, *(operator.state.tables[side].all().height for side in SCHEMAS))
    assert most < 20 * 300 / 4


def test_a_window_fires_once_although_each_step_restarts() -> None:
    """semantics 33, also if only the clocks move."""
    micro_batches = steps(join(Tumbling(10)))
    next(micro_batches).add(rows("left", (1, 7, 12)), "left")
    next(micro_batches).add(rows("right", (1, 8, 13)), "right")
    emitted = [next(micro_batches).advance(watermark=mark).panes.height for mark in (9, 10, 11, 30)]
    assert emitted == [0, 1, 0, 0]


def test_panes_of_merged_sessions_are_known_after_a_restart() -> None:
    """semantics 37.12: a session that merged in one step, and fires in a later one, repeats nothing."""
    micro_batches = steps(join(Session(5), trigger=Repeatedly(AfterCount(2))))
    first = next(micro_batches).add_batch(
        {"left": rows("left", (1, 0, 1)), "right": rows("right", (1, 1, 2))}
    )
    assert sum(one.panes.height for one in first) == 1
    assert (
        next(micro_batches).add(rows("right", (1, 4, 3)), "right").panes.is_empty()
    )  # merges, does not fire
    (second,) = next(micro_batches).add_batch({"left": rows("left", (1, 6, 4))})
    assert second.panes.select("t", "r_t").rows() == [(0, 4), (6, 1), (6, 4)]


def test_custom_windows_need_not_contain_the_time_of_their_rows() -> None:
    """semantics 6.6, 37.10."""
    window = Custom.each(lambda row: [(100, 110), (200, 200 + row["t"])], name="far", columns=["t"])
    operator = operator_for(join(window), SCHEMAS)
    operator.add(rows("left", (1, 5, 1), (1, 6, 2)), "left")
    operator.add(rows("right", (1, 6, 3)), "right")
    panes = operator.finish().panes
    assert panes.select("t", "r_t", "window_end").rows() == [(5, 6, 110), (6, 6, 110), (6, 6, 206)]


def test_the_global_window_reaches_the_last_instant() -> None:
    """semantics 6.7: rows at both ends of time are in it."""
    operator = operator_for(join(Global(), how="full"), SCHEMAS)
    for side in SCHEMAS:
        operator.add(rows(side, (1, -(2**63) + 1, 1), (1, 2**63 - 1, 2)), side)
    assert operator.finish().panes.height == 4


def test_names_of_columns_may_look_like_those_of_the_windows() -> None:
    schemas = {side: {"k": LONG, "t": LONG, "row:number": LONG} for side in ("left", "right")}
    operator = operator_for(join(Tumbling(10)), schemas)
    for side, schema in schemas.items():
        operator.add(pl.DataFrame([(1, 5, 7)], schema=schema, orient="row"), side)
    assert operator.advance(watermark=10).panes.select("row:number", "r_row:number").rows() == [(7, 7)]


def test_the_next_window_is_due_at_its_end() -> None:
    operator = operator_for(join(Tumbling(10)), SCHEMAS)
    operator.add(rows("left", (1, 25, 1), (1, 13, 1)), "left")
    assert operator.next_due() == 20


@pytest.mark.parametrize(
    "window",
    [Tumbling(10, 3), Hopping(20, 7, 2), Cumulating(30, 10, -4), Hopping(6, 10, gaps=True)],
    ids=repr,
)
def test_a_slice_ends_with_its_last_window(window: Any) -> None:
    slicing = slicing_of(window)
    assert slicing is not None
    times = pl.DataFrame({"__time": [t for t in range(-40, 40) if slicing.windows(t)]})
    slices = slicing.slices(times)
    wanted = [max(end for _, end in slicing.windows(t)) for t in times["__time"].to_list()]
    assert slicing.last_ends(slices).to_list() == wanted


def test_windows_are_emitted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows and their order are the same, however many windows are taken together."""
    spec = join(Hopping(20, 10), how="full", trigger=Repeatedly(AfterCount(1)), accumulation="accumulating")
    given = {side: rows(side, *((n % 3, n * 7 % 60, n) for n in range(40))) for side in SCHEMAS}
    emitted = []
    for piece in (candidate_slices.PIECE, 1, 50):
        monkeypatch.setattr(candidate_slices, "PIECE", piece)
        operator = operator_for(spec, SCHEMAS)
        outputs = [*operator.add_together(_valid(operator, given), {}), operator.finish()]
        emitted.append(pl.concat([one.panes for one in outputs]).rows())
        assert (len(outputs) > 3) == (len(emitted) > 1)
    assert emitted[0] == emitted[1] == emitted[2]


def _valid(operator: Any, given: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {side: operator.plan.ports[side].validate(one, 0).valid for side, one in given.items()}


def test_a_session_that_reaches_back_does_not_get_rows_of_an_expired_one() -> None:
    """semantics 13.2: a row that overlaps a live session is applied, although its own window has expired."""
    for fillers in (0, 1, 4, 8):  # batches after which runs are merged
        micro_batches = steps(join(Session(10), how="full"))
        next(micro_batches).add(rows("left", (1, 0, 1)), "left")
        next(micro_batches).advance(watermark=10)
        for n in range(fillers):
            next(micro_batches).add(rows("left", *((m + 10, 20 + n, 0) for m in range(50))), "left")
        next(micro_batches).add(rows("right", (1, 5, 2)), "right")
        next(micro_batches).add(rows("right", (1, -1, 3)), "right")
        panes = next(micro_batches).advance(watermark=100).panes.filter(pl.col("k") == 1)
        assert panes.select("t", "r_t").rows() == [(None, -1), (None, 5)]


# A row before the first watermark; one that is live after it; and some that may chain back to the first one.
BACK = st.tuples(
    st.integers(-8, 0),
    st.lists(st.tuples(st.sampled_from(["left", "right"]), st.integers(-12, 8)), max_size=6),
)


@examples(40)
@given(BACK, st.sampled_from(["inner", "full"]), st.sampled_from(["discarding", "retracting"]))
def test_sessions_that_reach_back(
    given: tuple[int, list[tuple[str, int]]], how: str, accumulation: str
) -> None:
    """Engine and oracle agree, although rows of expired sessions may still be stored."""
    spec = join(Session(6), how=how, trigger=Repeatedly(AfterCount(2)), accumulation=accumulation)
    types = {side: dict.fromkeys(schema, "bigint") for side, schema in SCHEMAS.items()}
    first, chain = given
    script: list[dict[str, Any]] = [_row("left", first, 0), {"op": "watermark", "to": first + 6}]
    script += [_row("right", first + 5, 1), *(_row(side, time, n) for n, (side, time) in enumerate(chain))]
    script.append({"op": "finish"})
    wanted = run(spec, script, "oracle", types=types)
    assert same(run(spec, script, "engine", types=types), wanted)
    assert same(run(spec, script, "engine", types=types, stored=True), wanted)


@pytest.mark.parametrize("key", [math.nan, -0.0, None])
def test_live_rows_stay_if_a_session_reaches_back(key: float | None) -> None:
    """Semantics 13.2, 15.2, 28: whatever the key is, the stored row is in the session that grows."""
    types: Any = {
        side: {**dict.fromkeys(schema, "bigint"), "k": "double"} for side, schema in SCHEMAS.items()
    }
    script: list[dict[str, Any]] = [
        {"op": "add", "input": "left", "rows": [{"k": key, "t": 0, "v": 1}]},
        {"op": "watermark", "to": 2},
        {"op": "add", "input": "right", "rows": [{"k": key, "t": -1, "w": 2}]},
        {"op": "finish"},
    ]
    spec = join(Session(3), how="full")
    found = [run(spec, script, runtime, types=types) for runtime in ("engine", "oracle")]
    assert same(*found)
    assert len(found[0][-1]["panes"]) == (2 if key is None else 1)


@pytest.mark.parametrize("accumulation", ["discarding", "accumulating"])
@pytest.mark.parametrize("key", [math.nan, -0.0, None])
def test_what_merged_sessions_have_emitted_is_known_whatever_the_key_is(
    key: float | None, accumulation: str
) -> None:
    """Semantics 15.2, 37.12, 37.13."""
    types: Any = {
        side: {**dict.fromkeys(schema, "bigint"), "k": "double"} for side, schema in SCHEMAS.items()
    }
    both = {"left": [{"k": key, "t": 5, "v": 1}], "right": [{"k": key, "t": 6, "w": 2}]}
    script: list[dict[str, Any]] = [
        {"op": "add", "rows": both},
        {"op": "add", "input": "right", "rows": [{"k": key, "t": 2, "w": 3}]},
        {"op": "finish"},
    ]
    trigger = AfterWatermark(early=Always(), late=Always())
    spec = join(Session(4), how="full", trigger=trigger, accumulation=accumulation)
    found = [run(spec, script, runtime, types=types) for runtime in ("engine", "oracle")]
    assert same(*found)


def _row(side: str, time: int, value: int) -> dict[str, Any]:
    return {"op": "add", "input": side, "rows": [{"k": 1, "t": time, "v" if side == "left" else "w": value}]}


def test_a_commit_reads_sessions_whose_run_was_sealed_in_the_same_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A long batch seals the sessions, and the commit merges this run with others of them."""
    monkeypatch.setattr(StoredTable, "LONG", 1_000)
    monkeypatch.setattr(compaction, "PART_ROWS", 1_000)
    micro_batches = steps(join(Session(10)))
    for n in range(6):
        operator = next(micro_batches)
        operator.add(rows("left", *((m, 100 * n, m) for m in range(1_100))), "left")
        operator.add(rows("right", *((m, 100 * n + 1, m) for m in range(50))), "right")
    panes = next(micro_batches).finish().panes
    assert panes.height == 6 * 50


def test_steps_make_no_window_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = operator_for(join(Session(5)), SCHEMAS)

    def make(*_: object) -> None:
        raise AssertionError("a step makes a window operator")

    monkeypatch.setattr(WindowEngine, "__init__", make)
    assert operator.add(rows("left", (1, 10, 1)), "left").counts.applied == 1
    assert operator.next_due() == 15
    assert operator.live().height == 1
    assert operator.add(rows("right", (1, 12, 1)), "right").counts.applied == 1
    assert operator.advance(watermark=30).panes.height == 1


def test_copies_of_a_cached_operator_have_window_operators_of_their_own() -> None:
    first, second = (cached_operator(join(Session(5)), SCHEMAS) for _ in range(2))
    assert isinstance(first, WindowJoinEngine)
    assert isinstance(second, WindowJoinEngine)
    first.add(rows("left", (1, 10, 1)), "left")
    window_operator = first._operator()
    assert second.next_due() is None
    assert window_operator.next_due() == 15


def test_a_step_without_effect_changes_nothing() -> None:
    operator = operator_for(join(Session(5)), SCHEMAS)
    operator.add(rows("left", (1, 10, 1)), "left")
    assert operator.changed
    operator.changed = False
    operator.advance(watermark=11)
    assert not operator.changed
