"""The queues of S1's windows: their size, and what they find."""

from collections.abc import Iterator
from typing import Any

import pytest

from panewise import functions as F
from panewise.standalone import AggregatorSettings, WindowedAggregator
from panewise.standalone.retained.table import DueQueue, RetainedTable
from panewise.standalone.retained.window import RetainedWindow

TYPES = {"event_time": "bigint", "v": "bigint", "k": "string"}


def window(start: int, boundary: int) -> RetainedWindow:
    return RetainedWindow(None, start, boundary, boundary, 0, 0, 0, 0, start)


def test_a_window_that_grows_has_one_entry() -> None:
    """A session that each message extends would otherwise fill the queue, and each entry be put back."""
    queue, table = DueQueue(lambda one: one.boundary), RetainedTable()
    growing = window(0, 10)
    table.put(growing)
    for boundary in range(10, 5000):
        growing.boundary = boundary
        queue.put(growing)
    assert len(queue) == 1
    assert not list(queue.reached(4000, table))
    assert list(queue.reached(5000, table)) == [growing]


def test_a_lower_value_is_found_in_time() -> None:
    queue, table = DueQueue(lambda one: one.boundary), RetainedTable()
    shrunk = window(0, 10)
    table.put(shrunk)
    queue.put(shrunk)
    shrunk.boundary = 5
    queue.put(shrunk)
    assert list(queue.reached(5, table)) == [shrunk]
    assert not list(queue.reached(50, table))


def test_entries_of_removed_windows_are_dropped() -> None:
    """A queue whose limit never moves, as that of a clock that nobody reads, does not grow."""
    queue, table = DueQueue(lambda one: one.boundary), RetainedTable()
    for start in range(5000):
        passing = window(start, 10)
        table.put(passing)
        queue.put(passing)
        table.remove(passing)
        assert not list(queue.reached(5, table))
    assert len(queue) <= 101


@pytest.mark.parametrize(
    ("settings", "low", "key", "starts"),
    [
        ({"advance": 10}, 4950, None, [4950]),
        ({"size": 20, "advance": 10}, 4955, None, [4940, 4950]),
        ({"measure": "tuple", "size": 10, "advance": 10}, 495, None, [490]),
        ({"measure": "tuple", "size": 20, "advance": 10}, 495, None, [480, 490]),
        ({"session_key": "k", "size": 1}, 4950, "b", [4950]),
        ({"measure": "tuple", "session_key": "k", "size": 0}, 495, "b", [495, 497, 499]),
    ],
)
def test_few_windows_are_compared_with_a_range(
    settings: dict[str, Any], low: int, key: str | None, starts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 26.9: those of the range, and one more."""
    given: Any = {"measure": "time", "size": 10, "retention_size": 10**6, "retention_time": 10**6, **settings}
    operator = WindowedAggregator(AggregatorSettings(**given), [F.sum("v").alias("total")], TYPES)
    for number in range(500):
        add(operator, 10 * number, "ab"[number % 2])
    found: list[RetainedWindow] = []
    backward = RetainedTable.backward

    def counted(*given: Any) -> Iterator[RetainedWindow]:
        for one in backward(*given):
            found.append(one)
            yield one

    monkeypatch.setattr(RetainedTable, "backward", counted)
    high = low + 4
    assert [one.start for one in operator.get_windows(low, high, key)] == starts
    assert len(starts) <= len(found) <= len(starts) + 1


def test_last_offsets_of_windows_that_were_put_need_not_be_in_order() -> None:
    """semantics 26.9: every window is then compared with a range, until the order is there again."""
    settings: Any = {"measure": "tuple", "size": 2, "advance": 2, "retention_size": 99, "retention_time": 99}
    operator = WindowedAggregator(AggregatorSettings(**settings), [F.sum("v").alias("total")], TYPES)
    for time in range(8):
        add(operator, time, "a")
    first = operator.get_window(0)
    assert first is not None
    operator.put_window(first._replace(last_offset=50))
    assert not operator._state.windows.in_order
    assert [one.start for one in operator.get_windows(6, 7)] == [0, 6]
    operator.put_window(first)
    assert operator._state.windows.in_order
    assert [one.start for one in operator.get_windows(6, 7)] == [6]
    last = operator.get_window(6)
    assert last is not None
    operator.put_window(last._replace(last_offset=50))  # the next windows begin below
    add(operator, 8, "a")
    assert [one.start for one in operator.get_windows(40, 60)] == [6]


def sessions(**settings: Any) -> WindowedAggregator:
    given = {"measure": "time", "size": 10, "retention_size": 10, "retention_time": "1 hour", **settings}
    return WindowedAggregator(
        AggregatorSettings(session_key="k", **given), [F.sum("v").alias("total")], TYPES
    )


def add(operator: WindowedAggregator, time: int, key: str) -> None:
    operator.add_message({"event_time": time, "v": 1, "k": key})


def starts(operator: WindowedAggregator) -> list[tuple[int, Any]]:
    return [(one.start, one.session_key) for one in operator.get_windows(-(10**9), 10**9)]


def test_a_session_expires_by_number_when_it_becomes_full() -> None:
    """semantics 26.2: it is out of the last messages before, but only full windows expire."""
    operator = sessions()
    add(operator, 0, "a")
    for _ in range(20):
        add(operator, 5, "b")
    assert (0, "a") in starts(operator)
    add(operator, 12, "b")
    assert (0, "a") not in starts(operator)


def test_later_sessions_of_a_key_expire_with_the_one_before_them() -> None:
    """semantics 26.2: by number a session expires after all earlier ones of its key, in the same step."""
    operator = sessions()
    add(operator, 0, "a")
    add(operator, 100, "a")
    for _ in range(5):
        add(operator, 200, "b")
    add(operator, 1, "a")  # the first session has a newer message than the second one
    for _ in range(9):
        add(operator, 200, "b")
    assert starts(operator) == [(0, "a"), (100, "a"), (200, "b")]
    add(operator, 200, "b")
    assert starts(operator) == [(200, "b")]


def test_a_session_behind_a_deleted_one_expires() -> None:
    operator = sessions()
    add(operator, 0, "a")
    add(operator, 100, "a")
    for _ in range(5):
        add(operator, 200, "b")
    add(operator, 1, "a")
    for _ in range(8):
        add(operator, 200, "b")
    assert operator.del_window(0, "a")
    add(operator, 200, "b")
    assert starts(operator) == [(200, "b")]
