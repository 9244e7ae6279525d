"""The windowed aggregator of S1, step by step."""

from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from panewise import UserAggregate
from panewise import functions as F
from panewise.errors import AggregateOverflowError, DeliveryDisabledError, InputError, SpecError
from panewise.standalone import AggregatorSettings, Callbacks, WindowedAggregator, WindowOutput

TYPES = {"event_time": "bigint", "v": "bigint"}
SECOND, MINUTE = 1_000_000, 60_000_000
WHOLE: dict[str, Any] = {"retention_size": 1000, "retention_time": "1 hour"}
SUM = [F.sum("v").alias("total")]


def at(clock: str) -> int:
    """Returns an instant of a day in microseconds."""
    hours, minutes, seconds = map(int, clock.split(":"))
    return (hours * 3600 + minutes * 60 + seconds) * SECOND


# The examples of S1, case 1: the offset, the value, the event time and the system time of each message.
ORDERS = ((1, 0, "8:59:10", "9:00:00"), (2, 5, "9:00:01", "9:00:59"), (3, 9, "8:59:30", "9:02:01"))


def highest(settings: AggregatorSettings) -> list[tuple[str, int, int, Any]]:
    """Returns when the maximum of which window is emitted, with a time-out at each full minute."""
    operator = WindowedAggregator(settings, [F.max("v").alias("highest")], TYPES)
    events = [(at(now), offset, value, at(time)) for offset, value, time, now in ORDERS]
    events += [(at(f"9:0{minute}:00"), 0, 0, 0) for minute in range(1, 5)]
    found = []
    for now, offset, value, time in sorted(events):
        if offset:
            operator.add_message({"event_time": time, "v": value}, offset, now=now)
        else:
            operator.timeout(now)
        clock = f"9:0{now // MINUTE % 60}:{now // SECOND % 60:02}"
        found += [
            (clock, one.window.start, one.window.last_offset, (one.window.value or {})["highest"])
            for one in operator.drain()
        ]
    return found


def test_windows_of_three_messages_emit_each_minute() -> None:
    """S1 case 1, the tuple-based window; semantics 26.4, 26.9."""
    settings = AggregatorSettings(measure="tuple", size=3, advance=3, early="1 minute", **WHOLE)
    assert highest(settings) == [("9:01:00", 1, 2, 5), ("9:03:00", 1, 3, 9)]


def test_windows_of_a_minute_emit_each_minute() -> None:
    """S1 case 1, the time-based window; semantics 26.4: m2 makes the first window full."""
    every = {"early": "1 minute", "late": "1 minute"}
    settings = AggregatorSettings(measure="time", size="1 minute", advance="1 minute", **every, **WHOLE)
    first, second = at("8:59:00"), at("9:00:00")
    assert highest(settings) == [
        ("9:00:59", first, 1, 0),
        ("9:01:00", second, 2, 5),
        ("9:04:00", first, 3, 9),
    ]


def tumbling(aggregates: Any = SUM, **options: Any) -> WindowedAggregator:
    settings = {"measure": "time", "size": 10, "advance": 10, **WHOLE, **options.pop("settings", {})}
    return WindowedAggregator(AggregatorSettings(**settings), aggregates, TYPES, **options)


def add(operator: WindowedAggregator, *times: int, v: int = 1) -> list[str]:
    return [operator.add_message({"event_time": time, "v": v}) for time in times]


def results(outputs: list[WindowOutput]) -> list[tuple[int, str, Any]]:
    return [(one.window.start, one.firing, one.window.value) for one in outputs]


def test_messages_are_classified_by_the_current_window() -> None:
    """semantics 26.5, 26.6"""
    operator = tumbling(settings={"retention_time": 15})
    assert add(operator, 12, 19, 20, 5, 45, 31) == ["in_time", "in_time", "future", "past", "future", "past"]
    assert add(operator, 19) == ["out_of_retention"]
    assert operator.add_message({"event_time": 46, "v": 1}, offset=3) == "replay"
    assert operator.add_message({"event_time": None, "v": 1}) == "invalid"
    rejected = [(one.message["event_time"], one.offset, one.reason) for one in operator.drain_rejected()]
    assert rejected == [(19, 6, "out of retention"), (None, 6, "event time is null")]
    counts = operator.counts
    assert (counts.rows_in, counts.applied, counts.replays, counts.late, counts.invalid) == (9, 6, 1, 1, 1)


def test_a_replay_out_of_retention_is_rejected_again() -> None:
    """semantics 26.5: retention comes before replays, as S1 says."""
    operator = tumbling(settings={"retention_time": 0})
    add(operator, 1, 25)
    assert operator.add_message({"event_time": 1, "v": 1}, offset=0) == "out_of_retention"


def test_an_early_emission_is_off_and_late_messages_are_collected_for_ten_seconds() -> None:
    """semantics 17.1, 26.4: the defaults of an aggregator."""
    operator = tumbling()
    add(operator, 1, 2)
    operator.timeout(SECOND)
    assert operator.drain() == []
    add(operator, 11)
    assert results(operator.drain()) == [(0, "full", {"total": 2})]
    add(operator, 3)
    operator.timeout(5 * SECOND)
    add(operator, 4)
    operator.timeout(11 * SECOND - 1)
    assert operator.drain() == []
    operator.timeout(11 * SECOND)
    assert results(operator.drain()) == [(0, "late", {"total": 4})]


def test_a_window_that_expires_emits_its_late_messages_before() -> None:
    """semantics 26.2, 26.5"""
    operator = tumbling(settings={"retention_time": 20})
    add(operator, 1, 12, 2)
    operator.drain()
    add(operator, 30)
    assert results(operator.drain()) == [(10, "full", {"total": 1}), (0, "late", {"total": 2})]
    assert [one.start for one in operator.get_windows(0, 99)] == [10, 30]


def test_a_window_expires_by_number_after_all_windows_before_it() -> None:
    """semantics 26.2: none of the last two messages belongs to the windows that expire."""
    operator = tumbling(settings={"retention_size": 2})
    add(operator, 1, 11, 2, 21)  # the last two messages are those at 2 and at 21
    assert [one.start for one in operator.get_windows(0, 99)] == [0, 10, 20]
    add(operator, 22)
    assert [one.start for one in operator.get_windows(0, 99)] == [20]
    assert add(operator, 15) == ["out_of_retention"]


@pytest.mark.parametrize(("later", "starts"), [(10, [0, 1]), (11, [1])])
def test_a_window_of_one_message_expires_after_its_time(later: int, starts: list[int]) -> None:
    """semantics 26.2: the end of a window of messages is 1 microsecond after its latest event time."""
    settings = AggregatorSettings(measure="tuple", size=1, advance=1, retention_size=9, retention_time=10)
    operator = WindowedAggregator(settings, SUM, TYPES)
    for time in (0, later):
        operator.add_message({"event_time": time, "v": 1})
    assert [window.start for window in operator.get_windows(0, 9)] == starts


def test_a_median_is_computed_from_stored_messages() -> None:
    """semantics 26.7, 26.9: get_messages has both ends."""
    operator = tumbling([F.median("v").alias("m")])
    for time, v in ((5, 9), (1, 1), (10, 0), (9, 2)):
        add(operator, time, v=v)
    assert [row["v"] for row in operator.get_messages(1, 9)] == [1, 9, 2]
    operator.timeout(11 * SECOND)
    assert results(operator.drain()) == [(0, "full", {"m": 5.0}), (0, "late", {"m": 2.0})]


def test_messages_can_be_stored_for_sums_too() -> None:
    operator = tumbling(settings={"message_store": True})
    add(operator, 1)
    assert operator.get_messages(0, 9) == [{"event_time": 1, "v": 1}]
    with pytest.raises(InputError, match="stores results, and no messages"):
        tumbling().get_messages(0, 9)
    with pytest.raises(SpecError, match="some of the aggregates are computed from"):
        tumbling([F.mode("v").alias("m")], settings={"message_store": False})


def test_sessions_are_retracted_when_they_merge() -> None:
    """semantics 26.8"""
    settings = AggregatorSettings(measure="time", size=5, session_key="v", early="each", **WHOLE)
    operator = WindowedAggregator(settings, [F.count().alias("n")], TYPES)
    found = []
    for time in (10, 20, 15):
        operator.add_message({"event_time": time, "v": 7})
        found += [
            (one.firing, one.window.start, one.window.end_time, one.window.value) for one in operator.drain()
        ]
    assert found == [
        ("early", 10, 15, {"n": 1}),
        ("early", 20, 25, {"n": 1}),
        ("retraction", 20, 25, {"n": 1}),
        ("early", 10, 25, {"n": 3}),
    ]
    assert [one.start for one in operator.get_windows(0, 99, session_key=7)] == [10]
    assert operator.get_windows(0, 99, session_key=8) == []


def test_a_downstream_that_refuses_disables_delivery_until_a_timeout() -> None:
    """semantics 26.5, 32.2, 32.3"""
    received, writes, room = list[Any](), list[str](), [1]

    def downstream(output: WindowOutput) -> bool:
        if not room[0]:
            return False
        room[0] -= 1
        received.append(output.window.start)
        return True

    operator = tumbling(mode="automatic", downstream=downstream, callbacks=Callbacks(write=writes.append))
    add(operator, 1, 11)
    add(operator, 21)
    assert not operator.delivery_enabled
    with pytest.raises(DeliveryDisabledError, match="1 outputs that wait"):
        add(operator, 22)
    assert not operator.timeout(5)
    assert operator.clock == 0
    room[0] = 9
    assert operator.timeout(5)
    assert (received, operator.clock) == ([0, 10], 5)
    assert add(operator, 22) == ["in_time"]
    assert writes[-4:] == ["output", "output", "metadata", "position"]


def test_a_rejected_message_goes_to_the_error_output() -> None:
    """semantics 26.5"""
    rejected: list[Any] = []
    operator = tumbling(error_output=rejected.append, settings={"retention_time": 0})
    add(operator, 25, 1)
    assert [one.reason for one in rejected] == ["out of retention"]
    assert operator.drain_rejected() == []


def test_windows_can_be_put_deleted_and_retired() -> None:
    """semantics 26.9"""
    operator, other = tumbling(), tumbling()
    add(operator, 1, 2, 11)
    operator.drain()
    window = operator.get_window(0)
    assert window is not None
    assert (window.start_offset, window.last_offset, window.value) == (0, 1, {"total": 2})
    other.put_window(window)
    add(other, 3, 11)
    assert results(other.drain()) == [(0, "full", {"total": 3})]
    assert other.del_window(0)
    assert not other.del_window(0)
    assert other.get_window(0) is None
    assert operator.retire(10) == 1
    assert add(operator, 3) == ["out_of_retention"]
    assert [one.start for one in operator.get_windows(0, 99)] == [10]
    for wrong in (window._replace(value={"total": 9}), window._replace(start=3, start_time=3)):
        with pytest.raises(InputError, match="give what get_window returned"):
            other.put_window(wrong)


def test_a_sum_that_does_not_fit_is_an_error_where_it_is_read() -> None:
    """semantics 24.3"""
    operator = tumbling()
    add(operator, 1, v=2**62)
    assert add(operator, 2, v=2**62) == ["in_time"]
    with pytest.raises(AggregateOverflowError):
        operator.get_windows(0, 9)
    add(operator, 2, v=-5)
    assert operator.get_windows(0, 9)[0].value == {"total": 2**63 - 5}
    assert operator.counts.applied == 3


def test_a_batch_is_added_row_by_row() -> None:
    operator = tumbling()
    rows = pl.DataFrame({"event_time": [1, 2, 11, 1], "v": [1, 2, 3, 4]})
    assert operator.add_batch(rows, offset=100) == ["in_time", "in_time", "future", "past"]
    assert operator.add_batch(rows.head(2), offset=102) == ["replay", "replay"]
    assert [one.start_offset for one in operator.get_windows(0, 99)] == [100, 102]


def test_types_that_json_does_not_have_come_back_from_the_message_store() -> None:
    types: dict[str, Any] = {
        "event_time": "timestamp",
        "d": "decimal(5,2)",
        "b": "binary",
        "f": "double",
        "day": "date",
    }
    types = {**types, "clock": pl.Time(), "times": pl.List(pl.Time()), "wait": pl.Duration("us")}
    settings = AggregatorSettings(measure="time", size="1 day", advance="1 day", **WHOLE)
    operator = WindowedAggregator(
        settings, [F.median("f").alias("m"), F.collect_list("d").alias("all")], types
    )
    message = {
        "event_time": datetime(1969, 12, 31, 23, tzinfo=UTC),
        "d": Decimal("1.50"),
        "b": b"\x00\xff",
        "f": float("inf"),
        "day": date(1969, 1, 2),
        "clock": time_of_day(23, 59, 0, 1),
        "times": [time_of_day(1), None],
        "wait": timedelta(days=-1, microseconds=3),
    }
    operator.add_message(message)
    (stored,) = operator.get_messages(-(10**12), 10**12)
    assert stored == {**message, "event_time": -3600 * SECOND}
    assert operator.get_windows(-(10**12), 0)[0].value == {"m": float("inf"), "all": [Decimal("1.50")]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.add_message(3), "a message of the type int"),
        (lambda one: one.add_message({"event_time": 1}, offset="a"), "offset='a'"),
        (lambda one: one.get_windows(0, 1, session_key="a"), "only windows of sessions have a session key"),
        (lambda one: one.get_messages(0, 1, join_keys=(1,)), "the equal fields of this operator are"),
        (lambda one: one.close() or one.timeout(), "a closed operator"),
    ],
)
def test_calls_that_do_not_fit_are_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(tumbling())


def test_a_downstream_does_not_call_its_operator() -> None:
    """semantics 31.8"""
    operator: Any = None
    operator = tumbling(mode="automatic", downstream=lambda output: operator.timeout())
    with pytest.raises(InputError, match="a call within another call"):
        add(operator, 1, 11)


@pytest.mark.parametrize("aggregate", [F.sum("v"), F.median("v"), F.collect_list("v")])
@pytest.mark.parametrize("shape", [{"advance": 10}, {"session_key": "k", "advance": None}])
def test_a_deleted_window_opens_again_without_its_messages(aggregate: Any, shape: dict[str, Any]) -> None:
    """semantics 26.9: whether results are computed from partials or from stored messages."""
    chosen = AggregatorSettings(
        measure="time", size=10, retention_size=99, retention_time=99, early="each", **shape
    )
    found = []
    for deleted in (True, False):
        one = WindowedAggregator(chosen, [aggregate.alias("a")], {**TYPES, "k": "string"})
        if deleted:
            one.add_message({"event_time": 4, "v": 100, "k": "a"}, 0)
            assert one.del_window(4 if "session_key" in shape else 0, "a" if "session_key" in shape else None)
            one.drain()
        one.add_message({"event_time": 3, "v": 7, "k": "a"}, 1)
        found.append([output.window.value for output in one.drain()])
    assert found[0] == found[1] != []


def test_a_result_with_nan_can_be_put() -> None:
    """semantics 26.9: NaN is the result that the partial has."""
    chosen = AggregatorSettings(measure="time", size=10, advance=10, retention_size=99, retention_time=99)
    types = {"event_time": "bigint", "v": "double", "n": "bigint"}
    one = WindowedAggregator(chosen, [F.max("v").alias("a"), F.sum("n").alias("n")], types)
    one.add_message({"event_time": 4, "v": float("nan"), "n": 3})
    window = one.get_window(0)
    assert window is not None
    assert window.value is not None
    one.put_window(window)
    for value in (None, {"a": 1.0, "n": 3}, {"a": float("nan")}, {"a": "x", "n": 3}):
        with pytest.raises(InputError, match="the value of a window is the result of its partial"):
            one.put_window(window._replace(value=value))
    other = WindowedAggregator(chosen, [F.max("v").alias("b")], types)
    other.add_message({"event_time": 4, "v": 1.0})
    (foreign,) = other.get_windows(0, 9)
    for partial in (b"not an Arrow file", foreign.partial):
        with pytest.raises(InputError, match="a partial is an Arrow file with the columns"):
            one.put_window(window._replace(partial=partial))


def test_a_session_retires_after_its_last_instant() -> None:
    """semantics 26.9: its end is after the last instant at which a message would belong to it."""
    chosen = AggregatorSettings(
        measure="time", size=10, session_key="k", retention_size=99, retention_time=99
    )
    one = WindowedAggregator(chosen, SUM, {**TYPES, "k": "string"})
    for time in (1, 90):
        one.add_message({"event_time": time, "v": 1, "k": "a"})
    assert [window.end_time for window in one.get_windows(0, 99)] == [11, 100]
    assert (one.retire(11), one.retire(12)) == (0, 1)


def test_a_window_that_was_never_opened_expires_with_a_later_one() -> None:
    """semantics 26.2: retention by number, 26.6 for windows of messages."""
    chosen = AggregatorSettings(measure="time", size=10, advance=10, retention_size=1, retention_time=999)
    one = WindowedAggregator(chosen, SUM, TYPES)
    kinds = [one.add_message({"event_time": time, "v": 1}) for time in (15, 25, 3, 26)]
    assert kinds == ["in_time", "future", "out_of_retention", "in_time"]
    chosen = AggregatorSettings(measure="tuple", size=2, advance=2, retention_size=9, retention_time=999)
    one = WindowedAggregator(chosen, SUM, TYPES)
    kinds = [one.add_message({"event_time": 1, "v": 1}) for _ in range(4)]
    assert kinds == ["in_time", "in_time", "future", "in_time"]


@pytest.mark.parametrize(
    "call", [lambda one: one.add_message({"event_time": 2, "v": 9}), lambda one: one.drain()]
)
@pytest.mark.parametrize(
    "read", [lambda one: one.get_window(0), lambda one: one.flush(), lambda one: add(one, 11)]
)
def test_a_user_function_does_not_call_its_operator(call: Any, read: Any) -> None:
    """semantics 31.8: else two messages could have one offset, and outputs be lost."""
    calls = []

    def accumulate(total: float, value: Any) -> float:
        calls.append(value)
        with pytest.raises(InputError, match="a call within another call"):
            call(operator)
        return total + float(value)

    total = UserAggregate.fold("total", 0.0, accumulate, lambda one, other: one + other)
    operator = tumbling([total("v").alias("total")])
    add(operator, 1)
    read(operator)
    assert operator.counts.applied == 1 + (operator.get_window(10) is not None)
    assert calls


def test_results_are_copies() -> None:
    """semantics 26.7: S1 says that `getResult` copies."""
    operator = tumbling([F.collect_list("v").alias("values")])
    add(operator, 1, 2, 11)
    (first,) = operator.get_result()
    assert first.window.value == {"values": [1, 1]}
    first.window.value["values"].append(9)
    first.window.value["other"] = 1
    (second,) = operator.get_result()
    assert second.window.value == {"values": [1, 1]}
    assert operator.drain() == [second]


def test_metadata_are_shown_without_the_bytes_of_the_partial() -> None:
    operator = tumbling()
    add(operator, 1)
    window = operator.get_window(0)
    assert window is not None
    start = (
        "WindowMetadata(session_key=None, start=0, start_offset=0, last_offset=0, start_time=0, end_time=10, "
    )
    shown = f"{start}value={{'total': 1}}, partial=<{len(window.partial)} bytes>)"
    assert (repr(window), str(window)) == (shown, shown)
    assert len(shown) < 160
    assert repr(window._replace(partial=b"")).endswith("partial=b'')")
