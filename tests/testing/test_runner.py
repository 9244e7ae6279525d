"""The runner: which events it accepts, how it reads rows, and what its outputs contain."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from panewise import Global, Inputs, Position, Session, SpecError, StreamTime, Tumbling, WindowOperator
from panewise import functions as F
from panewise import left as of_left
from panewise import right as of_right
from panewise.errors import InputError
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side
from panewise.streamwindow import StreamWindow, count
from panewise.testing import result_of, run

NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - the point of it
RUNTIMES = pytest.mark.parametrize("runtime", ["oracle", "engine"])
SPEC = WindowOperator(
    window=Tumbling(10), keys=["k"], null_keys=False, aggregates=[F.sum("v").alias("total")]
)
COUNTS = {"rows_in": 0, "applied": 0, "replays": 0, "late": 0, "invalid": 0, "partially_late": 0}
NOTHING = {"panes": [], "late": [], "invalid": [], "counts": COUNTS}


def add(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"op": "add", "rows": list(rows)}


@RUNTIMES
def test_outputs_have_every_field(runtime: str) -> None:
    late, bad = {"k": "a", "event_time": 3, "v": 1, "note": "x"}, {"k": None, "event_time": 3, "v": 1}
    events = [
        {"op": "clock", "to": 7},
        add({"k": "a", "event_time": 1, "v": 5}),
        {"op": "watermark", "to": 10},
        add(late, bad),
        {"op": "finish"},
    ]
    outputs = run(SPEC, events, runtime, windows=True)
    pane = {
        "k": "a",
        "window_start": 0,
        "window_end": 10,
        "total": 5,
        "timing": "ON_TIME",
        "index": 0,
        "nonspeculative_index": 0,
        "is_first": True,
        "is_last": True,
        "op": "+",
        "processing_time": 7,
    }
    assert outputs == [
        {**NOTHING, "windows": []},
        {**NOTHING, "counts": COUNTS | {"rows_in": 1, "applied": 1}, "windows": [window(pending=1)]},
        {**NOTHING, "panes": [pane], "windows": []},
        {
            "panes": [],
            "late": [
                {"row": late, "reason": "expired", "windows": [[0, 10]], "late_by": 7, "partial": False}
            ],
            "invalid": [{"row": bad, "reason": "key k is null (null_keys=False)"}],
            "counts": COUNTS | {"rows_in": 2, "late": 1, "invalid": 1},
            "windows": [],
        },
        {**NOTHING, "windows": []},
    ]


def window(**fields: Any) -> dict[str, Any]:
    return {"k": "a", "window_start": 0, "window_end": 10, "pending": 0, "closed": False, **fields}


@RUNTIMES
def test_stream_time_takes_no_watermark(runtime: str) -> None:
    """semantics 12.8: with `StreamTime` a watermark from outside is refused."""
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count()], watermark=StreamTime())
    with pytest.raises(
        InputError,
        match=r"a watermark from outside \| with StreamTime rows drive the watermark .* \| add rows",
    ):
        run(spec, [add({"event_time": 1}), {"op": "watermark", "to": 5}], runtime)


@RUNTIMES
def test_processing_time_takes_no_watermark(runtime: str) -> None:
    """semantics 6.8: with `time="processing"` a watermark from outside is refused."""
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count()], time="processing")
    with pytest.raises(InputError) as caught:
        run(spec, [add({"v": 1}), {"op": "watermark", "to": 5}], runtime)
    assert caught.value.args[0] == (
        "a watermark from outside | with time='processing' the watermark is processing time (semantics 6.8) "
        "| give {'op': 'clock', 'to': ...}"
    )


@RUNTIMES
@pytest.mark.parametrize(
    ("given", "event", "message"),
    [
        (
            Inputs(["a", "b"]),
            {},
            "the input None | the inputs are ['a', 'b'] | name the input as in watermark=Inputs([...])",
        ),
        (Inputs(["a", "b"]), {"input": "c"}, "a watermark of the input 'c' | the inputs are ['a', 'b']"),
        (None, {"input": "a"}, "a watermark of the input 'a' | the operator has one input, without a name"),
    ],
)
def test_a_watermark_names_its_input(
    runtime: str, given: Inputs | None, event: dict[str, Any], message: str
) -> None:
    """semantics 12.5: with `Inputs` a watermark names one of the inputs, otherwise none."""
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count()], watermark=given)
    with pytest.raises(InputError, match=re.escape(message)):
        run(spec, [{"op": "watermark", "to": 5, **event}], runtime)


@RUNTIMES
def test_no_watermark_comes_from_outside_where_rows_drive_it(runtime: str) -> None:
    """semantics 12.9: where rows drive the watermarks of inputs, a watermark from outside is refused."""
    spec = WindowOperator(
        window=Tumbling(10), aggregates=[F.count()], watermark=Inputs(["a", "b"], column="s")
    )
    message = (
        "a watermark from outside | with Inputs(column=...) rows drive the watermarks of "
        "their inputs (semantics 12.9) | add rows"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        run(spec, [{"op": "watermark", "to": 5, "input": "a"}], runtime)


@RUNTIMES
def test_the_dict_form_and_restarts(runtime: str) -> None:
    document = {"window": {"kind": "global"}, "aggregates": [{"fn": "count", "name": "n"}]}
    outputs = run(
        document,
        [add({"event_time": 1}), {"op": "restart"}, add({"event_time": 2}), {"op": "finish"}],
        runtime,
    )
    assert outputs[1] == NOTHING
    assert [(pane["n"], pane["window_start"], pane["window_end"]) for pane in outputs[3]["panes"]] == [
        (2, None, None)
    ]


@RUNTIMES
@pytest.mark.parametrize("declared", [None, Position("p", "o"), Position("p", "o", "s")])
def test_positions_are_spread_over_columns(runtime: str, declared: Position | None) -> None:
    """semantics 3, 4, 4.1: positions decide the arrival order, replays, and which rows are invalid.

    Invalid rows are returned as they were given.
    """
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.first("v").alias("first")], position=declared)
    rows = [
        {"event_time": 1, "v": n, "position": position}
        for n, position in enumerate([[0, 2], [0, 1], [0, 1], [0, None]])
    ]
    outputs = run(spec, [add(*rows), {"op": "finish"}], runtime)
    assert outputs[0]["invalid"] == [{"row": rows[3], "reason": "position is null"}]
    assert outputs[0]["counts"] == COUNTS | {"rows_in": 4, "applied": 2, "replays": 1, "invalid": 1}
    assert outputs[1]["panes"][0]["first"] == 1


@RUNTIMES
def test_positions_of_several_sources(runtime: str) -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])
    rows = [
        {"event_time": 1, "position": position}
        for position in (["one", 0, 0], ["other", 0, 0], [0, 0], ["one", 0, 0])
    ]
    assert run(spec, [add(*rows)], runtime)[0]["counts"] == COUNTS | {
        "rows_in": 4,
        "applied": 3,
        "replays": 1,
    }


@RUNTIMES
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"event_time": None}, "event time is null"),
        ({"event_time": "x"}, "event time is not a timestamp"),
        ({"event_time": 1.0}, "event time is not a timestamp"),
        ({"event_time": True}, "event time is not a timestamp"),
        ({"event_time": 2**63}, "event time out of range"),
        ({"event_time": -(2**63)}, "event time out of range"),
        ({"event_time": "x", "k": None}, "event time is not a timestamp"),
        ({"k": None, "v": "x"}, "key k is null (null_keys=False)"),
        ({"k": 1, "v": "x"}, "k has the wrong type"),
        ({"k": 1, "level": None}, "key level is null (null_keys=False)"),
        ({"k": 1, "level": "x"}, "k has the wrong type"),
        ({"k": 1, "level": float("nan")}, "key level is NaN (null_keys=False)"),
        ({"k": None, "level": float("nan")}, "key k is null (null_keys=False)"),
        ({"k": "a", "level": float("nan"), "o": None}, "key level is NaN (null_keys=False)"),
        ({"k": 1, "o": None}, "position is null"),
        ({"k": 1, "o": "x"}, "k has the wrong type"),
        ({"p": "x", "o": "x"}, "p has the wrong type"),
        ({"o": 2**63}, "o has the wrong type"),
        ({"v": 2**63}, "v has the wrong type"),
        ({"v": True, "event_time": 99}, "v has the wrong type"),
        ({"event_time": 6}, "event time is too far ahead"),
    ],
)
def test_reasons_come_in_order(runtime: str, row: dict[str, Any], reason: str) -> None:
    """semantics 15: an invalid row has the first reason in the documented order."""
    types = {"k": "string", "level": "double", "p": "bigint", "v": "bigint"}
    spec = WindowOperator(
        window=Tumbling(10),
        keys=["k", "level"],
        null_keys=False,
        aggregates=[F.sum("v").alias("total")],
        position=Position("p", "o"),
        max_future_skew=5,
    )
    given = {"k": "a", "level": 1.0, "event_time": 1, "p": 0, "o": 0, "v": 1} | row
    output = run(spec, [add(given)], runtime, types=types)[0]
    assert [entry["reason"] for entry in output["invalid"]] == [reason]
    assert output["invalid"][0]["row"] is not given
    assert repr(output["invalid"][0]["row"]) == repr(given)


@RUNTIMES
def test_decimals(runtime: str) -> None:
    spec = WindowOperator(window=Global(), aggregates=[F.sum("v").alias("total"), F.max("v").alias("most")])
    rows = [{"event_time": 1, "v": Decimal(text)} for text in ("1.5", "2.25")]
    pane = run(spec, [add(*rows), {"op": "finish"}], runtime)[1]["panes"][0]
    assert (pane["total"], pane["most"]) == (Decimal("3.75"), Decimal("2.25"))


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            ["add"],
            (
                "events[0]='add' | an event has an op of ['add', 'change', 'clock', 'finish', 'restart', "
                "'watermark'] | give {'op': ..., ...}"
            ),
        ),
        (
            [{"op": "flush"}],
            (
                "events[0]={'op': 'flush'} | an event has an op of ['add', 'change', 'clock', 'finish', "
                "'restart', 'watermark'] | give {'op': ..., ...}"
            ),
        ),
        (
            [{"op": "add"}],
            (
                "events[0] lacks the field 'rows': {'op': 'add'} | the fields of 'add' are ['rows'] | give "
                "'rows'"
            ),
        ),
        (
            [{"op": "finish"}, {"op": "clock", "to": 1, "at": 2}],
            (
                "events[1] has a field 'at': {'op': 'clock', 'to': 1, 'at': 2} | the fields of 'clock' are "
                "['to'] | leave 'at' out"
            ),
        ),
        (
            [{"op": "clock", "to": 1.5}],
            (
                "events[0].to=1.5 | an instant is a whole number of microseconds of 64 bits, or a datetime "
                "| give an int, or a datetime with a time zone"
            ),
        ),
        (
            [{"op": "add", "rows": [1]}],
            "events[0].rows=[1] | rows are a list of dicts | give [{'event_time': ..., ...}, ...]",
        ),
        (
            [add({1: 1})],
            "events[0].rows has a column 1 | columns are named by strings | rename the column",
        ),
        (
            [add({"k": "a", "event_time": 1})],
            (
                "no row has a column 'v' | the specification reads ['k', 'event_time', 'v'] | give it in a "
                "row, null in all of them, or in types"
            ),
        ),
        (
            [{"op": "finish"}, add()],
            ("rows after finish | nothing is added after the end of input | add the rows before finish"),
        ),
        (
            [add({"k": "a", "event_time": 1, "v": 1, "position": [1]})],
            (
                "positions of [1] items | a position is [partition, offset], or [source, partition, "
                "offset] where a source column "
                "is declared | give such lists"
            ),
        ),
    ],
)
def test_malformed_events_are_refused(events: list[Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(SPEC, events)
    assert caught.value.args[0] == message


def test_a_position_is_given_once() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count()], position=Position("p", "o"))
    with pytest.raises(InputError) as caught:
        run(spec, [add({"event_time": 1, "p": 0, "position": [0, 0]})])
    assert caught.value.rule == "a row gives its position once, as a list or in its columns"
    with pytest.raises(InputError, match=r"positions of \[3\] items"):
        run(spec, [add({"event_time": 1, "position": ["s", 0, 0]})])


def test_order_columns_and_positions_do_not_go_together() -> None:
    spec = WindowOperator(window=Session(10), aggregates=[F.count()], order=["o"])
    with pytest.raises(SpecError, match="a position is the arrival order"):
        run(spec, [add({"event_time": 1, "o": 1, "position": [0, 0]})])


def test_runtimes_and_options_are_known() -> None:
    with pytest.raises(InputError) as caught:
        run(SPEC, [], "flink")
    runtimes = "['oracle', 'engine', 'standalone', 'spark']"
    assert caught.value.args[0] == f"runtime='flink' | the runtimes are {runtimes} | give one of these"
    for runtime, known in {"oracle": [], "engine": ["stored"]}.items():
        rule = f"the options of this runtime are {known}"
        with pytest.raises(InputError) as caught:
            run(SPEC, [], runtime, shards=2)
        assert caught.value.args[0] == f"options=['shards'] | {rule} | leave them out"


def test_types_are_known() -> None:
    with pytest.raises(InputError) as caught:
        run(SPEC, [], types={"v": "integer"})
    simple = "tinyint, smallint, int, bigint, float, double, string, boolean, date, timestamp, "
    simple += "timestamp_ntz, binary, decimal(p,s) with s <= p <= 38"
    rule = f"a type is {simple}, array<T>, struct<name:T> or map<K,V>"
    assert caught.value.args[0] == f"type='integer' | {rule} | give one of these"


@RUNTIMES
def test_the_result_of_one_aggregate(runtime: str) -> None:
    rows = [{"v": 2}, {"v": 9}, {"v": None}]
    assert result_of(F.top_n("v", 2), rows, runtime) == [9, 2]
    assert result_of(F.sum("v"), rows, runtime, types={"v": "double"}) == 11.0
    assert result_of(F.sum("row"), iter([{"row": 5}, {"row": 7}]), runtime) == 12


@RUNTIMES
def test_a_result_is_that_of_all_rows(runtime: str) -> None:
    """A row that is not valid is not left out, and a window without rows has no result."""
    with pytest.raises(InputError, match=r"^no row \| .* \| give a row"):
        result_of(F.sum("v"), [], runtime)
    for rows in ([{"v": 1}, {"v": "x"}], [{"v": 1}, {"v": 2**63}]):
        with pytest.raises(InputError, match=r"^the row \{'v': .*\}: v has the wrong type \|"):
            result_of(F.sum("v"), rows, runtime)


@RUNTIMES
def test_instants_may_be_datetimes(runtime: str) -> None:
    """Late rows are returned as they were given. All other instants in outputs are microseconds."""
    noon = datetime(1970, 1, 1, 12, tzinfo=UTC)
    spec = WindowOperator(window=Tumbling("1 hour"), aggregates=[F.count().alias("n")])
    row, late = {"event_time": noon}, {"event_time": noon.astimezone(timezone(timedelta(hours=2)))}
    hour = timedelta(hours=1)
    events = [add(row), {"op": "clock", "to": noon}, {"op": "watermark", "to": noon + hour}, add(late)]
    outputs = run(spec, events, runtime)
    [pane] = outputs[2]["panes"]
    assert (pane["window_start"], pane["n"], pane["processing_time"]) == (43_200_000_000, 1, 43_200_000_000)
    assert outputs[3]["late"][0]["row"] == late
    assert outputs[3]["late"][0]["row"]["event_time"].tzinfo == late["event_time"].tzinfo


@RUNTIMES
@pytest.mark.parametrize(
    ("event", "given"),
    [
        (add({"event_time": NAIVE, "k": "a", "v": 1}), "event_time=datetime.datetime(2024, 1, 1, 0, 0)"),
        ({"op": "watermark", "to": NAIVE}, "events[0].to=datetime.datetime(2024, 1, 1, 0, 0)"),
    ],
)
def test_a_datetime_without_a_zone_is_no_instant(event: dict[str, Any], given: str, runtime: str) -> None:
    """semantics 1: a naive datetime is refused."""
    with pytest.raises(InputError) as caught:
        run(SPEC, [event], runtime)
    assert (
        caught.value.args[0]
        == f"{given} | an instant has a time zone (semantics 1) | give tzinfo=UTC, or an int of microseconds"
    )


@RUNTIMES
def test_types_may_name_columns_that_no_row_has(runtime: str) -> None:
    """semantics 31.28"""
    known = {"k": "string", "event_time": "bigint", "v": "bigint", "note": "string"}
    run(SPEC, [add({"k": "a", "event_time": 1, "v": 1, "note": None})], runtime, types=known)
    run(SPEC, [add({"k": "a", "event_time": 1, "v": 1})], runtime, types={"value": "bigint"})
    events = [add({"k": "a", "event_time": 1}), {"op": "finish"}]
    [pane] = run(SPEC, events, runtime, types={"v": "double"})[-1]["panes"]
    assert pane["total"] is None


@RUNTIMES
def test_a_partition_may_be_evicted_before_any_row(runtime: str) -> None:
    """semantics 10.23: evicting a partition that does not exist has no effect."""
    spec = StreamWindow.sliding(count(2), count(1), partition_by=["k"])
    evict: dict[str, Any] = {"op": "evict", "partition": {"k": "a"}}
    assert run(spec, [evict], runtime) == [NOTHING]
    first, _, last = run(spec, [evict, add({"k": "a"}), evict], runtime)
    assert first == NOTHING
    assert [pane["event"] for pane in last["panes"]] == ["PARTITION_EVICTION"]


# Operators with several inputs

JOIN = JoinOperator(
    left=Side(keys=["k"], event_time="t", position=Position()),
    right=Side(keys=["k"], event_time="u", position=Position(source="s", partition="p", offset="o")),
    match=Interval(0, 5),
)


def test_events_of_a_join_name_its_sides() -> None:
    """semantics 36, 4: rows of one side or of both; a row gives its position on either side."""
    events = [
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 2, "position": [0, 7]}]},
        {
            "op": "add",
            "rows": {
                "right": [
                    {"k": 1, "u": 3, "position": ["x", 0, 7]},
                    {"k": 1, "u": None, "position": ["x", 0, 8]},
                ],
                "left": [{"k": 1, "t": 2, "position": [0, 7]}],
            },
        },
        {"op": "watermark", "input": "left", "to": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 2, "position": [0, 8]}]},
        {"op": "restart"},
    ]
    outputs = run(JOIN, events, windows=True)
    one = dict.fromkeys(COUNTS, 0) | {"rows_in": 1}
    assert [output["counts"] for output in outputs] == [
        {"left": {**one, "applied": 1}},
        {"left": {**one, "replays": 1}, "right": {**one, "rows_in": 2, "applied": 1, "invalid": 1}},
        {},
        {"left": {**one, "late": 1}},
        {},
    ]
    place = {"s": "x", "p": 0, "o": 7}
    assert outputs[1]["panes"] == [
        {
            "k": 1,
            "t": 2,
            "partition": 0,
            "offset": 7,
            "u": 3,
            **place,
            "op": "+",
            "missing": None,
            "join_time": 3,
        }
    ]
    invalid = {
        "row": {"k": 1, "u": None, "position": ["x", 0, 8]},
        "reason": "event time is null",
        "input": "right",
    }
    assert outputs[1]["invalid"] == [invalid]
    [late] = outputs[3]["late"]
    assert (late["input"], late["row"]["position"], late["late_by"]) == ("left", [0, 8], 999_998)
    assert [window["window_start"] for window in outputs[-1]["windows"]] == [2]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            {"op": "add", "rows": []},
            "events[0].input=None | with several inputs an event names its input, one of",
        ),
        ({"op": "add", "side": "left", "rows": []}, "events[0] has a field 'side'"),
        ({"op": "add", "rows": {"top": []}}, "events[0].rows: input='top' | with several inputs"),
        ({"op": "add", "rows": {"left": 5}}, "events[0].rows['left']=5 | rows are a list of dicts"),
        ({"op": "watermark", "to": 5, "input": "top"}, "events[0].input='top' | with several inputs"),
        ({"op": "finish", "input": None}, "events[0].input=None | with several inputs"),
        ({"op": "clock", "to": 5, "input": "left"}, "events[0] has a field 'input'"),
    ],
)
def test_other_names_of_sides_are_refused(event: dict[str, Any], message: str) -> None:
    """semantics 36: an event of a join names "left" or "right" in its field `input`."""
    with pytest.raises(InputError, match=re.escape(message)):
        run(JOIN, [event])


def test_a_side_whose_rows_drive_its_watermark_takes_none() -> None:
    """semantics 36.1, 36.2: a watermark from outside is for the other side only, or for none."""
    own = replace(JOIN, left=replace(JOIN.left, watermark=StreamTime(per="all")))
    run(own, [{"op": "watermark", "input": "right", "to": 5}])
    for spec, named in (
        (own, {"input": "left"}),
        (own, {}),
        (replace(JOIN, watermark=StreamTime(per="all")), {}),
    ):
        with pytest.raises(
            InputError, match=r"a watermark from outside, of 'left' \| with StreamTime rows drive"
        ):
            run(spec, [{"op": "watermark", "to": 5, **named}])


def test_a_side_without_event_times_takes_no_watermark() -> None:
    """semantics 36.13."""
    spec = JoinOperator(left=Side(event_time=None), right=Side(event_time=None), match=Latest())
    with pytest.raises(
        InputError, match=r"of 'right' \| rows of a side without event times have no watermark"
    ):
        run(spec, [{"op": "watermark", "input": "right", "to": 5}])


def test_the_end_of_a_side() -> None:
    """semantics 36.4: nothing is added to a side after its end."""
    ended = {"op": "finish", "input": "left"}
    run(JOIN, [ended, {"op": "add", "input": "right", "rows": []}, {"op": "finish"}])
    for rows in ({"input": "left", "rows": []}, {"rows": {"left": [], "right": []}}):
        for runtime in ("oracle", "engine", "standalone"):
            with pytest.raises(InputError, match=r"rows of .* after finish \| nothing is added after"):
                run(JOIN, [ended, {"op": "add", **rows}], runtime)


def test_positions_of_a_side_are_declared() -> None:
    """semantics 4: with several inputs the specification says which of them have source positions."""
    plain = replace(JOIN, right=replace(JOIN.right, position=None))
    rows = [{"k": 1, "u": 3, "position": [0, 7]}]
    with pytest.raises(InputError, match=r"a position in rows of 'right' \| .* \| declare it"):
        run(plain, [{"op": "add", "input": "right", "rows": rows}])
    with pytest.raises(InputError, match=r"positions of \[3\] items"):
        run(JOIN, [{"op": "add", "input": "left", "rows": [{"k": 1, "t": 3, "position": ["x", 0, 7]}]}])


@pytest.mark.parametrize("runtime", ["oracle", "engine", "standalone"])
@pytest.mark.parametrize("right_rows", [None, [], [{"k": None, "t": 1}]])
def test_a_side_without_values_has_the_types_of_the_other(right_rows: Any, runtime: str) -> None:
    """semantics 31.28"""
    side = Side(keys=["k"], event_time="t")
    spec = JoinOperator(
        left=side,
        right=replace(side, prefix="r_"),
        match=Interval(0, 5),
        how="left",
        condition=of_left("a") <= of_right("b"),
    )
    events = [{"op": "add", "input": "left", "rows": [{"k": "a", "t": 1, "a": Decimal("1.50")}]}]
    if right_rows is not None:
        events.append({"op": "add", "input": "right", "rows": [{**row, "b": None} for row in right_rows]})
    *_, last = run(spec, [*events, {"op": "finish"}], runtime)
    assert [row["k"] for row in last["panes"]] == ["a"]
    types: Any = {"right": {"k": "bigint"}}
    with pytest.raises(SpecError):
        run(spec, events, runtime, types=types)


@pytest.mark.parametrize("runtime", ["oracle", "engine", "standalone"])
def test_live_rows_of_a_join_name_their_side(runtime: str) -> None:
    """semantics 31.29"""
    events = [
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 3}]},
        {"op": "add", "input": "right", "rows": [{"id": 2, "u": 2}]},
    ]
    sides: Any = {"left": Side(keys=["k"], event_time="t"), "right": Side(keys=["id"], event_time="u")}
    spec = JoinOperator(**sides, match=Interval(-5, 5), how="full")
    found = run(spec, events, runtime, windows=True)[-1]["windows"]
    assert [(row["input"], row["k"], row["window_start"]) for row in found] == [
        ("right", 2, 2),
        ("left", 1, 3),
    ]


@RUNTIMES
@pytest.mark.parametrize("value", [np.array([1, 2]), pl.Series([1, 2])], ids=["array", "series"])
def test_an_array_is_of_another_type(value: Any, runtime: str) -> None:
    """Also for a column of lists (semantics 15.34)."""
    for name in ("k", "event_time", "v"):
        row = {"k": "a", "event_time": 1, "v": 1, name: value}
        played = run(SPEC, [{"op": "add", "rows": [{"k": "a", "event_time": 1, "v": 1}, row]}], runtime)
        assert [entry["reason"] for entry in played[0]["invalid"]]
    lists = replace(SPEC, aggregates=[F.collect_list("v").alias("all")])
    added = {"op": "add", "rows": [{"k": "a", "event_time": 1, "v": value}]}
    assert run(lists, [added], runtime, types={"v": "array<bigint>"})[0]["counts"]["invalid"] == 1


@pytest.mark.parametrize("wrong", [5, "abc", [("v", "bigint")]])
def test_types_are_a_dict(wrong: Any) -> None:
    with pytest.raises(InputError, match="types are a dict"):
        run(SPEC, [], types=wrong)


def test_events_and_rows_are_lists() -> None:
    with pytest.raises(InputError, match="events are a list"):
        run(SPEC, None)  # type: ignore[arg-type]
    for wrong in (None, "abc"):
        with pytest.raises(InputError, match="rows are a list"):
            result_of(F.sum("v"), wrong)  # type: ignore[arg-type]
