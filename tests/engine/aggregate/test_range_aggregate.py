"""Aggregates over index ranges equal those that result from merging the pieces of each range."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.holistic import range_aggregation
from panewise.engine.aggregate.range_aggregate import aggregate_ranges
from panewise.errors import AggregateOverflowError
from panewise.testing.compare import same
from tests.engine.effort import examples

SCHEMA = {"v": pl.Int64(), "x": pl.Float64(), "s": pl.String(), "d": pl.Decimal(10, 2)}
# An aggregate whose merge depends on the order of its arguments.
WORDS = pw.UserAggregate.fold(
    "words", "", lambda state, value: state + (value or "?"), lambda one, other: one + other, result="string"
)
AGGREGATES: tuple[pw.Aggregate, ...] = (
    *(
        F.count("v"),
        F.sum("v"),
        F.avg("v"),
        F.min("v"),
        F.max("v"),
        F.first("v"),
        F.last("v", ignorenulls=True),
    ),
    *(
        F.sum("x"),
        F.min("x"),
        F.max("x"),
        F.stddev("x"),
        F.first("x", ignorenulls=True),
        F.last("x"),
        F.median("x"),
    ),
    *(
        F.min("s"),
        F.max("s"),
        F.collect_list("s"),
        F.collect_set("s"),
        F.count_distinct("s"),
        F.approx_count_distinct("s"),
    ),
    *(
        F.sum("d"),
        F.avg("d"),
        F.max("d"),
        F.max_by("s", "x"),
        F.min_by("s", "v"),
        F.top_n("v", 2),
        F.top_n_by("s", "v", 2),
        F.first_n("v", 2),
        F.last_n("s", 3, ignorenulls=True),
        F.collect_list("v", nulls="include"),
        F.max_by("v", ["x", F.asc("s")]),
        F.top_n_by("s", [F.asc("v"), "x"], 2),
    ),
    *(
        F.mode("s"),
        F.mode("x"),
        F.percentile("v", 0.1),
        F.median("v"),
        F.count_distinct("x"),
        F.top_n("x", 3),
        WORDS("s"),
    ),
)
AGGREGATION = Aggregation(tuple(one.alias(f"a{n}") for n, one in enumerate(AGGREGATES)), SCHEMA)

ROWS = st.fixed_dictionaries(
    {
        "piece": st.integers(0, 12),
        "v": st.none() | st.integers(-5, 5),
        "x": st.none() | st.sampled_from([0.0, 0.25, -3.0, float("nan"), float("inf"), float("-inf")]),
        "s": st.none() | st.sampled_from(["a", "b", ""]),
        "d": st.none() | st.sampled_from([Decimal("1.25"), Decimal("-99999999.99")]),
    }
)


def pieces_of(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Returns the partials of the rows, one piece for each value of `piece`."""
    frame = pl.DataFrame(rows, schema={"piece": pl.Int64(), **SCHEMA})
    return AGGREGATION.lift(frame, ["piece"])


def read_off(partials: pl.DataFrame, aggregation: Aggregation = AGGREGATION) -> list[dict[str, Any]]:
    """Returns the aggregates, by name, of each row of partials."""
    return partials.select(aggregation.results).select(one.name for one in aggregation.aggregates).to_dicts()


@examples(200)
@given(rows=st.lists(ROWS, min_size=1, max_size=40), data=st.data())
def test_an_aggregate_of_a_range_is_that_of_its_merged_pieces(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    pieces = pieces_of(rows)
    bounds = st.tuples(st.integers(0, pieces.height - 1), st.integers(1, pieces.height)).filter(
        lambda span: span[0] < span[1]
    )
    spans = data.draw(st.lists(bounds, max_size=10))
    low, high = (pl.Series([span[side] for span in spans], dtype=pl.Int64) for side in (0, 1))
    merging = AGGREGATION.merging(pieces)
    expected = [
        read_off(pieces[a:b].with_columns(g=pl.lit(0)).group_by("g").agg(merging).drop("g"))[0]
        for a, b in spans
    ]
    for aggregation in (AGGREGATION, range_aggregation(AGGREGATION)):
        found = read_off(aggregate_ranges(aggregation, pieces, low, high), aggregation)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert all(same(one[name], other[name]) for name in one), (one, other)


def test_lists_over_thousands_of_pieces() -> None:
    """Lists are right over thousands of pieces, with ranges of all lengths in any order."""
    aggregation = Aggregation((F.top_n("v", 2), F.sum("v")), SCHEMA)
    values = [(n * 7919) % 10007 for n in range(10_000)]
    pieces = aggregation.singles(pl.DataFrame({"v": values}))
    low = [(n * 5003) % 9_000 for n in range(500)]
    high = [at + 1 + n for n, at in enumerate(low)]
    found = aggregate_ranges(aggregation, pieces, pl.Series(low), pl.Series(high)).select(aggregation.results)
    assert found.rows() == [
        (sorted(values[a:b])[-1:-3:-1], sum(values[a:b])) for a, b in zip(low, high, strict=True)
    ]


def test_types_are_those_of_the_parts() -> None:
    """The partials of a range have the schema of the aggregation."""
    pieces = pieces_of([{"piece": 0, "v": 1, "x": 1.0, "s": "a", "d": Decimal("1.00")}] * 3)
    spans = aggregate_ranges(AGGREGATION, pieces, pl.Series([0]), pl.Series([1]))
    assert dict(spans.schema) == AGGREGATION.schema


def test_a_sum_that_leaves_64_bits_is_refused_only_where_it_does() -> None:
    """A range whose sum fits is exact even if the sums of shorter ranges do not fit (semantics 24.3)."""
    totals = Aggregation((F.sum("v"),), SCHEMA)
    rows = pl.DataFrame(
        {"piece": [0, 1, 2], "v": [2**62, 2**62, -(2**62)]}, schema={"piece": pl.Int64(), "v": pl.Int64()}
    )
    pieces = totals.lift(rows, ["piece"])
    fitting = aggregate_ranges(totals, pieces, pl.Series([0, 1]), pl.Series([3, 3])).select(totals.results)
    assert fitting.to_series().to_list() == [2**62, 0]
    beyond = aggregate_ranges(totals, pieces, pl.Series([0]), pl.Series([2]))
    with pytest.raises(
        AggregateOverflowError, match=r"sum\(v\) = 9223372036854775808 \| .*64 bits.* \| cast v"
    ):
        beyond.select(totals.results)
