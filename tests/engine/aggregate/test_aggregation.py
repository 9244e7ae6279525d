"""Aggregates have the results that Spark documents, also at the limits of their types."""

import math
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.aggregate.sketch import size_for
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import AggregateOverflowError, InputError, SpecError

NAN = float("nan")


def pane(aggregate: pw.Aggregate, values: list[Any], dtype: pl.DataType, batches: int = 1) -> Any:
    """Returns the aggregate of the values, which are added in the given number of batches."""
    spec = pw.WindowOperator(window=pw.Global(), aggregates=[aggregate.alias("a")], trigger=pw.Never())
    operator = WindowEngine(spec, {"event_time": pl.Int64(), "v": dtype})
    for n in range(batches):
        part = values[n::batches]
        operator.add(
            pl.DataFrame(
                {"event_time": [n] * len(part), "v": part}, schema={"event_time": pl.Int64(), "v": dtype}
            )
        )
    return operator.finish().panes["a"][0]


@pytest.mark.parametrize("batches", [1, 2, 3])
@pytest.mark.parametrize(
    ("aggregate", "values", "dtype", "expected"),
    [
        (F.count("v"), [1, None, 3], pl.Int64(), 2),
        (F.count(), [1, None, 3], pl.Int64(), 3),
        (F.sum("v"), [None, None], pl.Int64(), None),
        (F.sum("v"), [100, 100, 100], pl.Int8(), 300),
        (F.sum("v"), [0.5, None, 0.25], pl.Float32(), 0.75),
        (F.sum("v"), [1.0, NAN], pl.Float64(), NAN),
        (F.avg("v"), [1, 2, None], pl.Int64(), 1.5),
        (F.avg("v"), [2**62, 2**62, 2**62], pl.Int64(), 2.0**62),
        (F.avg("v"), [None], pl.Float64(), None),
        (F.sum("v"), [Decimal("1.25"), Decimal("2.50")], pl.Decimal(10, 2), Decimal("3.75")),
        (
            F.avg("v"),
            [Decimal("1.00"), Decimal("1.00"), Decimal("0.00")],
            pl.Decimal(10, 2),
            Decimal("0.666667"),
        ),
        (F.min("v"), [NAN, 2.0, None], pl.Float64(), 2.0),
        (F.max("v"), [NAN, 2.0, None], pl.Float64(), NAN),
        (F.max("v"), ["a", "b", None], pl.String(), "b"),
        (F.min("v"), [True, False], pl.Boolean(), False),
        (F.stddev("v"), [3], pl.Int64(), None),
        (F.stddev("v"), [1, 2, 3, 4], pl.Int64(), 1.2909944487358056),
        (F.variance("v"), [1e9, 1e9 + 1, 1e9 + 2], pl.Float64(), 1.0),
        (F.median("v"), [1, 9, 2, None], pl.Int64(), 2.0),
        (F.median("v"), [1.0, NAN], pl.Float64(), NAN),
        (F.percentile("v", 0.25), [10, 20, 30, 40], pl.Int64(), 17.5),
        (F.percentile("v", 1.0), [1, 5], pl.Int64(), 5.0),
        (F.percentile("v", 0.75), [float("-inf"), 1.5], pl.Float64(), float("-inf")),
        (F.median("v"), [1.5, float("-inf")], pl.Float64(), float("-inf")),
        (F.median("v"), [float("inf"), float("-inf")], pl.Float64(), NAN),
        (F.percentile("v", 0.0), [None], pl.Int64(), None),
        (F.approx_count_distinct("v"), ["a", "b", "a", None], pl.String(), 2),
        (F.approx_count_distinct("v"), [0.0, -0.0, NAN, NAN], pl.Float64(), 2),
        (F.count_distinct("v"), [0.0, -0.0, NAN, NAN, None], pl.Float64(), 2),
        (F.count_distinct("v"), [[1], [1], [2], None], pl.List(pl.Int64), 2),
        (F.count_if("v"), [True, None, False, True], pl.Boolean(), 2),
        (F.count_if("v"), [None], pl.Boolean(), 0),
        (F.bool_and("v"), [True, None, True], pl.Boolean(), True),
        (F.bool_and("v"), [True, None, False], pl.Boolean(), False),
        (F.bool_or("v"), [False, None, True], pl.Boolean(), True),
        (F.bool_or("v"), [None, None], pl.Boolean(), None),
        (F.stddev_pop("v"), [3], pl.Int64(), 0.0),
        (F.stddev_pop("v"), [1, None, 5], pl.Int64(), 2.0),
        (F.var_pop("v"), [1e9, 1e9 + 1, 1e9 + 2], pl.Float64(), 2 / 3),
        (F.var_pop("v"), [None], pl.Float64(), None),
        (F.var_pop("v"), [math.inf], pl.Float64(), NAN),
        (F.mode("v"), [2, 9, None, 9, 2, 1, None, None], pl.Int64(), 2),
        (F.mode("v"), [NAN, 1.0, NAN], pl.Float64(), NAN),
        (
            F.mode("v"),
            [Decimal("1.50"), Decimal("0.25"), Decimal("1.50")],
            pl.Decimal(10, 2),
            Decimal("1.50"),
        ),
    ],
)
def test_results_are_those_of_spark(
    aggregate: pw.Aggregate, values: list[Any], dtype: pl.DataType, expected: Any, batches: int
) -> None:
    """The results do not depend on where batches are cut (semantics 24.1, 24.2)."""
    assert pane(aggregate, values, dtype, batches) == pytest.approx(expected, nan_ok=True)


def test_first_and_last_follow_arrival_order_and_skip_nulls_only_with_ignorenulls() -> None:
    """`first` and `last` use arrival order; nulls are skipped only on request (semantics 24.1, 24.6)."""
    values = [None, 1, 2, None]
    assert pane(F.first("v"), values, pl.Int64()) is None
    assert pane(F.last("v"), values, pl.Int64()) is None
    assert pane(F.first("v", ignorenulls=True), values, pl.Int64()) == 1
    assert pane(F.last("v", ignorenulls=True), values, pl.Int64()) == 2


def test_collections_keep_arrival_order() -> None:
    """`collect_list` keeps arrival order, and `collect_set` the order of first arrival (semantics 24.4)."""
    assert pane(F.collect_list("v"), [3, None, 1, 3], pl.Int64()).to_list() == [3, 1, 3]
    assert pane(F.collect_set("v"), [3, None, 1, 3], pl.Int64()).to_list() == [3, 1]


@pytest.mark.parametrize("values", [[2**62, 2**62], [-(2**62), -(2**62), -1]])
def test_a_sum_that_leaves_64_bits_is_an_error_in_one_batch_and_over_several(values: list[int]) -> None:
    """A sum never wraps around (semantics 24.3)."""
    message = r"sum\(v\) = -?\d+ \| a sum of whole numbers fits in 64 bits .* \| cast v to double or decimal"
    for batches in (1, len(values)):
        with pytest.raises(AggregateOverflowError, match=message):
            pane(F.sum("v"), values, pl.Int64(), batches)


def test_large_values_whose_sum_fits_are_summed_exactly() -> None:
    assert pane(F.sum("v"), [2**62, -(2**62), 2**62, 5], pl.Int64()) == 2**62 + 5


def test_many_distinct_values_are_estimated_within_the_asked_deviation() -> None:
    """An estimate over several batches is within four standard deviations of the count (semantics 24.5)."""
    count = 50_000
    assert count > size_for(0.05)
    estimate = pane(F.approx_count_distinct("v", rsd=0.05), list(range(count)) * 2, pl.Int64(), batches=4)
    assert abs(estimate - count) < 4 * 0.05 * count
    assert pane(F.approx_count_distinct("v"), list(range(300)), pl.Int64(), batches=3) == 300


def test_a_state_that_is_no_json_is_refused() -> None:
    sets = pw.UserAggregate(
        "sets", init=lambda: 0, accumulate=lambda s, v: {v}, merge=lambda a, b: a, finish=lambda s: 0.0
    )
    with pytest.raises(InputError, match=r"the state of a user-defined aggregate is a JSON value"):
        pane(sets("v"), [1], pl.Int64())


@pytest.mark.parametrize("aggregate", [F.sum("v"), F.avg("v"), F.median("v"), F.stddev("v")])
def test_numbers_are_asked_for_when_the_operator_is_built(aggregate: pw.Aggregate) -> None:
    with pytest.raises(
        SpecError, match=rf"over v: string \| {aggregate.fn} takes numbers \| cast v to a number"
    ):
        pane(aggregate, [], pl.String())


@pytest.mark.parametrize("aggregate", [F.count_if("v"), F.bool_and("v"), F.bool_or("v")])
def test_a_boolean_is_asked_for_when_the_operator_is_built(aggregate: pw.Aggregate) -> None:
    with pytest.raises(
        SpecError,
        match=rf"over v: bigint \| {aggregate.fn} takes a Boolean column \| make one before the operator",
    ):
        pane(aggregate, [], pl.Int64())


@pytest.mark.parametrize(
    "aggregate",
    [
        F.max("v"),
        F.mode("v"),
        F.sort_list("v"),
        F.top_n("v", 1),
        F.min_by("event_time", "v"),
        F.top_n_by("event_time", "v", 1),
    ],
)
def test_an_order_is_asked_for_when_the_operator_is_built(aggregate: pw.Aggregate) -> None:
    with pytest.raises(
        SpecError,
        match=rf"over v: array.* \| {aggregate.fn} takes values that have an order \| use a column of a "
        r"simple",
    ):
        pane(aggregate, [], pl.List(pl.Int64()))
