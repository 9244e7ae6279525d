"""Every rule of a whole specification: a case that obeys it, one that breaks it, and the whole message."""

import warnings
from typing import Any

import pytest

from panewise import (
    AfterAny,
    AfterCount,
    AfterWatermark,
    Always,
    CountEvictor,
    Cumulating,
    Custom,
    DataLossWarning,
    DeltaEvictor,
    Duration,
    Every,
    FixedLag,
    Global,
    Inputs,
    Never,
    OrFinally,
    Position,
    Repeatedly,
    Session,
    SpecError,
    StreamTime,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.spec import PANE_COLUMNS, parts
from panewise.spec.operators.windows import data_loss_reason
from tests.spec.cases import Rule, check

LOSS = "rows that arrive after that are emitted to the late output as 'closed'"
REPEAT = (
    "give AfterWatermark(late=...), or repeat the trigger: Repeatedly(...), "
    "AfterWatermark(early=..., late=...)"
)
NAMES = f"keys, aggregates and the pane's own columns {PANE_COLUMNS} have different names"


def operator(**fields: Any) -> WindowOperator:
    return WindowOperator(**{"window": Tumbling(10), "aggregates": [F.count().alias("n")], **fields})


def rule(obeys: dict[str, Any], breaks: dict[str, Any], message: str) -> Rule:
    return Rule(lambda: operator(**obeys), lambda: operator(**breaks), message)


NO_EVENT_TIME = "with time='processing' the event time of a row is the time of its arrival"
NEVER_LATE = "with time='processing' no row arrives after the end of its window"


def by_processing_time(obeys: dict[str, Any], breaks: dict[str, Any], message: str) -> Rule:
    (field,) = breaks
    time = {"time": "processing"}
    return rule(
        time | obeys, time | breaks, f"time='processing', {message} | leave {field} out, or use time='event'"
    )


RULES = {
    "keys are several": rule(
        {"keys": ["k"]}, {"keys": "k"}, "keys='k' | keys is a list, in order | give a list: keys=[...]"
    ),
    "keys can be gone through": rule(
        {"keys": []}, {"keys": 5}, "keys=5 | keys is a list, in order | give a list: keys=[...]"
    ),
    "order is several": rule(
        {"order": ("o",)},
        {"order": "o"},
        "order='o' | order is a list, in order | give a list: order=[...]",
    ),
    "aggregates are several": rule(
        {"aggregates": [F.sum("v")]},
        {"aggregates": F.sum("v")},
        f"aggregates={F.sum('v')!r} | aggregates is a list, in order | give a list: aggregates=[...]",
    ),
    "there is an aggregate": rule(
        {"aggregates": [F.sum("v")]},
        {"aggregates": []},
        "aggregates=() | a pane contains at least one aggregate | give one such as F.count()",
    ),
    "aggregates are aggregates": rule(
        {"aggregates": [F.sum("v")]},
        {"aggregates": ["sum(v)"]},
        "aggregates=['sum(v)'] | aggregates are made by panewise.functions | give one such as F.count()",
    ),
    "a window is a window": rule(
        {"window": Global()},
        {"window": "1 hour"},
        "window='1 hour' | a window is one of panewise's | give one such as Tumbling('1 minute')",
    ),
    "a trigger is a trigger": rule(
        {"trigger": Never()},
        {"trigger": None},
        "trigger=None | a trigger is one of panewise's | give one such as AfterWatermark(late=Always())",
    ),
    "a position is a position": rule(
        {"position": Position()},
        {"position": ("partition", "offset")},
        "position=('partition', 'offset') | a position is a Position | give Position(partition=..., "
        "offset=...)",
    ),
    "lateness is a duration": rule(
        {"allowed_lateness": "unlimited"},
        {"allowed_lateness": "forever"},
        (
            "allowed_lateness='forever' | a duration is a sum of whole numbers of units, from "
            "weeks to microseconds | give '90 seconds', '1 hour 30 minutes', 'PT1H30M', a "
            "timedelta, a Duration, or an int of microseconds"
        ),
    ),
    "a watermark is a watermark": rule(
        {"watermark": FixedLag(0)},
        {"watermark": "10 seconds"},
        "watermark='10 seconds' | a watermark that does not come from outside is one of panewise's "
        "| give one such as FixedLag('10 seconds'), or leave it out",
    ),
    "a stream time is that of keys or of all": Rule(
        lambda: StreamTime(per="all"),
        lambda: StreamTime(per="task"),  # type: ignore[arg-type]
        "per='task' | per is one of ('key', 'all') | give one of these",
    ),
    "a stream is idle for a time": Rule(
        lambda: StreamTime(per="all", idle_after=1),
        lambda: StreamTime(per="all", idle_after=0),
        "idle_after=0 | idle_after is above zero | give a idle_after such as '1 minute'",
    ),
    "a stream is idle as a whole": Rule(
        lambda: StreamTime(per="all", idle_after=5),
        lambda: StreamTime(idle_after=5),
        "idle_after='5 microseconds' with per='key' | a stream is idle as a whole: keys may fall silent at "
        "any time | give per='all'",
    ),
    "a column of inputs is named": Rule(
        lambda: Inputs(["a", "b"], column="s"),
        lambda: Inputs(["a", "b"], column=""),
        "column '' | columns are named by non-empty strings | give the column's name",
    ),
    "a delay of inputs needs a column": Rule(
        lambda: Inputs(["a", "b"], column="s", delay="1 s"),
        lambda: Inputs(["a", "b"], delay="1 s"),
        (
            "delay='1 s' without a column | a delay is for watermarks driven by rows, and these "
            "need the column that names the input of a row | give column='...', or leave delay "
            "out"
        ),
    ),
    "a delay of inputs is not negative": Rule(
        lambda: Inputs(["a", "b"], column="s", delay={"a": 0, "b": 1}),
        lambda: Inputs(["a", "b"], column="s", delay={"a": 0, "b": -1}),
        "delay=-1 | delay is not negative | give 0 or more",
    ),
    "delays are in a mapping": Rule(
        lambda: Inputs(["a", "b"], column="s", delay=0),
        lambda: Inputs(["a", "b"], column="s", delay=("a", 1)),  # type: ignore[arg-type]
        "delay={'a': None, 1: None} | a mapping has a delay for each of the inputs ['a', 'b'] "
        "| name all of them, and no others, or give one delay",
    ),
    "each input has a delay": Rule(
        lambda: Inputs(["a", "b"], column="s", delay={"a": 1, "b": 1}),
        lambda: Inputs(["a", "b"], column="s", delay={"a": 1, "c": 1}),
        "delay={'a': 1, 'c': 1} | a mapping has a delay for each of the inputs ['a', 'b'] "
        "| name all of them, and no others, or give one delay",
    ),
    "the event time names no input": rule(
        {"watermark": Inputs(["a", "b"], column="s")},
        {"watermark": Inputs(["a", "b"], column="event_time")},
        (
            "Inputs(column='event_time'), event_time='event_time' | the column that names the "
            "input of a row contains strings, and the event time is a timestamp | give the "
            "column that names the input"
        ),
    ),
    "processing time needs no column": by_processing_time(
        {}, {"event_time": "t"}, f"event_time='t' | {NO_EVENT_TIME}"
    ),
    "processing time is the watermark": by_processing_time(
        {},
        {"watermark": FixedLag(1)},
        f"watermark={FixedLag(1)!r} | with time='processing' the watermark is processing time",
    ),
    "processing time is not ahead": by_processing_time(
        {}, {"max_future_skew": 1}, f"max_future_skew={Duration(1)!r} | {NO_EVENT_TIME}"
    ),
    "panes tell no event time": by_processing_time(
        {"timestamp": "end"}, {"timestamp": "latest"}, f"timestamp='latest' | {NO_EVENT_TIME}"
    ),
    "nothing is late by processing time": by_processing_time(
        {"window": Custom(len, name="f"), "allowed_lateness": 1},
        {"allowed_lateness": 1},
        f"allowed_lateness=Duration('1 microsecond') | {NEVER_LATE}",
    ),
    "no row is late by processing time": by_processing_time(
        {}, {"drop_by": "row"}, f"drop_by='row' | {NEVER_LATE}"
    ),
    "names of panes differ": rule(
        {"aggregates": [F.sum("v"), F.avg("v")]},
        {"aggregates": [F.sum("v"), F.sum("v")]},
        f"'sum(v)' twice | {NAMES} | give aggregates an .alias(...), or rename the key column",
    ),
    "names of panes are not the operator's": rule(
        {"keys": ["op_"]},
        {"keys": ["op"]},
        f"'op' twice | {NAMES} | give aggregates an .alias(...), or rename the key column",
    ),
    "order or position": rule(
        {"position": Position()},
        {"position": Position(), "order": ["o"]},
        "order=('o',) and a position | a position is the arrival order (semantics 3) | leave one of them out",
    ),
    "by row with a lateness": rule(
        {"drop_by": "row", "allowed_lateness": 5},
        {"drop_by": "row", "allowed_lateness": "unlimited"},
        "drop_by='row', allowed_lateness='unlimited' | with unlimited lateness no row is ever late | "
        "leave drop_by out, or give a lateness",
    ),
    "a global window has no lateness": rule(
        {"window": Global(), "allowed_lateness": "unlimited"},
        {"window": Global(), "allowed_lateness": 1},
        (
            "Global(), allowed_lateness=1 microsecond | a global window has no end, so no row is "
            "late for it | leave allowed_lateness out"
        ),
    ),
    "on time at a watermark": rule(
        {"on_time": "always", "trigger": Repeatedly(AfterAny(AfterWatermark(), AfterCount(2)))},
        {"on_time": "always", "trigger": Always()},
        "on_time='always', trigger=Always() | only a trigger with AfterWatermark in it waits for the "
        "end of the window (semantics 21.4) "
        "| use AfterWatermark, or leave on_time out",
    ),
    "only what accumulates is updated": rule(
        {"only_updated": True, "accumulation": "accumulating"},
        {"only_updated": True, "accumulation": "retracting"},
        (
            "only_updated=True, accumulation='retracting' | only_updated is for accumulating "
            "panes; discarding panes contain only new rows, and retracting mode never repeats a "
            "pane | leave only_updated out, or use 'accumulating'"
        ),
    ),
    "an evictor is an evictor": rule(
        {"evictor": CountEvictor(3)},
        {"evictor": 3},
        "evictor=3 | an evictor is one of panewise's | give one such as CountEvictor(100)",
    ),
    "there is something to evict": rule(
        {"evictor": CountEvictor(3, after=True), "accumulation": "accumulating"},
        {"evictor": CountEvictor(3, after=True), "accumulation": "discarding"},
        (
            "evictor=CountEvictor(n=3, after=True), accumulation='discarding' | in discarding "
            "mode rows are purged after each pane, so none are left to evict (semantics 11.5) | "
            "leave after out, or use 'accumulating'"
        ),
    ),
    "a delta is of several": rule(
        {"delta": ["v"]}, {"delta": "v"}, "delta='v' | delta is a list, in order | give a list: delta=[...]"
    ),
    "a delta is of some columns": rule(
        {"delta": True},
        {"delta": []},
        (
            "delta=() | a delta has one or more columns, each once | name different columns, or "
            "give True for all"
        ),
    ),
    "a delta is of different columns": rule(
        {"delta": ["v", "w"]},
        {"delta": ["v", "v"]},
        (
            "delta=('v', 'v') | a delta has one or more columns, each once | name different "
            "columns, or give True for all"
        ),
    ),
    "a delta is an update": rule(
        {"delta": ["v"], "accumulation": "accumulating"},
        {"delta": ["v"], "accumulation": "accumulating", "only_updated": True},
        "only_updated=True, delta=('v',) | a pane with new rows in its delta is always an update "
        "(semantics 21.10) | leave one of them out",
    ),
    "the delta has a name of its own": rule(
        {"aggregates": [F.sum("v").alias("delta")]},
        {"aggregates": [F.sum("v").alias("delta")], "delta": True},
        f"'delta' twice | keys, aggregates and the pane's own columns {(*PANE_COLUMNS, 'delta')} have "
        "different names "
        "| give aggregates an .alias(...), or rename the key column",
    ),
    "strict about counts": rule(
        {"strict": True},
        {"strict": True, "trigger": AfterCount(3)},
        f"a top-level AfterCount(n=3) closes a window after its first pane | {LOSS} | {REPEAT}",
    ),
    "strict about the watermark": rule(
        {"strict": True, "trigger": AfterWatermark()},
        {"strict": True, "trigger": AfterWatermark(), "allowed_lateness": "1 s"},
        "AfterWatermark(early=None, late=None) without late= closes a window at its end, though "
        "allowed_lateness is 1 second "
        f"| {LOSS} | {REPEAT}",
    ),
}


@pytest.mark.parametrize(
    ("field", "accepted", "refused", "allowed"),
    [
        ("accumulation", "retracting", "sum", ("discarding", "accumulating", "retracting")),
        ("drop_by", "row", "pane", ("window", "row")),
        ("on_time", "always", "never", ("if_pending", "always")),
        ("closing", "always", "never", ("if_pending", "always")),
        ("evaluate", "record", "row", ("batch", "record")),
        ("null_keys", True, "no", (True, False)),
        ("time", "processing", "wall", ("event", "processing")),
        ("timestamp", "earliest", "first", (None, "end", "window_time", "earliest", "latest")),
    ],
)
def test_a_choice_is_one_of_those_named(field: str, accepted: Any, refused: Any, allowed: Any) -> None:
    message = f"{field}={refused!r} | {field} is one of {allowed} | give one of these"
    check(rule({field: accepted}, {field: refused}, message))


@pytest.mark.parametrize(
    ("obeys", "breaks", "column"),
    [
        ({"event_time": "t"}, {"event_time": ""}, ""),
        ({"keys": ["k"]}, {"keys": [1]}, 1),
        ({"order": ["o"]}, {"order": [None]}, None),
        ({"delta": ["v"]}, {"delta": ["v", 1]}, 1),
    ],
)
def test_columns_are_named(obeys: dict[str, Any], breaks: dict[str, Any], column: Any) -> None:
    message = f"column {column!r} | columns are named by non-empty strings | give the column's name"
    check(rule(obeys, breaks, message))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("allowed_lateness", lambda value: operator(allowed_lateness=value)),
        ("max_future_skew", lambda value: operator(max_future_skew=value)),
        ("lag", FixedLag),
        ("delay", StreamTime),
    ],
)
def test_durations_are_not_negative(name: str, make: Any) -> None:
    check(Rule(lambda: make(0), lambda: make(-1), f"{name}=-1 | {name} is not negative | give 0 or more"))


@pytest.mark.parametrize(
    ("obeys", "breaks"),
    [
        ({"names": ["a"], "column": "s"}, ["a"]),
        ({"names": ("a", "b")}, "ab"),
        ({"names": {"a": 1, "b": 2}}, [["a"], ["b"]]),
        ({"names": (name for name in "ab")}, 5),
        ({"names": ["a", "b"]}, ["a", "b", "a"]),
    ],
)
def test_inputs_are_two_or_more(obeys: dict[str, Any], breaks: Any) -> None:
    rule_of_inputs = "inputs are two or more (with a column one or more), with different names"
    message = f"names={breaks!r} | {rule_of_inputs} | give a list: Inputs(['a', 'b'])"
    check(Rule(lambda: Inputs(**obeys), lambda: Inputs(breaks), message))


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


@pytest.mark.parametrize(
    ("fields", "loses"),
    [
        ({}, False),
        ({"trigger": AfterCount(2)}, True),
        ({"trigger": AfterWatermark()}, False),
        ({"trigger": AfterWatermark(), "allowed_lateness": 1}, True),
        ({"trigger": AfterWatermark(), "allowed_lateness": "unlimited"}, True),
        ({"trigger": AfterAny(AfterWatermark(), Every(1))}, False),
        ({"trigger": AfterAny(AfterWatermark(), Every(1)), "allowed_lateness": 1}, True),
        ({"trigger": OrFinally(Every(1), AfterCount(5))}, True),
        ({"trigger": Repeatedly(AfterCount(5))}, False),
        ({"trigger": AfterWatermark(late=Never()), "allowed_lateness": 1}, False),
        ({"trigger": Every(1), "allowed_lateness": 1}, False),
    ],
)
def test_data_loss_is_warned_of_once(fields: dict[str, Any], loses: bool) -> None:
    """semantics 19: a trigger that can lose data warns once, or raises with `strict=True`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = operator(**fields)
    assert [warning.category for warning in caught] == [DataLossWarning] * loses
    assert (data_loss_reason(spec) is not None) == loses
    if loses:
        assert str(caught[0].message).startswith(f"{data_loss_reason(spec)} | {LOSS} | {REPEAT} [PW-")
        assert caught[0].filename == __file__
        with pytest.raises(SpecError):
            operator(**fields, strict=True)


def test_columns_read_are_each_named_once() -> None:
    spec = operator(
        keys=["k", "shop"],
        event_time="t",
        position=Position("p", "o", "s"),
        aggregates=[F.sum("v"), F.avg("v"), F.count(), F.first("k")],
    )
    assert spec.columns_read == ("k", "shop", "t", "s", "p", "o", "v")
    assert operator(order=["event_time", "z"]).columns_read == ("event_time", "z")
    assert operator(evictor=DeltaEvictor("d", 1), delta=["v", "d"]).columns_read == ("event_time", "d", "v")


def test_position_columns() -> None:
    assert Position().columns == ("partition", "offset")
    assert Position(source="topic").columns == ("topic", "partition", "offset")


def test_lateness_in_microseconds() -> None:
    assert operator().lateness_us == 0
    assert operator(allowed_lateness="1 ms").lateness_us == 1000
    assert operator(allowed_lateness="unlimited").lateness_us is None


def test_specifications_are_values() -> None:
    one, other = (
        operator(keys=["k"], allowed_lateness="1 s"),
        operator(keys=("k",), allowed_lateness=Duration(1_000_000)),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != operator(keys=["k"])
    assert "allowed_lateness=Duration('1 second')" in repr(one)
    with pytest.raises(AttributeError):
        one.keys = ()  # type: ignore[misc]


@pytest.mark.parametrize("window", [Session(5), Cumulating(10, 5), Global()])
def test_the_default_trigger_loses_nothing(window: Any) -> None:
    assert data_loss_reason(operator(window=window)) is None


@pytest.mark.parametrize(("delta", "lists"), [(True, ("a", "b")), (["a"], ("a",)), (False, False)])
def test_a_delta_of_whole_rows_lists_the_columns_of_the_user(delta: Any, lists: Any) -> None:
    spec = WindowOperator(window=Global(), aggregates=[F.count()], delta=delta)
    assert parts(spec).with_whole_rows(spec, ("a", "b")).delta == lists
