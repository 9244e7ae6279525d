"""The store of current results: clocks, restarts, resets, failures and costs."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Calendar,
    DataLossWarning,
    Hopping,
    Session,
    Sliding,
    StoreError,
    StreamTime,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.chrono import MIN_INSTANT
from panewise.engine.windows import changed_results
from panewise.standalone import AsyncOperator, Emission, StandaloneOperator
from panewise.stores import SessionStore, WindowStore
from tests.standalone.test_operator import TYPES, message

AGGREGATES = [F.sum("v").alias("total"), F.count().alias("rows")]


TEN = Tumbling(10)


def spec(window: Any = TEN, **fields: Any) -> WindowOperator:
    return WindowOperator(**{"window": window, "keys": ["k"], "aggregates": AGGREGATES, **fields})


def windows(retention: int = 1_000, **settings: Any) -> WindowStore:
    return WindowStore(retention, 10, **settings)


def totals(store: Any) -> dict[Any, int]:
    """Returns the totals by key, start and, for sessions, end."""
    if isinstance(store, SessionStore):
        return {(one.key, one.start, one.end): one.value["total"] for one in store.fetch_keys(None, None)}
    return {(one.key, one.start): one.value["total"] for one in store.all()}


def test_a_result_can_be_read_by_key_after_each_message() -> None:
    """semantics 31.13, 31.14: also where messages of another operator would wait."""
    store = windows()
    operator = StandaloneOperator(spec(), TYPES, materialize=store)
    for v in (1, 2, 3):
        operator.add_message(message(5, v))
        assert store.fetch("a", time=0)["rows"] == v
    operator.add_message(message(25, 4, "b"))
    assert totals(store) == {("a", 0): 6, ("b", 20): 4}
    assert operator.drain() == []
    operator.add_batch(pl.DataFrame([message(6, 10), message(7, 10, "b")]))
    assert totals(store) == {("a", 0): 16, ("b", 0): 10, ("b", 20): 4}


def test_messages_in_a_buffer_are_not_in_the_results() -> None:
    """semantics 31.13"""
    store = windows()
    operator = StandaloneOperator(spec(), TYPES, buffer=2, materialize=store)
    operator.add_message(message(5, 1))
    assert totals(store) == {}
    operator.add_message(message(6, 2))
    assert totals(store) == {("a", 0): 3}


def test_the_downstream_sees_the_results_of_its_step() -> None:
    """semantics 31.13"""
    store, seen = windows(), list[Any]()

    def downstream(emission: Emission) -> None:
        seen.append((emission.rows["total"].to_list(), totals(store)))

    fires = spec(trigger=AfterWatermark(early=AfterCount(2)))
    operator = StandaloneOperator(fires, TYPES, mode="automatic", downstream=downstream, materialize=store)
    for v in (1, 2, 3):
        operator.add_message(message(5, v))
    assert seen == [([3], {("a", 0): 3})]
    assert totals(store) == {("a", 0): 6}


def test_results_of_expired_windows_stay_for_the_retention_of_the_store() -> None:
    """semantics 31.15: the operator drops a window, and the store has it until its own time has passed."""
    store = windows(retention=40)
    operator = StandaloneOperator(spec(), TYPES, materialize=store)
    operator.add_message(message(5, 1))
    operator.advance(watermark=30)
    assert operator.live().is_empty()
    assert totals(store) == {("a", 0): 1}
    operator.add_message(message(35, 2))
    assert totals(store) == {("a", 0): 1, ("a", 30): 2}
    operator.add_message(message(45, 3))
    assert totals(store) == {("a", 30): 2, ("a", 40): 3}


def test_late_rows_change_the_results_of_windows_that_are_not_expired() -> None:
    """semantics 31.13, 31.15: the lateness of the operator decides, not the grace of the store."""
    store = windows(grace=1)
    operator = StandaloneOperator(spec(allowed_lateness=50), TYPES, materialize=store)
    for time, v in ((5, 1), (55, 2)):
        operator.add_message(message(time, v))
    operator.advance(watermark=55)
    operator.add_message(message(6, 10))
    assert totals(store) == {("a", 0): 11, ("a", 50): 2}
    operator.advance(watermark=60)
    operator.add_message(message(7, 100))
    assert totals(store) == {("a", 0): 11, ("a", 50): 2}


@pytest.mark.filterwarnings("ignore::panewise.DataLossWarning")
@pytest.mark.parametrize(
    ("window", "fields", "rows", "expected"),
    [
        # Closing empties the window in the step of its rows.
        (TEN, {"trigger": AfterCount(2)}, ((5, 1), (5, 2), (5, 3)), {0: 3}),
        # Each step evaluates all windows of the key (12.8), also the closed one.
        (
            TEN,
            {"trigger": AfterCount(1), "watermark": StreamTime()},
            ((1, 5), (2, 7), (12, 1)),
            {0: 5, 10: 1},
        ),
        # The row at 3 makes a window right after it, which has the row at 5 alone (7.2).
        (Sliding(10, anchor="both"), {}, ((5, 1), (3, 10)), {-7: 10, -5: 11, 4: 1}),
    ],
)
def test_results_of_windows(window: Any, fields: Any, rows: Any, expected: dict[int, int]) -> None:
    """semantics 31.13, 7.2, 12.8"""
    store = windows()
    operator = StandaloneOperator(spec(window, **fields), TYPES, materialize=store)
    for time, v in rows:
        operator.add_message(message(time, v))
    assert totals(store) == {("a", start): total for start, total in expected.items()}


def test_the_result_of_a_closed_window_survives_a_reset() -> None:
    """semantics 31.17: the state does not have it any more, and it does not change any more."""
    store = windows()
    with pytest.warns(DataLossWarning):
        once = spec(trigger=AfterCount(1))
    operator = StandaloneOperator(once, TYPES, materialize=store)
    operator.add_message(message(5, 1))
    operator.life_cycle.checkpoint("closed")
    operator.add_message(message(15, 2))
    operator.life_cycle.reset("closed")
    assert totals(store) == {("a", 0): 1}


def test_a_session_with_both_ends_expires_after_its_end() -> None:
    """semantics 31.17: its entry is deleted by a reset as long as it has not expired."""
    store = SessionStore(1_000)
    operator = StandaloneOperator(spec(Session(5, closed="both")), TYPES, materialize=store)
    operator.advance(watermark=5)
    operator.life_cycle.checkpoint("empty")
    operator.add_message(message(0, 1))
    assert totals(store) == {("a", 0, 5): 1}
    operator.life_cycle.reset("empty")
    assert totals(store) == {}
    operator.add_message(message(0, 1))
    operator.advance(watermark=6)
    operator.life_cycle.checkpoint("expired")
    operator.life_cycle.reset("expired")
    assert totals(store) == {("a", 0, 5): 1}


def test_days_expire_after_their_own_length() -> None:
    """semantics 31.17: the day on which clocks go forward has 23 hours."""
    hour, start = 3_600_000_000, 1_711_839_600_000_000  # 2024-03-31 00:00 in Berlin
    store = WindowStore("30 days", 0)
    days = spec(Calendar("day", zone="Europe/Berlin"))
    operator = StandaloneOperator(days, TYPES, materialize=store)
    for watermark, live in ((start + 23 * hour - 1, 1), (start + 23 * hour, 0)):
        operator.advance(watermark=start)
        operator.life_cycle.checkpoint("first")
        operator.add_message(message(start + hour, 1))
        operator.life_cycle.reset("first")
        assert totals(store) == {}
        operator.add_message(message(start + hour, 1))
        operator.advance(watermark=watermark)
        operator.life_cycle.checkpoint("second")
        operator.add_message(message(start + 25 * hour, 2))
        operator.life_cycle.reset("second")
        assert totals(store) == {("a", start): 1}
        assert operator.live().height == live
        operator.life_cycle.reset_to_initial()


def test_a_window_that_starts_at_the_least_instant_has_no_entry() -> None:
    """semantics 31.14: a window store has no entry at that time."""
    store = WindowStore(1_000, 2)
    operator = StandaloneOperator(spec(Tumbling(2)), TYPES, materialize=store)
    for time in (MIN_INSTANT + 1, MIN_INSTANT + 2):
        operator.add_message(message(time, 1))
    assert totals(store) == {("a", MIN_INSTANT + 2): 1}
    assert operator.live().height == 2


def test_sessions_that_are_merged_away_are_deleted() -> None:
    """semantics 31.14, 31.17"""
    store = SessionStore(1_000)
    operator = StandaloneOperator(spec(Session(5)), TYPES, materialize=store)
    for time, v in ((0, 1), (8, 2)):
        operator.add_message(message(time, v))
    assert totals(store) == {("a", 0, 5): 1, ("a", 8, 13): 2}
    operator.add_message(message(4, 10))
    assert totals(store) == {("a", 0, 13): 13}
    assert store.fetch_session("a", start=0, end=13) == {"total": 13, "rows": 3}


def test_windows_that_complete_in_the_step_of_their_rows() -> None:
    """semantics 31.13: watermarks of keys and of rows; sliding windows are made when they are complete."""
    for window in (Tumbling(10), Sliding(10)):
        for watermark in (StreamTime(), StreamTime(per="all")):
            store = windows()
            operator = StandaloneOperator(spec(window, watermark=watermark), TYPES, materialize=store)
            operator.add_batch(pl.DataFrame([message(4, 1), message(4, 2), message(30, 3)]))
            assert operator.live().height == 1
            assert sorted(totals(store).values()) == [3, 3]


STORES: list[Callable[[], tuple[WindowOperator, Any]]] = [
    lambda: (spec(allowed_lateness=5), windows()),
    lambda: (spec(Hopping(10, 5), allowed_lateness=5), windows()),
    lambda: (spec(Sliding(10), allowed_lateness=5), windows()),
    lambda: (spec(Session(5), allowed_lateness=5), SessionStore(1_000)),
    lambda: (spec(watermark=StreamTime(2)), windows()),
    lambda: (spec(Sliding(10), watermark=StreamTime(2)), windows()),
]
ROWS = [message(time, v, key) for time, v, key in ((1, 1, "a"), (3, 2, "b"), (8, 3, "a"), (40, 4, "a"))]


@pytest.mark.parametrize("made", STORES)
def test_a_reset_makes_the_store_equal_to_the_state(made: Any) -> None:
    """semantics 31.17: results return, and those of windows that do not exist any more are deleted."""
    fitting, store = made()
    operator = StandaloneOperator(fitting, TYPES, materialize=store)
    for row in ROWS[:2]:
        operator.add_message(row)
    operator.life_cycle.checkpoint("two")
    then = totals(store)
    for row in ROWS[2:]:
        operator.add_message(row)
    if fitting.watermark is None:
        operator.advance(watermark=60)
    assert totals(store) != then
    operator.life_cycle.reset("two")
    assert totals(store) == then
    operator.life_cycle.reset_to_initial()
    assert totals(store) == {}


@pytest.mark.parametrize("made", STORES)
@pytest.mark.parametrize("same_store", [True, False])
def test_a_restart_makes_the_store_equal_to_the_state(made: Any, same_store: bool, tmp_path: Path) -> None:
    """semantics 31.17, 31.18: what expired before the commit stays, what came after it is undone."""
    fitting, store = made()
    with StandaloneOperator(fitting, TYPES, store=tmp_path, materialize=store) as operator:
        for row in (message(-40, 9, "c"), *ROWS[:2]):
            operator.add_message(row)
        if fitting.watermark is None:
            operator.advance(watermark=-20)
        operator.flush()
        then, live = totals(store), operator.live().height
        for row in ROWS[2:]:
            operator.add_message(row)
    other = made()[1]
    with StandaloneOperator(
        fitting, TYPES, store=tmp_path, materialize=store if same_store else other
    ) as operator:
        found = totals(store if same_store else other)
        assert operator.live().height == live
    assert found == then if same_store else (found.items() <= then.items() and len(found) == live)


@pytest.mark.parametrize("crash", ["before the results", "before the state", "after the state"])
def test_a_crash_between_two_commits_is_mended(crash: str, tmp_path: Path) -> None:
    """semantics 31.18: results are committed before the state, so none that is final is missing."""
    at = {"store": tmp_path / "state"}
    store = windows(directory=tmp_path / "results")
    operator = StandaloneOperator(spec(), TYPES, materialize=store, **at)
    operator.add_message(message(-5, 9))
    operator.advance(watermark=0)
    operator.add_message(message(5, 1))
    operator.flush()
    operator.add_message(message(6, 2))
    operator.advance(watermark=10)
    operator.add_message(message(15, 3))
    core: Any = operator._core
    if crash != "before the results":
        core._materialized.commit()
    if crash == "after the state":
        core.host.commit(core._notes())
    store.close(commit=False)
    operator.close()
    with windows(directory=tmp_path / "results") as again:
        operator = StandaloneOperator(spec(), TYPES, materialize=again, **at)
        after = crash == "after the state"
        found = {("a", 0): 3, ("a", 10): 3} if after else {("a", 0): 1}
        assert totals(again) == {("a", -10): 9, **found}
        operator.close()


def test_the_store_follows_again_after_a_put_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 31.19: the step has changed nothing; the next one makes the store equal to the state."""
    store = windows()
    operator = StandaloneOperator(spec(), TYPES, materialize=store)
    operator.add_message(message(5, 1))
    real = store.restore

    def half(entries: Any) -> int:
        real(list(entries)[:1])
        raise StoreError("a", "b", "c")

    monkeypatch.setattr(store, "restore", half)
    with pytest.raises(StoreError):
        operator.add_batch(pl.DataFrame([message(6, 2), message(6, 3, "b")]))
    assert totals(store) == {("a", 0): 3}  # until the next step
    monkeypatch.setattr(store, "restore", real)
    operator.add_message(message(25, 4))
    assert totals(store) == {("a", 0): 1, ("a", 20): 4}
    assert operator.live()["pending"].to_list() == [1, 1]


def test_a_store_that_is_closed_is_an_error_of_the_step() -> None:
    """semantics 31.19"""
    store = windows()
    operator = StandaloneOperator(spec(), TYPES, materialize=store)
    store.close()
    with pytest.raises(StoreError, match=r"^a closed window store"):
        operator.add_message(message(5, 1))
    assert operator.counts == {}


@pytest.mark.parametrize("window", [Tumbling(10), Hopping(10, 5), Session(5)])
def test_the_cost_follows_the_step(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of windows whose results are computed is that of the step, not of the state."""
    store = SessionStore(10_000) if isinstance(window, Session) else windows(10_000)
    operator = StandaloneOperator(spec(window), TYPES, materialize=store)
    operator.add_batch(pl.DataFrame([message(20 * n, 1, str(n % 7)) for n in range(400)]))
    computed, real = list[int](), changed_results._results

    def counting(plan: Any, touched: pl.DataFrame) -> pl.DataFrame:
        computed.append(touched.height)
        return real(plan, touched)

    monkeypatch.setattr(changed_results, "_results", counting)
    operator.add_message(message(1_000, 1, "new"))
    operator.advance(watermark=5)
    assert sum(computed) == (2 if isinstance(window, Hopping) else 1)


def test_the_cost_of_sliding_windows_follows_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the windows near a row only those are computed that contain it or that it makes."""
    store = windows()
    operator = StandaloneOperator(spec(Sliding(10)), TYPES, materialize=store)
    operator.add_batch(pl.DataFrame([message(time) for time in (0, 9)]))
    put, real = list[Any](), store.restore

    def noting(entries: Any) -> int:
        put.extend(entries)
        return real(put)

    monkeypatch.setattr(store, "restore", noting)
    operator.add_message(message(18))
    assert [(one["key"], one["time"]) for one in put] == [("a", 8)]


def test_keys_of_results() -> None:
    """semantics 31.14: one column, several, none."""
    types = {**TYPES, "n": "int"}
    for keys, wanted in ((["k"], "a"), (["k", "n"], ("a", None)), (["n"], (None,)), ([], ())):
        store = windows()
        operator = StandaloneOperator(spec(keys=keys, null_keys=True), types, materialize=store)
        operator.add_message(message(5, 2))
        assert store.fetch(wanted, time=0)["total"] == 2


def test_an_asynchronous_operator_has_results_too() -> None:
    """semantics 31.13"""
    store = windows()

    async def main() -> None:
        async with AsyncOperator(spec(), TYPES, materialize=store) as operator:
            await operator.add_message(message(5, 2))
            assert store.fetch("a", time=0) == {"total": 2, "rows": 1}

    asyncio.run(main())
