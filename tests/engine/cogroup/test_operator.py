"""The operator of cogroups: columns, aggregates of both sides, output watermark, header (semantics 43)."""

from typing import Any

import polars as pl
import pytest

from panewise import (
    CogroupOperator,
    InputError,
    Side,
    Sliding,
    StreamTime,
    Tumbling,
    UserAggregate,
    UserMergeAggregate,
)
from panewise import functions as F
from panewise.engine.cogroup.operator import CogroupEngine
from panewise.engine.registry import plan_for
from panewise.engine.saved_operator import restore, save
from panewise.testing import run

SCHEMAS = {
    "left": {"k": pl.String(), "t": pl.Int64(), "v": pl.Int64(), "price": pl.Decimal(10, 2)},
    "right": {"id": pl.String(), "u": pl.Int64(), "w": pl.String()},
}
LEFT, RIGHT = Side(keys=["k"], event_time="t"), Side(keys=["id"], event_time="u")
TEXT = UserMergeAggregate(
    "text",
    init=lambda: "",
    accumulate_left=lambda state, value: f"{state} l{value}",
    accumulate_right=lambda state, value: f"{state} r{value}",
    merge=lambda one, other: one + other,
    finish=lambda state: state,
    result="string",
)


def cogroup(**fields: Any) -> CogroupOperator:
    given = {"left": LEFT, "right": RIGHT, "window": Tumbling(10), "left_aggregates": [F.count().alias("n")]}
    return CogroupOperator(**{**given, **fields})


def rows(side: str, *given: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=SCHEMAS[side], orient="row")


def test_columns_of_panes() -> None:
    """semantics 43: keys, bounds, the aggregates of each side and of both, then the other columns."""
    spec = cogroup(
        left_aggregates=[F.first("price").alias("first"), F.sum("price").alias("total")],
        right_aggregates=[F.collect_list("w").alias("all"), F.count().alias("m")],
        both_aggregates=[TEXT("v", "w").alias("text")],
        timestamp="end",
    )
    schema = plan_for(spec, SCHEMAS).pane_schema
    assert list(schema.items())[:9] == [
        ("k", pl.String()),
        ("window_start", pl.Int64()),
        ("window_end", pl.Int64()),
        ("timestamp", pl.Int64()),
        ("first", pl.Decimal(10, 2)),
        ("total", pl.Decimal(20, 2)),
        ("all", pl.List(pl.String())),
        ("m", pl.Int64()),
        ("text", pl.String()),
    ]
    operator = CogroupEngine(spec, SCHEMAS)
    assert dict(operator.finish().panes.schema) == schema


EVENTS: list[dict[str, Any]] = [
    {"op": "add", "input": "right", "rows": [{"id": "a", "u": 3, "w": "x"}, {"id": "b", "u": 3, "w": None}]},
    {"op": "restart"},
    {
        "op": "add",
        "rows": {
            "left": [{"k": "a", "t": 2, "v": 1}, {"k": "a", "t": 4, "v": None}],
            "right": [{"id": "a", "u": 1, "w": None}, {"id": "a", "u": 4, "w": "y"}],
        },
    },
    {"op": "watermark", "to": 10},
]
TYPES = {
    "left": {"k": "string", "t": "bigint", "v": "bigint"},
    "right": {"id": "string", "u": "bigint", "w": "string"},
}


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_an_aggregate_of_both_sides_takes_values_in_arrival_order(runtime: Any) -> None:
    """semantics 43.5: nulls are values; of equal times the left row comes first (36.6)."""
    panes = run(cogroup(both_aggregates=[TEXT("v", "w")]), EVENTS, runtime, types=TYPES)[-1]["panes"]
    assert [(pane["k"], pane["n"], pane["text(v, w)"]) for pane in panes] == [
        ("a", 2, " rx rNone l1 lNone ry"),
        ("b", 0, " rNone"),
    ]


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_a_side_without_rows_has_the_initial_state(runtime: Any) -> None:
    """semantics 43.2, 43.3: a user-defined aggregate of a side gets no value for rows of the other side."""
    count = UserAggregate(
        "calls",
        init=lambda: 100,
        accumulate=lambda state, value: state + 1,
        merge=lambda one, other: one + other - 100,
        finish=lambda state: state,
        result="bigint",
    )
    spec = cogroup(left_aggregates=[count("v")], right_aggregates=[count("w")], window=Sliding(20))
    outputs = run(spec, EVENTS, runtime, types=TYPES)
    panes = [pane for output in outputs for pane in output["panes"]]
    found = {(pane["k"], pane["window_end"]): (pane["calls(v)"], pane["calls(w)"]) for pane in panes}
    assert found[("b", 3)] == (100, 101)
    assert found[("a", 4)] == (102, 103)


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_a_result_of_another_type_is_refused(runtime: Any) -> None:
    """semantics 43.5: states and results are checked as those of other user-defined aggregates."""
    wrong = UserMergeAggregate(
        "wrong",
        init=lambda: 0,
        accumulate_left=lambda state, value: state,
        accumulate_right=lambda state, value: state,
        merge=lambda one, other: one,
        finish=lambda state: "none",
        result="bigint",
    )
    with pytest.raises(InputError, match="'wrong': result 'none'"):
        run(cogroup(both_aggregates=[wrong("v", "w")]), EVENTS, runtime, types=TYPES)


def test_the_output_watermark_is_the_lower_one() -> None:
    """semantics 43.8."""
    operator = CogroupEngine(cogroup(), SCHEMAS)
    marks = [operator.output_watermark()]
    for watermark, side in ((30, "left"), (12, "right"), (40, "right")):
        operator.advance(watermark=watermark, source=side)
        marks.append(operator.output_watermark())
    operator.finish("left")
    marks.append(operator.output_watermark())
    assert marks == [None, None, 12, 30, 40]


def test_rows_after_the_end_of_their_side_are_late() -> None:
    """semantics 43.1: as in a join (36.4)."""
    operator = CogroupEngine(cogroup(), SCHEMAS)
    operator.finish("left")
    output = operator.add(rows("left", ("a", 5, 1, None)), "left")
    assert output.late["__reason"].to_list() == ["finished"]
    assert (output.counts.rows_in, output.counts.late, output.counts.applied) == (1, 1, 0)
    assert operator.add(rows("right", ("a", 5, "x")), "right").counts.applied == 1


def test_a_saved_cogroup_has_its_clocks_again() -> None:
    operator = CogroupEngine(cogroup(watermark=StreamTime(per="all")), SCHEMAS)
    operator.add(rows("left", ("a", 5, 1, None)), "left")
    again = restore(operator.spec, SCHEMAS, save(operator))
    assert again.state.clocks == operator.state.clocks


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_aggregates_in_which_nulls_count_skip_the_other_side(runtime: str) -> None:
    """semantics 24.28, 24.29, 43.2: rows of the other side do not take part, and nulls of its own do."""
    pairs = UserAggregate(
        "pairs",
        init=list,
        accumulate=lambda state, v, ok: [*state, f"{v} {ok}"],
        merge=lambda one, other: [*one, *other],
        finish=lambda state: state,
        result="array<string>",
    )
    spec = cogroup(
        left_aggregates=[
            F.first_n("v", 2).alias("first_two"),
            F.last_n("v", 2).alias("last_two"),
            F.collect_list("v", nulls="include").alias("all"),
            F.first("v").filter("ok").alias("passing"),
            pairs("v", "ok").alias("pairs"),
            pairs("v", "ok").filter("ok").alias("passing_pairs"),
            F.max_by("v", ["t", "v"]).alias("latest"),
        ],
        right_aggregates=[
            F.collect_list("w", nulls="include").alias("right"),
            F.first_n("w", 1).alias("one"),
        ],
    )
    left = [(1, None, True), (2, 5, False), (3, None, None)]
    events: list[dict[str, Any]] = [
        {"op": "add", "rows": {"right": [{"id": "a", "u": 1, "w": None}]}},
        {"op": "add", "rows": {"left": [{"k": "a", "t": t, "v": v, "ok": ok} for t, v, ok in left]}},
        {"op": "add", "rows": {"right": [{"id": "a", "u": 2, "w": "x"}]}},
        {"op": "finish"},
    ]
    types = {"left": {"v": "bigint", "ok": "boolean"}, "right": {"w": "string"}}
    [pane] = run(spec, events, runtime, types=types)[-1]["panes"]
    expected = {
        "first_two": [None, 5],
        "last_two": [5, None],
        "all": [None, 5, None],
        "passing": None,
        "pairs": ["None True", "5 False", "None None"],
        "passing_pairs": ["None True"],
        "latest": None,
        "right": [None, "x"],
        "one": [None],
    }
    assert {name: pane[name] for name in expected} == expected
