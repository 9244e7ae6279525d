"""Errors in S1's window operators: what is refused changes nothing, and what was due is due again."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise import UserAggregate
from panewise import functions as F
from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.errors import AggregateOverflowError, DeliveryDisabledError, InputError, StoreError
from panewise.standalone import (
    AggregatorSettings,
    JoinWindowOperator,
    JoinWindowSettings,
    RejectedMessage,
    WindowedAggregator,
)
from panewise.standalone.retained.results import Results
from panewise.stores import MessageStore

TYPES = {"event_time": "bigint", "v": "bigint", "k": "string"}
SUM = (F.sum("v").alias("total"),)
MEDIAN = (F.median("v").alias("middle"),)
QUOTIENT = UserAggregate.reduce("quotient", lambda one, other: one // other, result="bigint")("v").alias(
    "quotient"
)
SESSIONS = {"session_key": "k", "advance": None}
UTC = pl.Datetime("us", "UTC")


def given(**settings: Any) -> dict[str, Any]:
    whole = {"measure": "time", "size": 10, "advance": 10, "retention_size": 1000, "retention_time": 1000}
    return {**whole, **settings}


def aggregator(aggregates: Any = SUM, settings: Any = (), **options: Any) -> WindowedAggregator:
    return WindowedAggregator(AggregatorSettings(**given(**dict(settings))), aggregates, TYPES, **options)


def joining(keys: tuple[str, ...] = (), **settings: Any) -> JoinWindowOperator:
    fields = ("k", *keys) if keys and settings.get("session_key") else keys or None
    return JoinWindowOperator(JoinWindowSettings(**given(**settings), keyed_message_store=fields), TYPES)


def add(operator: Any, *times: int, v: int = 1) -> list[str]:
    return [operator.add_message({"event_time": time, "v": v, "k": "a"}) for time in times]


OPERATORS: Any = [
    lambda **settings: aggregator(SUM, settings),
    lambda **settings: aggregator(MEDIAN, settings),
    joining,
]


@pytest.mark.parametrize("made", OPERATORS)
@pytest.mark.parametrize(
    ("settings", "low", "high"),
    [
        (
            {},
            "invalid",
            "invalid",
        ),  # the first window would begin before -2^63, the last one end after 2^63-1
        ({"size": 15, "advance": 4}, "in_time", "invalid"),
        (SESSIONS, "in_time", "invalid"),
        ({"measure": "tuple", "size": 2, "advance": 2}, "in_time", "in_time"),
    ],
)
def test_windows_whose_bounds_are_no_instants_do_not_exist(
    made: Any, settings: Any, low: str, high: str
) -> None:
    """semantics 6.3: a message without windows is invalid, and the operator goes on."""
    operator = made(**settings)
    assert add(operator, MIN_INSTANT + 1) == [low]
    assert add(operator, MAX_INSTANT) == [high]
    operator.flush()
    reasons = {one.reason for one in operator.drain_rejected()}
    assert reasons <= {"window out of range"}
    assert add(made(**settings), 5) == ["in_time"]
    for window in operator.get_windows(MIN_INSTANT, MAX_INSTANT):
        assert MIN_INSTANT <= window.start < (window.end_time or MAX_INSTANT) <= MAX_INSTANT


def test_offsets_end() -> None:
    operator = aggregator()
    operator.add_message({"event_time": 1}, MAX_INSTANT)
    with pytest.raises(InputError, match="an offset is a whole number of 64 bits"):
        operator.add_message({"event_time": 1})
    assert operator.counts.applied == 1


@pytest.mark.parametrize("aggregates", [SUM, (*SUM, *MEDIAN)])
def test_a_sum_has_to_fit_when_it_is_emitted(aggregates: Any, tmp_path: Path) -> None:
    """semantics 24.3: a window takes messages while its sum does not fit, also across a restart."""
    with aggregator(aggregates, store=tmp_path) as operator:
        add(operator, 1, v=MAX_INSTANT)
        add(operator, 2)
        operator.flush()
    with aggregator(aggregates, store=tmp_path) as operator:
        with pytest.raises(AggregateOverflowError):
            operator.get_windows(0, 9)
        add(operator, 3, v=-1)
        assert operator.get_windows(0, 9)[0].value["total"] == MAX_INSTANT  # type: ignore[index]


@pytest.mark.parametrize(("early", "time"), [("each", 2), (None, 25)])
def test_a_message_is_applied_although_a_sum_does_not_fit(early: Any, time: int) -> None:
    """semantics 26.5: so it is not repeated, and the window emits when its sum fits again."""
    operator = aggregator(settings={"early": early, "late": "each"})
    add(operator, 1, v=MAX_INSTANT)
    if early is None:
        add(operator, 2)
    applied = operator.counts.applied
    with pytest.raises(AggregateOverflowError):
        add(operator, time)
    assert operator.counts.applied == applied + 1
    operator.drain()
    add(operator, 3, v=-5)
    assert operator.drain()[0].window.value == {"total": MAX_INSTANT - 4}


def test_messages_are_tried_only_for_functions_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial computes no sum: only the result that is emitted has to fit."""
    tried = []
    check = Results.check
    monkeypatch.setattr(Results, "check", lambda *given: (tried.append(1), check(*given))[1])
    operator = aggregator()
    add(operator, *range(1, 9), v=2**62)
    assert not tried
    operator = aggregator((*SUM, QUOTIENT))
    add(operator, 1, v=MAX_INSTANT)
    add(operator, 2, v=1)
    add(operator, 3, v=-1)
    assert len(tried) == 3
    assert operator.get_windows(0, 9)[0].value == {"total": MAX_INSTANT, "quotient": -MAX_INSTANT}


def test_an_error_output_that_raises_disables_delivery() -> None:
    """semantics 32.4: otherwise the next message would be added, although its call raises."""
    found: list[RejectedMessage] = []
    broken = [True]

    def errors(message: RejectedMessage) -> None:
        if broken[0]:
            raise OSError("no topic")
        found.append(message)

    operator = aggregator(error_output=errors)
    with pytest.raises(OSError, match="no topic"):
        operator.add_message({"event_time": None})
    with pytest.raises(DeliveryDisabledError, match="1 rejected messages"):
        add(operator, 1)
    with pytest.raises(OSError, match="no topic"):
        operator.timeout(5)
    broken[0] = False
    assert operator.timeout(5)
    assert add(operator, 1) == ["in_time"]
    assert (len(found), operator.counts.applied) == (1, 1)


def test_what_was_due_is_due_again_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three windows become full with one message, and the store cannot be read for the second of them."""
    operator = aggregator(MEDIAN, {"size": 30})
    add(operator, 25)
    read, calls = MessageStore.get_messages, []

    def broken(store: MessageStore, *bounds: Any, **options: Any) -> Any:
        calls.append(bounds)
        if len(calls) == 2:
            raise StoreError("a file", "it can be read", "look at the disk")
        return read(store, *bounds, **options)

    with monkeypatch.context() as patched:
        patched.setattr(MessageStore, "get_messages", broken)
        with pytest.raises(StoreError, match="a file"):
            add(operator, 55)
    assert [one.window.start for one in operator.drain()] == [0]
    assert operator.timeout()
    found = operator.drain()
    shown = [(one.window.start, one.firing, one.sequence) for one in found]
    assert shown == [(10, "full", 2), (20, "full", 3)]


def test_an_operator_without_equal_fields_has_no_join_keys() -> None:
    for operator in (aggregator(), aggregator(MEDIAN), joining()):
        with pytest.raises(InputError, match="join_keys"):
            operator.get_messages(0, 9, join_keys=())
        with pytest.raises(InputError, match="join_keys"):
            operator.retire(9, join_keys=())


def test_sessions_that_would_be_one_are_not_put() -> None:
    """semantics 26.1: two messages of different sessions are more than the gap apart."""
    operator = aggregator(settings=SESSIONS)
    add(operator, 0)
    (window,) = operator.get_windows(-99, 99)
    operator.put_window(window)  # in place of itself
    for start in (5, 10, -10):
        with pytest.raises(InputError, match="more than the gap apart"):
            operator.put_window(window._replace(start=start, start_time=start, end_time=start + 10))
    for start in (11, -11):
        operator.put_window(window._replace(start=start, start_time=start, end_time=start + 10))
    assert [one.start for one in operator.get_windows(-99, 99)] == [-11, 0, 11]


def test_a_row_that_raises_ends_a_batch() -> None:
    """The rows before it have been added, and counts say how many."""
    operator = aggregator([QUOTIENT])
    rows = pl.DataFrame(
        {"event_time": [1, None, 2, 3], "v": [8, 1, 0, 2], "k": ["a"] * 4}, operator._state.schema
    )
    with pytest.raises(ZeroDivisionError):
        operator.add_batch(pl.DataFrame(rows, operator._state.schema), offset=4)
    assert (operator.counts.applied, operator.counts.invalid) == (1, 1)
    assert operator.add_message({"event_time": 3, "v": 2}) == "in_time"
    assert operator.get_windows(0, 9)[0].last_offset == 5  # one after the mark, which was 4
    assert operator.get_windows(0, 9)[0].value == {"quotient": 4}


def test_a_rejected_message_shares_its_offset_with_the_next_one() -> None:
    operator = aggregator()
    operator.add_message({"event_time": 1, "v": 1})
    for _ in range(2):
        operator.add_message({"event_time": None, "v": 1})
    assert [one.offset for one in operator.drain_rejected()] == [1, 1]


NO_NUMBER = "starts, offsets and times of a window are whole numbers of 64 bits"


@pytest.mark.parametrize("aggregates", [SUM, MEDIAN, None])
@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"start_offset": "x"}, NO_NUMBER),
        ({"last_offset": None}, NO_NUMBER),
        ({"last_offset": 2**70}, NO_NUMBER),
        ({"start_offset": -(2**70)}, NO_NUMBER),
        ({"start": 2**70}, NO_NUMBER),
        ({"start": True}, NO_NUMBER),
        ({"end_time": 10.0}, NO_NUMBER),
        ({"partial": None}, "a partial is an Arrow file as bytes, or b''"),
        ({"value": [1]}, "the value of a window is a dict of its results, or None"),
        ({"session_key": 5}, "only windows of sessions have a session key"),
    ],
)
def test_metadata_of_other_types_are_not_put(aggregates: Any, changes: dict[str, Any], rule: str) -> None:
    """semantics 26.9: they would be stored, or raise an error of Python."""
    operator: Any = joining() if aggregates is None else aggregator(aggregates)
    add(operator, 1)
    (window,) = operator.get_windows(0, 9)
    with pytest.raises(InputError, match=rf"\| {rule} \|"):
        operator.put_window(window._replace(**changes))
    assert operator.get_windows(0, 9) == [window]
    operator.flush()


def test_what_is_no_metadata_is_not_put() -> None:
    with pytest.raises(InputError, match=r"of the type tuple \| a window is put by its WindowMetadata \|"):
        aggregator().put_window((None, 0, 0, 0))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [5, 0, "a", b"a", (), (1, 2), {1}, {1: 2}])
def test_join_keys_are_a_tuple_with_a_value_for_each_equal_field(given: Any) -> None:
    """semantics 26.9"""
    operator = joining(("v",))
    add(operator, 1)
    for call in (operator.get_messages, lambda *bounds, **keys: operator.retire(9, **keys)):
        with pytest.raises(InputError, match=r"\| the equal fields of this operator are \['v'\] \| give a"):
            call(0, 9, join_keys=given)
    assert len(operator.get_messages(0, 9, join_keys=[1])) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings",
    [
        {"time_range_join": True, "window_scale": "small"},
        {"measure": "tuple", "window_scale": "small"},
        {**SESSIONS, "time_range_join": True, "window_scale": "small"},
    ],
)
def test_equal_fields_that_are_not_first_in_keys_do_not_retire(settings: dict[str, Any]) -> None:
    """semantics 25.6, 26.9: also before the first message."""
    operator = joining(("v",), **settings)
    key, fields = ("a", ("a", 1)) if "session_key" in settings else (None, (1,))
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"begin with these fields \| set window_scale='large', or retire"
        ):
            operator.retire(9, key, join_keys=fields)
        add(operator, 1)
    large = joining(("v",), **{**settings, "window_scale": "large"})
    add(large, 1)
    assert large.retire(9, key, join_keys=fields) == 1


def test_equal_fields_of_sessions_retire_with_a_session_key() -> None:
    """semantics 25.6, 26.9: also before the first message."""
    operator = joining(("v",), **SESSIONS)
    for _ in range(2):
        with pytest.raises(InputError, match=r"begin with the session key \| give session_key=\.\.\., too"):
            operator.retire(9, join_keys=("a", 1))
        add(operator, 1)
    assert operator.retire(9, "a", join_keys=("a", 1)) == 2


def test_instants_beyond_the_years_of_datetime() -> None:
    """semantics 26.5, 26.7"""
    settings = AggregatorSettings(
        measure="time", size=10, advance=10, retention_size=9, retention_time=20, message_store=True
    )
    types = {"event_time": "timestamp", "at": "timestamp", "local": "timestamp_ntz"}
    operator = WindowedAggregator(settings, [F.max("at").alias("last")], types)
    assert operator.add_message({"event_time": 2**61, "at": 2**62}) == "in_time"
    rows = pl.DataFrame({"event_time": [2**61 + 9], "at": [-(2**62)], "local": [None]})
    assert operator.add_batch(rows.cast({"event_time": UTC, "at": UTC, "local": pl.Datetime("us")})) == [
        "future"
    ]
    assert operator.add_message({"event_time": 2**61, "local": 2**62}) == "invalid"
    (rejected,) = operator.drain_rejected()
    assert rejected.reason == "a timestamp_ntz is not in the years 1 to 9999"
    assert [one.window.value for one in operator.drain()] == [{"last": 2**62}]
    assert [one["at"] for one in operator.get_messages(0, 2**62)] == [2**62, -(2**62)]
