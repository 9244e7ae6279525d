"""The join window operator of S1: new messages, and access to windows and messages."""

from pathlib import Path
from typing import Any

import pytest

from panewise import functions as F
from panewise.errors import InputError
from panewise.standalone import (
    AggregatorSettings,
    JoinWindowOperator,
    JoinWindowSettings,
    WindowedAggregator,
)

TYPES = {"event_time": "bigint", "id": "bigint", "s": "string"}
WHOLE: dict[str, Any] = {"retention_size": 1000, "retention_time": 1000}


def operator(**settings: Any) -> JoinWindowOperator:
    fields = ("s", "id") if settings.get("session_key") else ("id",)
    given = {"measure": "time", "size": 10, "advance": 5, "keyed_message_store": fields, **WHOLE, **settings}
    return JoinWindowOperator(JoinWindowSettings(**given), TYPES)


def add(one: JoinWindowOperator, *messages: tuple[Any, ...]) -> None:
    for time, id_, *rest in messages:
        one.add_message({"event_time": time, "id": id_, "s": rest[0] if rest else "x"})


def sent(one: JoinWindowOperator) -> list[tuple[int, str, list[int]]]:
    return [
        (out.window.start, out.firing, [row["event_time"] for row in out.messages]) for out in one.drain()
    ]


def test_a_message_is_emitted_once_by_the_first_window_that_contains_it() -> None:
    """semantics 26.5, 26.7: the defaults of a join emit each message."""
    one = operator()
    add(one, (7, 1), (12, 1), (8, 1))
    assert sent(one) == [(0, "early", [7]), (5, "early", [12]), (0, "late", [8])]


def test_messages_are_collected_for_a_period() -> None:
    """semantics 26.4: the boundary at which a message arrives does not count."""
    one = operator(early=10, late=10)
    one.timeout(10)
    add(one, (7, 1))
    one.timeout(19)
    assert sent(one) == []
    one.timeout(20)
    assert sent(one) == [(0, "early", [7])]
    one.timeout(31)
    add(one, (8, 1), (6, 2))
    one.timeout(39)
    assert sent(one) == []
    one.timeout(40)
    assert sent(one) == [(0, "early", [8, 6])]  # in the order of keys: equal fields first


def test_full_size_emits_what_early_emission_does_not() -> None:
    """semantics 26.3, 26.4"""
    one = operator(early=None, advance=10)
    add(one, (7, 1), (10, 1))
    assert sent(one) == [(0, "full", [7])]


@pytest.mark.parametrize("full", ["past_end", "at_size"])
def test_windows_of_messages_are_full_at_their_size_or_past_it(full: str) -> None:
    """semantics 26.1, 26.3"""
    one = operator(measure="tuple", size=2, advance=2, early=None, full=full)
    add(one, (7, 1), (3, 1))
    assert sent(one) == ([] if full == "past_end" else [(0, "full", [7, 3])])
    add(one, (9, 1))
    assert sent(one) == ([(0, "full", [7, 3])] if full == "past_end" else [])


@pytest.mark.parametrize("measure", ["time", "tuple"])
@pytest.mark.parametrize("sessions", [False, True])
def test_the_eight_forms_of_get_messages(measure: str, sessions: bool) -> None:
    """semantics 25.3, 26.9: by time or by offset, both ends included, with a session key and join keys."""
    shape = {"session_key": "s", "advance": None} if sessions else {}
    one = operator(measure=measure, size=4, **{"advance": 2, **shape})
    add(one, (0, 1, "a"), (1, 2, "b"), (2, 1, "b"), (3, 2, "a"), (4, 1, "a"))
    assert sorted(row["event_time"] for row in one.get_messages(1, 4)) == [1, 2, 3, 4]
    found = [
        one.get_messages(1, 4, join_keys=keys) for keys in ((("a", 1), ("b", 1)) if sessions else ((1,),))
    ]
    times = [row["event_time"] for messages in found for row in messages]
    assert times == ([4, 2] if sessions else [2, 4])
    if sessions:
        assert sorted(row["event_time"] for row in one.get_messages(0, 3, session_key="a")) == [0, 3]
        assert [row["event_time"] for row in one.get_messages(0, 4, "a", ("a", 1))] == [0, 4]


def test_windows_that_share_a_bound_with_a_range_are_returned() -> None:
    """semantics 26.9"""
    one = operator(advance=10)
    add(one, (7, 1), (12, 1), (25, 1))
    assert [window.start for window in one.get_windows(9, 10)] == [0, 10]
    assert [window.start for window in one.get_windows(10, 19)] == [10]
    assert [window.start for window in one.get_windows(20, 20)] == [20]
    window = one.get_windows(0, 9)[0]
    assert (window.start_offset, window.last_offset, window.start_time, window.end_time) == (0, 0, 0, 10)


def test_messages_of_equal_fields_are_retired_alone() -> None:
    """semantics 25.6, 26.9"""
    one = operator()
    add(one, (1, 1), (2, 2), (3, 1))
    assert one.retire(3, join_keys=(1,)) == 1
    assert [row["event_time"] for row in one.get_messages(0, 9)] == [3, 2]
    with pytest.raises(InputError, match="the equal fields of this operator are"):
        one.retire(3, join_keys=(1, 2))


def test_metadata_can_be_put() -> None:
    """semantics 26.9"""
    one = operator(advance=10)
    add(one, (1, 1))
    window = one.get_window(0)
    assert window is not None
    one.put_window(window._replace(last_offset=7))
    assert [found.last_offset for found in one.get_windows(0, 9)] == [7]
    with pytest.raises(InputError, match="have no value and no partial"):
        one.put_window(window._replace(value={"a": 1}))
    with pytest.raises(InputError, match="the first offset of a window is not above its last one"):
        one.put_window(window._replace(last_offset=-1))


def times(one: JoinWindowOperator) -> list[int]:
    return sorted(row["event_time"] for row in one.get_messages(-99, 99))


@pytest.mark.parametrize(
    ("settings", "end", "kept"),
    [
        ({"advance": 10}, 10, [10, 12, 13, 14, 30]),
        ({"advance": 10, "origin": 3}, 13, [13, 14, 30]),
        ({"advance": 5}, 10, [5, 9, 10, 12, 13, 14, 30]),
        ({"advance": 5}, 14, [5, 9, 10, 12, 13, 14, 30]),
        ({"advance": 4}, 12, [4, 5, 9, 10, 12, 13, 14, 30]),  # [0, 10) has gone, [4, 14) has not
    ],
)
def test_messages_of_retired_windows_are_not_returned(
    settings: dict[str, Any], end: int, kept: list[int]
) -> None:
    """semantics 26.9: those before the first start on the grid that is in retention."""
    one = operator(**settings)
    add(one, *((time, 1) for time in (1, 2, 4, 5, 9, 10, 12, 13, 14, 30)))
    one.retire(end)
    assert times(one) == kept


def test_messages_of_expired_windows_are_not_returned() -> None:
    """semantics 26.2, 26.10: by time, at the very end of the retention."""
    one = operator(advance=10, retention_time=5)
    add(one, (1, 1), (9, 1), (10, 1), (14, 1))
    assert times(one) == [1, 9, 10, 14]
    add(one, (15, 1))
    assert times(one) == [10, 14, 15]


def test_messages_of_retired_windows_of_messages_are_not_returned() -> None:
    """semantics 26.9: also if no window is left."""
    one = operator(measure="tuple", size=2, advance=2, full="at_size")
    add(one, (1, 1), (2, 1))
    assert one.retire(1) == 1
    assert times(one) == []
    add(one, (3, 1))
    assert times(one) == [3]


def test_a_message_whose_windows_of_messages_were_deleted_is_in_no_window() -> None:
    """semantics 26.9: it has a number, so later windows start where they would have."""
    one = operator(measure="tuple", size=2, advance=2)
    add(one, (1, 1))
    assert one.del_window(0)
    add(one, (2, 1), (3, 1))
    assert sent(one) == [(0, "early", [1]), (2, "early", [3])]


def test_messages_of_a_deleted_session_go_with_later_ones_whatever_their_equal_fields() -> None:
    """semantics 26.9: they may be read until a session of the key after them expires."""
    one = operator(size=3, advance=None, session_key="s", retention_time=0)
    add(one, (1, 1))
    assert one.del_window(1, "x")
    add(one, (20, 2), (90, 2))
    assert times(one) == [90]


def test_a_session_key_has_any_name() -> None:
    settings: Any = {"measure": "time", "size": 10, "session_key": "messages", **WHOLE}
    one = JoinWindowOperator(JoinWindowSettings(**settings), {**TYPES, "messages": "bigint"})
    assert one.add_message({"event_time": 1, "messages": 7}) == "in_time"


def test_results_are_copies_of_messages() -> None:
    """semantics 26.7: S1 says that `getResult` copies; also lists and structs within messages."""
    types = {"event_time": "bigint", "id": "bigint", "s": "string", "tags": "struct<a:array<int>>"}
    one = JoinWindowOperator(
        JoinWindowSettings(measure="time", size=10, advance=5, keyed_message_store=(), **WHOLE), types
    )
    one.add_message({"event_time": 1, "id": 1, "s": "x", "tags": {"a": [1]}})
    (output,) = one.get_result()
    output.messages[0]["tags"]["a"].append(2)
    output.messages[0]["id"] = 7
    wanted = {"event_time": 1, "id": 1, "s": "x", "tags": {"a": [1]}}
    assert [output.messages for output in one.get_result()] == [(wanted,)]
    assert [output.messages for output in one.drain()] == [(wanted,)]


@pytest.mark.parametrize("durable", [False, True])
def test_messages_carry_their_offset(tmp_path: Path, durable: bool) -> None:
    """semantics 26.14: those that are read and those that are emitted, also after a restart."""
    given = {"measure": "time", "size": 10, "advance": 5, **WHOLE}
    store = tmp_path if durable else None
    with JoinWindowOperator(JoinWindowSettings(**given), TYPES, store=store) as one:
        one.add_message({"event_time": 3, "id": 1, "s": "x"}, 70)
        one.add_message({"event_time": 4, "id": 2, "s": "x"}, 80)
        found = one.get_result()
        found[0].messages[0]["id"] = 9
        emitted = [message for output in one.flush() for message in output.messages]
        assert [(message.offset, message["id"]) for message in emitted] == [(70, 1), (80, 2)]
        assert [message.offset for output in found for message in output.messages] == [70, 80]
        one.flush()
        assert [message.offset for message in one.get_messages(0, 9)] == [70, 80]
    if durable:
        with JoinWindowOperator(JoinWindowSettings(**given), TYPES, store=store) as one:
            [first, _] = one.get_messages(0, 9)
            assert (first, first.offset) == ({"event_time": 3, "id": 1, "s": "x"}, 70)


def test_a_period_is_the_same_in_both_operators() -> None:
    """semantics 26.4, 37.19: as in S1's example, a message at 9:00:00 is emitted at 9:01:00."""
    minute = 60_000_000
    given: Any = {"measure": "tuple", "size": 3, "advance": 3, "early": "1 minute", **WHOLE}
    types = {"event_time": "bigint", "v": "bigint"}
    sent: list[list[int]] = []
    for operator in (
        JoinWindowOperator(JoinWindowSettings(**given), types),
        WindowedAggregator(AggregatorSettings(**given), [F.max("v").alias("highest")], types),
    ):
        at: list[int] = []
        for seconds, v in ((0, 0), (59, 5), (60, None), (120, None), (121, 9), (180, None)):
            now = 540 * minute + seconds * 1_000_000  # from 9:00:00 on
            if v is None:
                operator.timeout(now)
            else:
                operator.add_message({"event_time": 1, "v": v}, now=now)
            at += [seconds] * len(operator.drain())
        sent.append(at)
    assert sent == [[60, 180], [60, 180]]
