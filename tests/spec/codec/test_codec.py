"""Specifications as dicts and JSON: what is written is read back, and what is unknown is refused by name."""

import json
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    CountEvictor,
    Custom,
    DataLossWarning,
    DeltaEvictor,
    FixedLag,
    Hopping,
    MaxWindows,
    Position,
    Session,
    Sliding,
    SpecError,
    TimeEvictor,
    Tumbling,
    WindowOperator,
    rows,
)
from panewise import functions as F
from panewise.errors import SpecWarning
from panewise.spec import Frame, Inputs, OverColumn, OverOperator, RowFunction
from panewise.spec.aggregates.aggregate import FUNCTIONS
from panewise.spec.codec import changed_fields, from_dict, from_json, to_dict, to_json
from panewise.spec.triggers.composite import Composite
from panewise.spec.triggers.simple import Leaf
from panewise.testing.cogroups import IN_ORDER, SURPLUS
from panewise.testing.policy_specs import COUNTING, EVICTING
from panewise.testing.samples import ALL_TEXT, COSTS, GAP_WINDOWS, TEXTS, USER_AGGREGATES, USER_WINDOWS
from tests.drawn import FAMILIES
from tests.engine.effort import examples

AGGREGATES = {**USER_AGGREGATES, IN_ORDER.name: IN_ORDER, SURPLUS.name: SURPLUS}
LISTENERS = {COUNTING.name: COUNTING, EVICTING.name: EVICTING}
SMALL: dict[str, Any] = {
    "window": {"kind": "tumbling", "size": 10},
    "aggregates": [{"fn": "count", "name": "n"}],
}
PLAIN = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])

OTHER_VALUES: dict[str, Any] = {
    "window": Tumbling(10, origin=1),
    "aggregates": [F.count().alias("m")],
    "keys": ["k"],
    "event_time": "t",
    "trigger": AfterWatermark(early=Always(), late=Always()),
    "accumulation": "retracting",
    "allowed_lateness": 7,
    "drop_by": "row",
    "order": ["o"],
    "position": Position("p", "o", "s"),
    "null_keys": True,
    "max_future_skew": 0,
    "on_time": "always",
    "closing": "always",
    "evaluate": "record",
    "only_updated": True,
    "timestamp": "latest",
    "evictor": CountEvictor(3),
    "delta": ["v", "w"],
    "watermark": FixedLag(7),
    "time": "processing",
    "max_windows": MaxWindows(3, when_full="stop"),
}


@pytest.mark.parametrize("family", FAMILIES)
@examples(100)
@given(data=st.data())
def test_round_trips(family: str, data: st.DataObject) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        spec = data.draw(FAMILIES[family]())
        assert from_json(to_json(spec), AGGREGATES, USER_WINDOWS, LISTENERS) == spec
        assert from_json(to_json(spec, indent=2).encode(), AGGREGATES, USER_WINDOWS, LISTENERS) == spec
        again = from_dict(json.loads(json.dumps(to_dict(spec))), AGGREGATES, USER_WINDOWS, LISTENERS)
        assert changed_fields(to_dict(spec), to_dict(again)) == []
    assert again == spec
    assert to_dict(again) == to_dict(spec)


@pytest.mark.parametrize(
    ("window", "written"),
    [
        (Tumbling(rows(3), 1), {"kind": "tumbling", "size": {"rows": 3}, "origin": 1}),
        (
            Hopping(rows(3), rows(1)),
            {
                "kind": "hopping",
                "size": {"rows": 3},
                "hop": {"rows": 1},
                "origin": 0,
                "gaps": False,
                "only_when_full": False,
            },
        ),
        (Session(rows(3)), {"kind": "session", "gap": {"rows": 3}, "touching": "separate", "closed": "left"}),
    ],
)
def test_windows_of_rows(window: Any, written: dict[str, Any]) -> None:
    spec = WindowOperator(window=window, aggregates=[F.count()])
    assert to_dict(spec)["window"] == written
    assert to_dict(spec)["event_time"] is None
    assert from_dict(to_dict(spec)) == spec
    assert from_dict({"window": written, "aggregates": [{"fn": "count"}]}) == spec
    older = {name: value for name, value in written.items() if name not in ("only_when_full", "closed")}
    assert changed_fields({**to_dict(spec), "window": older}, to_dict(spec)) == []
    without = {name: value for name, value in to_dict(spec).items() if name != "event_time"}
    assert changed_fields(without, to_dict(spec)) == []
    assert changed_fields(to_dict(spec), {**without, "event_time": "t"}) == ["event_time"]


def test_window_functions_are_written_by_name() -> None:
    spec = WindowOperator(window=GAP_WINDOWS, aggregates=[F.count()])
    written = to_dict(spec)
    assert written["window"] == {"kind": "custom", "name": "holds", "columns": ["gap"], "merge": False}
    read = from_dict(
        {**written, "window": {**written["window"], "merge": "touching"}}, user_windows={"holds": GAP_WINDOWS}
    ).window
    assert isinstance(read, Custom)
    assert (read.function, read.columns, read.merge) == (GAP_WINDOWS.function, ("gap",), "touching")
    with pytest.raises(SpecError) as caught:
        from_dict(written, user_windows={"other": GAP_WINDOWS})
    assert caught.value.args[0] == (
        "window.name='holds' | the user-defined windows that are given are ['other'] | give "
        "user_windows={'holds': ...}"
    )
    assert changed_fields(written, to_dict(PLAIN)) == ["window", "aggregates"]


@pytest.mark.parametrize("name", [field.name for field in fields(WindowOperator)])
def test_every_field_is_written_and_read(name: str) -> None:
    values: dict[str, Any] = {"window": Tumbling(10), "aggregates": [F.count().alias("n")]}
    if name == "only_updated":
        values["accumulation"] = "accumulating"  # only_updated needs this mode
    if name == "trigger":
        values["on_time"] = "if_pending"  # the default depends on the trigger
    if name == "keys":
        values["null_keys"] = False  # the default is True where there are keys
    plain, other = WindowOperator(**values), WindowOperator(**{**values, name: OTHER_VALUES[name]})
    assert changed_fields(to_dict(plain), to_dict(other)) == [name]
    assert from_dict(to_dict(other)) == other != plain
    assert from_dict({**to_dict(plain), name: to_dict(other)[name]}) == other


def test_the_default_of_on_time_is_written_out() -> None:
    """semantics 21.4: the default is resolved when the specification is built, and is written to JSON.

    A dict without the field is read with the default.
    """
    trigger = AfterWatermark(early=AfterCount(2))
    early = WindowOperator(window=Tumbling(10), aggregates=[F.count()], trigger=trigger)
    written = to_dict(early)
    assert (written["on_time"], to_dict(PLAIN)["on_time"]) == ("always", "if_pending")
    left_out = {name: value for name, value in written.items() if name != "on_time"}
    assert from_dict(left_out) == early
    assert changed_fields(left_out, written) == []
    assert changed_fields({**written, "on_time": "if_pending"}, left_out) == ["on_time"]


@pytest.mark.parametrize(
    ("window", "accumulation"),
    [(Tumbling(10), "accumulating"), (Session(10), "accumulating"), (Sliding(rows(3)), "discarding")],
)
def test_the_default_of_accumulation_is_written_out(window: Any, accumulation: str) -> None:
    """semantics 21: the default is resolved when the specification is built, and is written to JSON."""
    spec = WindowOperator(window=window, aggregates=[F.count()])
    written = to_dict(spec)
    assert (spec.accumulation, written["accumulation"]) == (accumulation, accumulation)
    left_out = {name: value for name, value in written.items() if name != "accumulation"}
    assert from_dict(left_out) == spec
    assert changed_fields(left_out, written) == []
    assert from_dict({**written, "accumulation": "discarding"}).accumulation == "discarding"  # type: ignore[union-attr]


def test_a_field_left_out_has_its_default() -> None:
    assert from_dict(SMALL) == PLAIN
    assert from_dict({**SMALL, "panewise": 1}) == PLAIN
    assert from_dict({**SMALL, "position": {}}).position == Position()
    assert from_dict({**SMALL, "trigger": {"kind": "after_watermark"}}).trigger == AfterWatermark()


def test_documents_are_written_as_in_earlier_releases() -> None:
    """The documents have every field of every class of specifications, as an earlier release wrote them."""
    written = (Path(__file__).parent / "documents.jsonl").read_text().splitlines()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        specs = [from_json(text, AGGREGATES, USER_WINDOWS, LISTENERS) for text in written]
    assert [to_json(spec) for spec in specs] == written
    for text, spec in zip(written, specs, strict=True):
        assert changed_fields(json.loads(text), to_dict(spec)) == []


def test_json_says_its_version() -> None:
    assert json.loads(to_json(PLAIN))["panewise"] == 1
    assert "panewise" not in to_dict(PLAIN)


@pytest.mark.parametrize(
    ("made", "written"),
    [
        (F.sum("v"), {"fn": "sum", "column": "v"}),
        (F.count(), {"fn": "count"}),
        (F.percentile("v", 0.5), {"fn": "percentile", "column": "v", "percentage": 0.5}),
        (F.approx_count_distinct("v"), {"fn": "approx_count_distinct", "column": "v"}),
        (F.last("v", ignorenulls=True), {"fn": "last", "column": "v", "ignorenulls": True}),
        (F.max_by("v", "b"), {"fn": "max_by", "column": "v", "by": "b"}),
        (F.min_by("v", "b", k=2), {"fn": "top_n_by", "column": "v", "by": "b", "n": 2, "ascending": True}),
        (F.top_n("v", 3), {"fn": "top_n", "column": "v", "n": 3}),
        (F.top_n_by("v", "b", 3), {"fn": "top_n_by", "column": "v", "by": "b", "n": 3}),
        (
            F.top_n_by("v", "b", 3, distinct=True),
            {"fn": "top_n_by", "column": "v", "by": "b", "n": 3, "distinct": True},
        ),
        (
            F.max_by("v", ["b", F.asc("c"), "d"]),
            {
                "fn": "max_by",
                "column": "v",
                "by": "b",
                "then_by": [{"column": "c", "ascending": True}, {"column": "d", "ascending": False}],
            },
        ),
        (F.max_by("v", [F.desc("b")]), {"fn": "max_by", "column": "v", "by": "b"}),
        (
            F.top_n_by("v", [F.asc("b"), "c"], 3),
            {
                "fn": "top_n_by",
                "column": "v",
                "by": "b",
                "n": 3,
                "ascending": True,
                "then_by": [{"column": "c", "ascending": False}],
            },
        ),
        (F.sort_list("v"), {"fn": "sort_list", "column": "v"}),
        (F.sort_list("v", ascending=False), {"fn": "sort_list", "column": "v", "ascending": False}),
        (F.count_if("v"), {"fn": "count_if", "column": "v"}),
        (F.first_n("v", 2), {"fn": "first_n", "column": "v", "n": 2}),
        (F.collect_list("v", nulls="include"), {"fn": "collect_list", "column": "v", "nulls": "include"}),
        (COSTS("p", "n"), {"fn": "user", "column": "p", "more": ["n"], "user": "costs"}),
        (
            COSTS("p", "n").filter("ok").alias("a"),
            {"fn": "user", "column": "p", "more": ["n"], "user": "costs", "condition": "ok", "name": "a"},
        ),
        (TEXTS("s"), {"fn": "user", "column": "s", "user": "joined"}),
        (ALL_TEXT("s"), {"fn": "user", "column": "s", "user": "all_text"}),
    ],
)
def test_aggregates_are_named_as_by_their_functions(made: Any, written: dict[str, Any]) -> None:
    assert from_dict({**SMALL, "aggregates": [written]}, USER_AGGREGATES).aggregates == (made,)


def test_a_row_function_keeps_an_empty_name() -> None:
    spec = OverOperator(
        keys=["k"], event_time="ts", columns=[OverColumn(RowFunction("rank", column=None, name=""))]
    )
    assert from_dict(to_dict(spec)) == spec


def test_an_aggregate_is_named_as_in_its_document() -> None:
    """It may be given under another name than it has."""
    written = {"fn": "user", "column": "s", "user": "mine"}
    (read,) = from_dict({**SMALL, "aggregates": [written]}, {"mine": TEXTS}).aggregates
    assert read == TEXTS("s").alias("mine(s)")


@pytest.mark.parametrize(
    ("evictor", "written"),
    [
        (CountEvictor(3), {"kind": "count_evictor", "n": 3, "after": False}),
        (TimeEvictor("1 ms", after=True), {"kind": "time_evictor", "duration": 1000, "after": True}),
        (DeltaEvictor("v", 0.5), {"kind": "delta_evictor", "column": "v", "threshold": 0.5, "after": False}),
        (
            DeltaEvictor("v", "1 ms", after=True),
            {"kind": "delta_evictor", "column": "v", "threshold": 1000, "after": True},
        ),
    ],
)
def test_evictors_are_written_and_read(evictor: Any, written: dict[str, Any]) -> None:
    spec = WindowOperator(
        window=Tumbling(10), aggregates=[F.count().alias("n")], accumulation="accumulating", evictor=evictor
    )
    assert to_dict(spec)["evictor"] == written
    assert from_json(to_json(spec)) == spec
    without_default = {name: value for name, value in written.items() if value is not False}
    assert from_dict({**SMALL, "accumulation": "accumulating", "evictor": without_default}) == spec


@pytest.mark.parametrize(("delta", "written"), [(False, False), (True, True), (("v", "w"), ["v", "w"])])
def test_deltas_are_written_and_read(delta: Any, written: Any) -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")], delta=delta)
    assert to_dict(spec)["delta"] == written
    assert from_json(to_json(spec)).delta == delta


def test_an_option_of_zero_is_written() -> None:
    spec = WindowOperator(window=Tumbling(1), aggregates=[F.percentile("v", 0.0)])
    assert to_dict(spec)["aggregates"] == [
        {"fn": "percentile", "column": "v", "name": "percentile(v, 0.0)", "percentage": 0.0}
    ]


def test_an_option_is_written_where_other_functions_have_another() -> None:
    ranked = [F.sort_list("v", ascending=False), F.top_n("v", 2)]
    written = to_dict(WindowOperator(window=Tumbling(1), aggregates=ranked))["aggregates"]
    assert written == [
        {"fn": "sort_list", "column": "v", "name": "sort_list(v)", "ascending": False},
        {"fn": "top_n", "column": "v", "name": "top_n(v, 2)", "n": 2, "ascending": False},
    ]


def test_the_warning_comes_once() -> None:
    document = {**SMALL, "trigger": {"kind": "after_count", "n": 3}}
    with pytest.warns(DataLossWarning) as caught:
        from_dict(document)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert changed_fields(document, SMALL) == ["trigger"]


def test_changed_fields_fills_in_defaults() -> None:
    assert changed_fields(SMALL, to_dict(PLAIN)) == []
    assert (
        changed_fields(SMALL, {**SMALL, "window": {"kind": "tumbling", "size": 10, "origin": 0}, "keys": []})
        == []
    )
    assert changed_fields(SMALL, {**SMALL, "window": {"kind": "session", "gap": 10}, "drop_by": "row"}) == [
        "window",
        "drop_by",
    ]
    refused = {**to_dict(PLAIN), "window": {"kind": "tumbling", "size": 0}}  # as if a release had accepted it
    assert changed_fields(refused, SMALL) == ["window"]
    users = [{"fn": "user", "column": "v", "name": "a", "user": name} for name in ("one", "other")]
    assert changed_fields({**SMALL, "aggregates": users[:1]}, {**SMALL, "aggregates": users[1:]}) == [
        "aggregates"
    ]


def changed(path: str, value: Any) -> dict[str, Any]:
    """Returns SMALL with a trigger, and with one value set at a path such as window.size."""
    document = json.loads(
        json.dumps({**SMALL, "trigger": {"kind": "after_watermark", "late": {"kind": "always"}}})
    )
    *parents, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    inner = document
    for step in parents:
        inner = inner[step]
    inner[last] = value
    return dict(document)


TRIGGERS = sorted(kind.kind for kind in (*get_args(Leaf), *get_args(Composite)))
GIVE_A_KIND = "give {'kind': ...} with one of these"
A_LIST = "a list of triggers"
ACCUMULATIONS = "one of 'discarding', 'accumulating', 'retracting'"
MICROSECONDS = "a whole number of microseconds"
ROWS = "a number of rows is whole, 1 or more, and 4611686018427387904 at most"
SIZE = f"{MICROSECONDS}, or {{'rows': n}}"


@pytest.mark.parametrize(
    ("path", "value", "given", "what"),
    [
        ("window.size", "1 hour", "window.size='1 hour'", SIZE),
        ("window.size", 1.0, "window.size=1.0", SIZE),
        ("window.size", True, "window.size=True", SIZE),
        ("window.size", {"rows": 3, "of": "key"}, "window.size={'rows': 3, 'of': 'key'}", SIZE),
        ("accumulation", 5, "accumulation=5", ACCUMULATIONS),
        ("window.origin", None, "window.origin=None", "a whole number"),
        (
            "window",
            {"kind": "session", "gap": "1 hour"},
            "window.gap='1 hour'",
            f"{SIZE}, or a column's name",
        ),
        (
            "window",
            {"kind": "custom", "name": "holds", "merge": 1},
            "window.merge=1",
            "true, false or 'touching'",
        ),
        ("window", {"kind": "hopping", "size": 1, "hop": 1, "gaps": 0}, "window.gaps=0", "true or false"),
        ("trigger.early", {"kind": "after_count", "n": "3"}, "trigger.early.n='3'", "a whole number"),
        (
            "trigger.late",
            {"kind": "after_any", "triggers": 3},
            "trigger.late.triggers=3",
            "a list of triggers",
        ),
        (
            "trigger.late",
            {"kind": "after_any", "triggers": [{"kind": "after_count", "n": None}]},
            "trigger.late.triggers[0].n=None",
            "a whole number",
        ),
        ("aggregates", "count", "aggregates='count'", "a list of aggregates"),
        ("aggregates.0", "count", "aggregates[0]='count'", "an object with named fields"),
        ("aggregates.0.fn", 3, "aggregates[0].fn=3", "a string"),
        ("aggregates.0.rsd", "x", "aggregates[0].rsd='x'", "a number"),
        ("aggregates.0.n", 1.0, "aggregates[0].n=1.0", "a whole number"),
        ("aggregates.0.by", 1, "aggregates[0].by=1", "a string"),
        ("aggregates.0.ascending", 1, "aggregates[0].ascending=1", "true or false"),
        ("aggregates.0.ignorenulls", 1, "aggregates[0].ignorenulls=1", "true or false"),
        ("keys", "k", "keys='k'", "a list of column names"),
        ("keys", ["k", 1], "keys[1]=1", "a string"),
        ("event_time", 5, "event_time=5", "a string"),
        ("allowed_lateness", "1 hour", "allowed_lateness='1 hour'", f"{MICROSECONDS}, or 'unlimited'"),
        ("max_future_skew", "1", "max_future_skew='1'", MICROSECONDS),
        ("watermark", {"kind": "fixed_lag", "lag": "1 s"}, "watermark.lag='1 s'", MICROSECONDS),
        ("watermark", {"kind": "inputs", "names": "ab"}, "watermark.names='ab'", "a list of inputs' names"),
        (
            "watermark",
            {"kind": "inputs", "names": ["a", "b"], "column": "s", "delay": {"a": 1, "b": "1 s"}},
            "watermark.delay.b='1 s'",
            MICROSECONDS,
        ),
        ("null_keys", 1, "null_keys=1", "true or false"),
        ("position", ["p", "o"], "position=['p', 'o']", "an object with named fields"),
        ("position", {"partition": 0}, "position.partition=0", "a string"),
        ("evictor", {"kind": "count_evictor", "n": 1, "after": 1}, "evictor.after=1", "true or false"),
        ("delta", "v", "delta='v'", "true, false or a list of column names"),
        ("delta", ["v", 1], "delta[1]=1", "a string"),
    ],
)
def test_values_of_another_type_are_refused(path: str, value: Any, given: str, what: str) -> None:
    refused(path, value, f"{given} | {given.partition('=')[0]} is {what} | give {what}")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("window", {"kind": "custom"}, "window.name"),
        ("window", {"kind": "tumbling"}, "window.size"),
        ("trigger.early", {"kind": "every"}, "trigger.early.period"),
        ("trigger.late", {"kind": "repeatedly"}, "trigger.late.trigger"),
        ("aggregates.0", {"name": "n"}, "aggregates[0].fn"),
        ("watermark", {"kind": "fixed_lag"}, "watermark.lag"),
        ("evictor", {"kind": "count_evictor"}, "evictor.n"),
    ],
)
def test_fields_without_a_default_are_needed(path: str, value: Any, field: str) -> None:
    name = field.rpartition(".")[2]
    refused(path, value, f"{field} is missing | {name} has no default | give {field}")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("window.size", {"rows": 0}, f"rows(0) | {ROWS} | give a number such as rows(100)"),
        (
            "window",
            {"kind": "session", "gap": {"rows": "3"}},
            f"rows('3') | {ROWS} | give a number such as rows(100)",
        ),
        (
            "window",
            {"kind": "cumulating", "size": {"rows": 3}, "step": 1},
            (
                "size=rows(3) | size is a duration here; only Tumbling, Hopping, Sliding and Session are "
                "measured in rows | give a size such as '1 minute'"
            ),
        ),
        (
            "window.size",
            0,
            "size=Duration('0 seconds') | size is above zero | give a size such as '1 minute'",
        ),
        ("window.gap", 5, "window.gap=5 | the known fields are ['kind', 'origin', 'size'] | leave 'gap' out"),
        (
            "window.kind",
            "tumble",
            (
                "window.kind='tumble' | the known kinds are ['calendar', 'cumulating', 'custom', "
                "'global', 'hopping', 'session', "
                "'sliding', 'tumbling'] "
                "| give {'kind': ...} with one of these"
            ),
        ),
        (
            "window",
            "tumbling",
            (
                "window='tumbling' | the known kinds are ['calendar', 'cumulating', 'custom', 'global', "
                "'hopping', 'session', "
                "'sliding', 'tumbling'] "
                "| give {'kind': ...} with one of these"
            ),
        ),
        (
            "trigger.late.kind",
            "after",
            (
                f"trigger.late.kind='after' | the known kinds are {TRIGGERS} | give {{'kind': ...}} with one "
                f"of these"
            ),
        ),
        ("trigger.late.n", 1, "trigger.late.n=1 | the known fields are ['kind'] | leave 'n' out"),
        (
            "aggregates.0.fn",
            "listagg",
            (
                f"aggregates[0].fn='listagg' | the functions of aggregates are {sorted(FUNCTIONS)} | "
                "give one of these"
            ),
        ),
        (
            "aggregates.0.weight",
            True,
            (
                "aggregates[0].weight=True | the known fields are ['added', 'ascending', 'by', 'column', "
                "'condition', 'distinct', 'fn', 'ignorenulls', 'more', "
                "'n', 'name', 'nulls', 'percentage', 'rsd', 'then_by', 'user'] | leave 'weight' out"
            ),
        ),
        (
            "aggregates.0",
            {"fn": "user", "column": "v", "user": "mine"},
            (
                "aggregates[0].user='mine' | the user-defined aggregates that are given are ['all_text', "
                "'costs', 'joined', 'latest', 'nulls', 'tally', 'trues'] "
                "| give user_aggregates={'mine': ...}"
            ),
        ),
        (
            "position",
            {"topic": "t"},
            (
                "position.topic='t' | the known fields are ['offset', 'ordered', 'partition', 'remember', "
                "'source'] | leave 'topic' out"
            ),
        ),
        (
            "evictor",
            {"kind": "sum_evictor"},
            (
                "evictor.kind='sum_evictor' | the known kinds are ['count_evictor', 'delta_evictor', "
                "'time_evictor'] "
                "| give {'kind': ...} with one of these"
            ),
        ),
        ("drop_by", "pane", "drop_by='pane' | drop_by is one of ('window', 'row') | give one of these"),
        (
            "panewise",
            2,
            (
                "panewise=2 | this version of panewise reads format 1 | "
                "use the version of panewise that wrote it"
            ),
        ),
        (
            "panewise",
            True,
            (
                "panewise=True | this version of panewise reads format 1 | use the version of panewise "
                "that wrote it"
            ),
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(path: str, value: Any, message: str) -> None:
    refused(path, value, message)


def refused(path: str, value: Any, message: str) -> None:
    """Checks the error for a document with a value at a path."""
    from_dict(changed("keys", []))
    with pytest.raises(SpecError) as caught:
        from_dict(changed(path, value), USER_AGGREGATES)
    assert caught.value.args[0] == message


def test_unknown_and_missing_fields_are_refused() -> None:
    known = sorted({"panewise", "then", *(field.name for field in fields(WindowOperator))})
    with pytest.raises(SpecError) as caught:
        from_dict({**SMALL, "lateness": 1})
    assert caught.value.args[0] == f"lateness=1 | the known fields are {known} | leave 'lateness' out"
    with pytest.raises(SpecError) as caught:
        from_dict({"window": SMALL["window"]})
    assert caught.value.args[0] == "aggregates is missing | aggregates has no default | give aggregates"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[]",
            (
                "specification=[] | specification is an object with named fields | give an object with "
                "named fields"
            ),
        ),
        (
            '{"window": {"kind": "global", "kind": "global"}}',
            "'kind' twice | a field is given once | leave one of them out",
        ),
    ],
)
def test_json_that_is_no_specification_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        from_json(text)
    assert caught.value.args[0] == message


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(SpecError) as caught:
        from_json("{window}")
    assert caught.value.given == "text='{window}'"
    assert caught.value.rule.startswith("a specification is read from JSON (Expecting property name")
    assert caught.value.remedy == "give what to_json wrote"


@pytest.mark.parametrize("delay", [None, "1 second", {"a": 0, "b": "1 minute"}])
def test_inputs_of_rows_there_and_back(delay: Any) -> None:
    mark = Inputs(["a", "b"], "2 minutes", "s", delay)
    for spec in (
        WindowOperator(window=Tumbling(10), aggregates=[F.count()], watermark=mark),
        OverOperator(columns=[OverColumn(F.count().alias("n"), Frame("rows", -1))], watermark=mark),
    ):
        assert from_json(to_json(spec)) == spec
        assert spec.columns_read == ("event_time", "s")


def test_inputs_of_before_there_was_a_column_are_the_same() -> None:
    old = {**SMALL, "watermark": {"kind": "inputs", "names": ["a", "b"], "idle_after": None}}
    assert changed_fields(old, to_dict(from_dict(old))) == []
