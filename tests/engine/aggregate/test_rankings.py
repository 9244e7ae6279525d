"""Rankings (`max_by`, `top_n` and others), wherever batches are cut (semantics 24.10 to 24.13)."""

import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import panewise as pw
from panewise import functions as F
from panewise.engine.windows.operator import WindowEngine

NAN = float("nan")
SCHEMA = {"event_time": pl.Int64(), "v": pl.String(), "b": pl.Float64()}
ROWS = [("a", 1.0), ("b", None), (None, 5.0), ("c", 5.0), ("a", 3.0), ("d", NAN), ("c", 2.0), ("a", 3.0)]


def pane(aggregate: pw.Aggregate, rows: Sequence[tuple[Any, ...]], batches: int, schema: Any = SCHEMA) -> Any:
    """Returns the aggregate of rows, which are added in this order in the given number of batches.

    By default rows are (v, b).
    """
    spec = pw.WindowOperator(window=pw.Global(), aggregates=[aggregate.alias("a")], trigger=pw.Never())
    operator = WindowEngine(spec, schema)
    size = -(-len(rows) // batches)
    for start in range(0, len(rows), size):
        values = [(n, *row) for n, row in enumerate(rows[start : start + size], start=start)]
        operator.add(pl.DataFrame(values, schema=schema, orient="row"))
    return operator.finish().panes["a"].to_list()[0]


@pytest.mark.parametrize("batches", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (F.max_by("v", "b"), "d"),
        (F.min_by("v", "b"), "a"),
        (F.top_n_by("v", "b", 3), ["d", None, "c"]),
        (F.top_n_by("v", "b", 9), ["d", None, "c", "a", "a", "c", "a"]),
        (F.top_n_by("v", "b", 3, ascending=True), ["a", "c", "a"]),
        (F.top_n_by("v", "b", 4, distinct=True), ["d", None, "c", "a"]),
        (F.top_n_by("v", "b", 9, ascending=True, distinct=True), ["a", "c", None, "d"]),
        (F.top_n("v", 2), ["d", "c"]),
        (F.top_n("v", 3, ascending=True), ["a", "a", "a"]),
        (F.sort_list("v"), ["a", "a", "a", "b", "c", "c", "d"]),
        (F.sort_list("v", ascending=False), ["d", "c", "c", "b", "a", "a", "a"]),
    ],
)
def test_rankings(aggregate: pw.Aggregate, expected: Any, batches: int) -> None:
    assert pane(aggregate, ROWS, batches) == expected


SEVERAL = {"event_time": pl.Int64(), "v": pl.String(), "a": pl.Float64(), "b": pl.Int64()}
TIED = [("p", 7.0, 1), ("q", 7.0, None), ("r", 7.0, 3), ("s", None, 9), ("t", -0.0, 2), ("u", 0.0, 4)]


@pytest.mark.parametrize("batches", [1, 2, 6])
@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (F.max_by("v", ["a", "b"]), "r"),
        (F.max_by("v", ["a", F.asc("b")]), "q"),
        (F.min_by("v", ["a", "b"]), "t"),
        (F.min_by("v", [F.asc("a"), F.desc("b")]), "u"),
        (F.top_n_by("v", [F.desc("a"), F.asc("b")], 9), ["q", "p", "r", "t", "u"]),
        (F.top_n_by("v", ["a", "b"], 4), ["r", "p", "q", "u"]),
        (F.top_n_by("v", ["b", "a"], 2, ascending=True), ["p", "t"]),
        (F.top_n_by("a", ["b", "v"], 3, distinct=True), [None, 0.0, 7.0]),
    ],
)
def test_rankings_by_several_columns(aggregate: pw.Aggregate, expected: Any, batches: int) -> None:
    """semantics 24.26: a null in a further column is the smallest value, and -0.0 equals 0.0."""
    assert pane(aggregate, TIED, batches, SEVERAL) == expected


@pytest.mark.parametrize("batches", [1, 2])
def test_of_equal_rows_the_first_in_arrival_order_is_taken(batches: int) -> None:
    rows = [("x", 1.0), ("y", 7.0), ("z", 7.0), ("w", 7.0)]
    assert pane(F.max_by("v", "b"), rows, batches) == "y"
    assert pane(F.min_by("v", "b"), rows[1:], batches) == "y"
    assert pane(F.top_n_by("v", "b", 2), rows, batches) == ["y", "z"]


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (F.max_by("v", "b"), None),
        (F.min_by("v", "b"), None),
        (F.top_n_by("v", "b", 2), []),
        (F.top_n("b", 2), []),
        (F.sort_list("b"), []),
    ],
)
def test_nothing_to_rank(aggregate: pw.Aggregate, expected: Any) -> None:
    assert pane(aggregate, [("a", None), ("b", None)], 2) == expected


def test_two_rankings_with_confusable_names() -> None:
    """Rankings whose column names together form the same text do not share partials."""
    schema = {
        "event_time": pl.Int64(),
        "a:b": pl.Int64(),
        "c": pl.Int64(),
        "a": pl.Int64(),
        "b:c": pl.Int64(),
    }
    spec = pw.WindowOperator(
        window=pw.Global(),
        trigger=pw.Never(),
        aggregates=[F.max_by("a:b", "c").alias("one"), F.max_by("a", "b:c").alias("other")],
    )
    operator = WindowEngine(spec, schema)
    operator.add(pl.DataFrame([(1, 10, 1, 20, 2), (2, 11, 0, 21, 3)], schema=schema, orient="row"))
    assert operator.finish().panes.select("one", "other").row(0) == (10, 21)


def test_lists_are_values_that_can_be_ranked_by_another_column() -> None:
    schema = {"event_time": pl.Int64(), "v": pl.List(pl.Int64()), "b": pl.Int64()}
    spec = pw.WindowOperator(
        window=pw.Global(),
        trigger=pw.Never(),
        aggregates=[F.max_by("v", "b").alias("m"), F.top_n_by("v", "b", 2, distinct=True).alias("t")],
    )
    operator = WindowEngine(spec, schema)
    for n, row in enumerate([([1, 2], 3), ([1, 2], 5), ([], 5), (None, 1)]):
        operator.add(pl.DataFrame([(n, *row)], schema=schema, orient="row"))
    assert operator.finish().panes.select("m", "t").row(0) == ([1, 2], [[1, 2], []])


@pytest.mark.parametrize(
    ("aggregate", "combined"),
    [
        *((fn("f"), True) for fn in (F.count_if, F.bool_and, F.bool_or)),
        *((fn("n"), True) for fn in (F.stddev_pop, F.var_pop)),
        (F.top_n("n", 3), True),
        *((fn("n"), False) for fn in (F.count_distinct, F.mode, F.sort_list)),
        (F.max_by("n", "f"), False),
        (F.top_n_by("n", "f", 2), False),
    ],
)
def test_preaggregation_before_the_shuffle_changes_nothing(aggregate: pw.Aggregate, combined: bool) -> None:
    """Pre-aggregation changes no result, and is used only for small states that do not depend on order."""
    schema = {"event_time": pl.Int64(), "k": pl.Int64(), "n": pl.Int64(), "f": pl.Boolean()}
    spec = pw.WindowOperator(window=pw.Tumbling(10), keys=["k"], aggregates=[aggregate.alias("a")])
    random.seed(7)
    made = [
        (n % 40, random.randrange(5), random.choice([None, *range(9)]), random.choice([None, True, False]))
        for n in range(300)
    ]
    frames = [pl.DataFrame(made[start::3], schema=schema, orient="row") for start in range(3)]
    whole, apart = WindowEngine(spec, schema), WindowEngine(spec, schema)
    assert whole.plan.can_combine == combined
    whole.add(pl.concat(frames))
    if not combined:
        return
    apart.add_combined(
        apart.plan.combine_again(
            pl.concat([apart.plan.combine(apart.plan.validate(frame, 0).valid) for frame in frames]),
        )
    )
    left, right = (
        operator.finish().panes.sort("k", "window_start").select("k", "window_start", "a")
        for operator in (apart, whole)
    )
    assert_frame_equal(left, right, rel_tol=1e-12)
