"""Partials of aggregates that depend on arrival order may be merged in any order, with the same results."""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise import UserAggregate
from panewise import functions as F
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.in_arrival_order import ArrivalOrderAggregation
from panewise.engine.aggregate.range_aggregate import aggregate_ranges
from panewise.engine.columns import ARRIVAL_NUMBER
from panewise.testing.compare import same
from tests.engine.effort import examples

SCHEMA: dict[str, pl.DataType] = {"v": pl.Int64(), "x": pl.Float64(), "s": pl.String(), "ok": pl.Boolean()}
TOTAL = UserAggregate.reduce("total", lambda one, other: one + other, result="bigint", commutative=True)
WORDS = UserAggregate.fold(
    "words", "", lambda state, value: state + (value or "?"), lambda one, other: one + other, result="string"
)
FEW_ROWS = [
    *(F.first("s"), F.last("s"), F.first("x", ignorenulls=True), F.last("v", ignorenulls=True)),
    *(
        F.top_n_by("s", "v", 2),
        F.top_n_by("v", "x", 1, ascending=True),
        F.top_n_by("s", "x", 2, distinct=True),
    ),
    *(F.first_n("v", 2), F.last_n("s", 2), F.last_n("v", 2, ignorenulls=True), F.first_n("x", 1)),
    *(F.first("v").filter("ok"), F.last("s").filter("ok"), F.last_n("x", 3).filter("ok")),
    *(F.max_by("v", ["x", "s"]), F.min_by("s", ["v", F.desc("x")])),
    F.top_n_by("s", [F.asc("v"), "x"], 2),
    F.top_n_by("v", ["x", F.asc("s")], 2, distinct=True),
    *(F.max_by("s", "x"), F.min_by("s", "x"), F.max_by("v", "s"), F.min_by("x", "v")),
]
BESIDE = [
    F.count(),
    F.sum("v"),
    F.median("x"),
    F.collect_list("v"),
    F.collect_set("s"),
    TOTAL("v"),
    WORDS("s"),
    WORDS("s").filter("ok"),
    F.collect_list("v", nulls="include"),
    F.collect_list("s", nulls="include").filter("ok"),
]
AGGREGATES = tuple(one.alias(f"a{n}") for n, one in enumerate([*FEW_ROWS, *BESIDE]))
ROWS = st.fixed_dictionaries(
    {
        "piece": st.integers(0, 4),
        "v": st.none() | st.integers(-1, 1),
        "x": st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan")]),
        "s": st.none() | st.sampled_from(["a", "b"]),
        "ok": st.none() | st.booleans(),
    }
)


def results(aggregation: Aggregation, partials: pl.DataFrame) -> dict[str, Any]:
    """Returns the aggregates, by name, of a window with these partials."""
    _, told = aggregation.fired(partials.with_columns(pl.lit(True).alias("fires")), "fires")
    return told.select(one.name for one in AGGREGATES).row(0, named=True)


@examples(150)
@given(given=st.lists(ROWS, min_size=1, max_size=12), data=st.data())
def test_partials_may_be_merged_in_any_order(given: list[dict[str, Any]], data: st.DataObject) -> None:
    """Partials that are merged in any order give the aggregates of the rows in arrival order."""
    rows = (
        pl.DataFrame(given, schema={"piece": pl.Int64(), **SCHEMA})
        .with_row_index(ARRIVAL_NUMBER)
        .cast({ARRIVAL_NUMBER: pl.Int64()})
    )
    all_of_them = rows.with_columns(pl.lit(0).alias("all"))
    plain = Aggregation(AGGREGATES, SCHEMA)
    wanted = results(plain, plain.lift(all_of_them, ["all"]))
    turned = ArrivalOrderAggregation(AGGREGATES, SCHEMA, ())
    pieces = turned.lift(rows, ["piece"])
    pieces = pieces[data.draw(st.permutations(range(pieces.height)))]
    spans = aggregate_ranges(turned, pieces, pl.Series([0]), pl.Series([pieces.height]))
    assert same(results(turned, spans), wanted)
    both = pl.concat([pieces.with_columns(pl.lit(n).alias("group")) for n in (0, 1)])[
        data.draw(st.permutations(range(2 * pieces.height)))
    ]
    merged = both.group_by("group", maintain_order=True).agg(turned.merging(both))
    for place in range(2):
        found = merged[place].select(pl.col(column.name).cast(column.dtype) for column in turned.partials)
        assert same(results(turned, found), wanted)
