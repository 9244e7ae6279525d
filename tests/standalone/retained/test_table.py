"""The queues of S1's windows: their size, and what they find."""

from typing import Any

from panewise import functions as F
from panewise.standalone import AggregatorSettings, WindowedAggregator
from panewise.standalone.retained.table import DueQueue, WindowTable
from panewise.standalone.retained.window import Window

TYPES = {"event_time": "bigint", "v": "bigint", "k": "string"}


def window(start: int, boundary: int) -> Window:
    return Window(None, start, boundary, boundary, 0, 0, 0, 0, start)


def test_a_window_that_grows_has_one_entry() -> None:
    """A session that each message extends would otherwise fill the queue, and each entry be put back."""
    queue, table = DueQueue(lambda one: one.boundary), WindowTable()
    growing = window(0, 10)
    table.put(growing)
    for boundary in range(10, 5000):
        growing.boundary = boundary
        queue.put(growing)
    assert len(queue) == 1
    assert not list(queue.reached(4000, table))
    assert list(queue.reached(5000, table)) == [growing]


def test_a_lower_value_is_found_in_time() -> None:
    queue, table = DueQueue(lambda one: one.boundary), WindowTable()
    shrunk = window(0, 10)
    table.put(shrunk)
    queue.put(shrunk)
    shrunk.boundary = 5
    queue.put(shrunk)
    assert list(queue.reached(5, table)) == [shrunk]
    assert not list(queue.reached(50, table))


def test_entries_of_removed_windows_are_dropped() -> None:
    """A queue whose limit never moves, as that of a clock that nobody reads, does not grow."""
    queue, table = DueQueue(lambda one: one.boundary), WindowTable()
    for start in range(5000):
        passing = window(start, 10)
        table.put(passing)
        queue.put(passing)
        table.remove(passing)
        assert not list(queue.reached(5, table))
    assert len(queue) <= 101


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
