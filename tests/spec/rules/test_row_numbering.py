"""Windows of rows: their own rules, and what a specification with them refuses (semantics 8.5, 8.6, 9.5)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from panewise import (
    AfterAny,
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterSilence,
    AfterWatermark,
    CountEvictor,
    Cumulating,
    Every,
    FixedLag,
    Hopping,
    Repeatedly,
    Rows,
    Session,
    SpecError,
    StreamTime,
    TimeEvictor,
    Tumbling,
    WindowOperator,
    rows,
)
from panewise import functions as F
from panewise.spec.rules.row_numbering import with_event_time
from tests.spec.cases import Rule, check

ROWS = (
    "a number of rows is whole, 1 or more, and 4611686018427387904 at most | give a number such as rows(100)"
)
BY_ROWS = (
    "the number of rows received completes windows of rows, and no row arrives after the end of its window"
)
ANY_TIME = "rows are numbered in arrival order, whatever the time | name no event_time if there is none"
NO_INSTANT = "a window of rows ends with a row, not at an instant"
UNNAMED = "windows of rows have an event time only if a column is named | give event_time='...', or leave"
START = (
    "the origin of windows of rows is a row number, a whole number of 1152921504606846976 at "
    "most | give one such as origin=0, or leave it out"
)
DURATIONS = "is a duration here; only Tumbling, Hopping, Sliding and Session are measured in rows | give a"
THREE = "Tumbling(size=rows(3), origin=0)"


def operator(window: Any = Tumbling(rows(3)), **fields: Any) -> WindowOperator:  # noqa: B008 - a value
    return WindowOperator(window=window, aggregates=[F.sum("v")], **fields)


def rule(obeys: dict[str, Any], breaks: dict[str, Any], message: str) -> Rule:
    return Rule(lambda: operator(**obeys), lambda: operator(**breaks), message)


RULES = {
    "a row or more": Rule(lambda: rows(1), lambda: rows(0), f"rows(0) | {ROWS}"),
    "whole rows": Rule(lambda: rows(2), lambda: rows(2.0), f"rows(2.0) | {ROWS}"),  # type: ignore[arg-type]
    "rows are counted": Rule(lambda: rows(2), lambda: rows(True), f"rows(True) | {ROWS}"),
    "rows that fit": Rule(lambda: rows(2**62), lambda: rows(2**62 + 1), f"rows({2**62 + 1}) | {ROWS}"),
    "one measure": Rule(
        lambda: Hopping(rows(3), rows(2)),
        lambda: Hopping(rows(3), "1 second"),
        "size=rows(3), hop=Duration('1 second') | size and hop are both durations, or both numbers of rows "
        "| give both of one kind: Hopping(rows(100), rows(10))",
    ),
    "gaps between rows are asked for": Rule(
        lambda: Hopping(rows(2), rows(3), gaps=True),
        lambda: Hopping(rows(2), rows(3)),
        (
            "size=2 rows, hop=3 rows, gaps=False | hop > size requires gaps=True; otherwise "
            "leave gaps=False | give a smaller hop, or change gaps"
        ),
    ),
    "origin is a row": Rule(
        lambda: Tumbling(rows(3), -1),
        lambda: Tumbling(rows(3), datetime(2024, 1, 1, tzinfo=UTC)),
        f"size=rows(3), origin={datetime(2024, 1, 1, tzinfo=UTC)!r} | {START}",
    ),
    "origin is near": Rule(
        lambda: Hopping(rows(3), rows(3), 2**60),
        lambda: Hopping(rows(3), rows(3), 2**60 + 1),
        f"size=rows(3), origin={2**60 + 1} | {START}",
    ),
    "the rows of others end a session": Rule(
        lambda: Session(rows(3)),
        lambda: Session(rows(3), "merge"),
        (
            "gap=rows(3), touching='merge' | 3 rows of other keys end the session, so the next "
            "row of its key starts a new one | leave touching out; to include that row, give "
            "rows(4)"
        ),
    ),
    "what grows, grows by time": Rule(
        lambda: Cumulating(4, 2),
        lambda: Cumulating(rows(4), 2),
        f"size=rows(4) | size {DURATIONS} size such as '1 minute'",  # type: ignore[arg-type]
    ),
    "periods are of time": Rule(
        lambda: Every(3),
        lambda: Every(rows(3)),
        f"period=rows(3) | period {DURATIONS} period such as '1 minute'",
    ),  # type: ignore[arg-type]
    "time": rule({}, {"time": "processing"}, f"time='processing', {THREE} | {ANY_TIME}"),
    "watermark": rule(
        {},
        {"watermark": StreamTime(1)},
        f"watermark={StreamTime(1)!r}, {THREE} | {BY_ROWS} | leave watermark out",
    ),
    "fixed lag": rule(
        {},
        {"watermark": FixedLag(1)},
        f"watermark={FixedLag(1)!r}, {THREE} | {BY_ROWS} | leave watermark out",
    ),
    "lateness": rule(
        {},
        {"allowed_lateness": "unlimited"},
        f"allowed_lateness='unlimited', {THREE} | {BY_ROWS} | leave allowed_lateness out",
    ),
    "drop_by": rule({}, {"drop_by": "row"}, f"drop_by='row', {THREE} | {BY_ROWS} | leave drop_by out"),
    "no instant at the end": rule(
        {"timestamp": "latest", "event_time": "t"},
        {"timestamp": "end", "event_time": "t"},
        f"timestamp='end', {THREE} | {NO_INSTANT} | read window_end, or give 'earliest' or 'latest'",
    ),
    "no instants to pass": rule(
        {"trigger": AfterWatermark(early=AfterAny(AfterCount(2), Every(3)))},
        {"trigger": AfterWatermark(early=AfterAny(AfterCount(2), AfterEventTime(3)))},
        f"trigger={AfterWatermark(early=AfterAny(AfterCount(2), AfterEventTime(3)))!r}, {THREE} | "
        f"{NO_INSTANT} | use AfterCount, or Every",
    ),
    "no event times to wait for": rule(
        {"trigger": Repeatedly(AfterSilence(3))},
        {"trigger": Repeatedly(AfterEventTimeDelay(3))},
        f"trigger={Repeatedly(AfterEventTimeDelay(3))!r}, {THREE} | {NO_INSTANT} | use AfterCount, or Every",
    ),
    "timestamp": rule(
        {}, {"timestamp": "earliest"}, f"timestamp='earliest', {THREE} | {UNNAMED} timestamp out"
    ),
    "evictor": rule(
        {"evictor": CountEvictor(2)},
        {"evictor": TimeEvictor(3)},
        f"evictor={TimeEvictor(3)!r}, {THREE} | {UNNAMED} evictor out",
    ),
    "skew": rule(
        {"max_future_skew": 3, "event_time": "t"},
        {"max_future_skew": 3},
        f"max_future_skew=Duration('3 microseconds'), {THREE} | {UNNAMED} max_future_skew out",
    ),
    "sessions, too": rule(
        {"window": Session(rows(3))},
        {"window": Session(rows(3)), "allowed_lateness": 1},
        f"allowed_lateness=Duration('1 microsecond'), {Session(rows(3))!r} | {BY_ROWS} | leave "
        "allowed_lateness out",
    ),
    "a stage does not see the rows": Rule(
        lambda: operator(Tumbling(3)).then(aggregates=[F.count()]),
        lambda: operator().then(aggregates=[F.count()]),
        f"then after {THREE} | the bounds of windows of rows number the input rows of the operator, which a "
        "stage does not receive (semantics 30.6) | use windows of time, or a second query over the panes",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    """Durations and rows do not mix, and fields without an effect are refused (semantics 8.5, 8.6, 9.5)."""
    check(RULES[name])


def test_the_measure_is_a_value() -> None:
    assert rows(3) == Rows(3)
    assert repr(Tumbling(rows(3))) == THREE
    assert (str(rows(1)), str(rows(2))) == ("1 row", "2 rows")
    assert len({Tumbling(rows(3)), Tumbling(rows(3)), Tumbling(3)}) == 2


@pytest.mark.parametrize("window", [Tumbling(rows(3)), Hopping(rows(3), rows(1)), Session(rows(3))])
def test_no_event_time_is_read_unless_it_is_named(window: Any) -> None:
    assert operator(window).event_time is None
    assert operator(window, keys=["k"]).columns_read == ("k", "v")
    assert operator(window, event_time="event_time").columns_read == ("event_time", "v")
    assert operator(window, event_time="t", timestamp="latest").columns_read == ("t", "v")


def test_a_column_called_event_time_orders_rows_where_nothing_else_is_named() -> None:
    given = ["event_time", "v", "o"]
    assert with_event_time(operator(), given).event_time == "event_time"
    assert with_event_time(operator(), ["v"]).event_time is None
    assert with_event_time(operator(order=["o"]), given).event_time is None
    assert with_event_time(operator(event_time="o"), given).event_time == "o"
    assert with_event_time(operator(Tumbling(3), event_time="o"), given).event_time == "o"


def test_a_window_of_rows_does_not_end_in_time() -> None:
    with pytest.raises(SpecError, match="on_time='always', trigger"):
        operator(trigger=Every(1), on_time="always")
    assert operator(on_time="always", closing="always").on_time == "always"
