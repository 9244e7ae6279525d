"""A sum has to fit its type only where it is emitted, wherever batches are cut (semantics 3.1, 24.3)."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.range_aggregate import aggregate_ranges
from panewise.errors import AggregateOverflowError
from panewise.streamwindow import count
from panewise.testing import run
from tests.engine.effort import DEFAULT

MOST, WIDEST, LEAST = 2**63 - 1, Decimal("9" * 36 + ".99"), Decimal("-" + "9" * 36 + ".99")
TOTAL = F.sum("v").alias("a")
MEAN = F.avg("v").alias("a")
VALUES: dict[str, list[Any]] = {"bigint": [MOST, 5, -10], "decimal(38,2)": [WIDEST, WIDEST, LEAST]}
RESULTS: dict[str, Any] = {"bigint": MOST - 5, "decimal(38,2)": WIDEST}
SIDE = pw.Side(keys=["k"], event_time="t")


def windows(window: Any, aggregate: pw.Aggregate, **fields: Any) -> Any:
    return pw.WindowOperator(window=window, aggregates=[aggregate], **fields)


def over_range(start: int | None, aggregate: pw.Aggregate) -> Any:
    column = pw.OverColumn(aggregate, pw.Frame("range", start, 0))
    return pw.OverOperator(event_time="event_time", columns=[column])


# The rows have one event time. So no other sum than that of all of them is emitted.
OPERATORS: dict[str, Callable[[pw.Aggregate], Any]] = {
    "never": lambda one: windows(pw.Tumbling(10), one, trigger=pw.Never()),
    "tumbling": lambda one: windows(pw.Tumbling(10), one),
    "retracting": lambda one: windows(pw.Tumbling(10), one, accumulation="retracting"),
    "hopping": lambda one: windows(pw.Hopping(10, 2), one),
    "cumulating": lambda one: windows(pw.Cumulating(10, 2), one),
    "session": lambda one: windows(pw.Session(5), one),
    "sliding": lambda one: windows(pw.Sliding(5), one),
    "rows": lambda one: windows(pw.Tumbling(pw.rows(3)), one, order=["event_time"]),
    "evictor": lambda one: windows(pw.Tumbling(10), one, evictor=pw.CountEvictor(9)),
    "chain": lambda one: windows(pw.Tumbling(10), F.max("v").alias("v"), keys=["n"]).then(aggregates=[one]),
    "range": lambda one: over_range(-9, one),
    "running": lambda one: over_range(None, one),
    "policies": lambda one: pw.StreamWindow.tumbling(count(3), aggregates=[one]),
}


def panes(spec: Any, batches: list[Any], types: Any, runtime: str, **options: Any) -> list[Any]:
    """Returns the emitted sums, in any order."""
    events = [*({"op": "add", "rows": rows} for rows in batches), {"op": "finish"}]
    outputs = run(spec, events, runtime, types=types, **options)
    return sorted(pane["a"] for output in outputs for pane in output["panes"])


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("operator", OPERATORS)
def test_only_the_sum_that_is_emitted_has_to_fit(operator: str, kind: str) -> None:
    """The result is that of one batch, wherever batches are cut, also if each is a step of its own."""
    spec, types = OPERATORS[operator](TOTAL), {"v": kind}
    rows = [{"event_time": 3, "n": n, "v": value} for n, value in enumerate(VALUES[kind])]
    wanted = panes(spec, [rows], types, "oracle")
    assert set(wanted) == {RESULTS[kind]}
    single = [[row] for row in rows]
    for cuts in ([rows], [rows[:2], rows[2:]], single):
        assert panes(spec, cuts, types, "engine") == wanted
    assert panes(spec, single, types, "engine", stored=True) == wanted


@pytest.mark.parametrize("operator", sorted({*OPERATORS} - {"chain", "policies", "rows"}))
def test_the_sum_of_a_mean_has_to_fit_where_it_is_emitted(operator: str) -> None:
    spec, kind = OPERATORS[operator](MEAN), "decimal(38,0)"
    texts = ("9" * 38, "9" * 38, "-" + "9" * 38, "-" + "9" * 38, "8", "1")
    rows = [{"event_time": 3, "v": Decimal(text)} for text in texts]
    spread = [[row] for row in rows[:3]] + [rows[3:]]
    found = panes(spec, spread, {"v": kind}, "engine")
    assert found == panes(spec, [rows], {"v": kind}, "oracle")
    assert set(found) == {Decimal("1.5000")}


@pytest.mark.parametrize("kind", VALUES)
def test_sums_of_sides_and_over_joins(kind: str) -> None:
    values = VALUES[kind]
    rows = [{"k": "a", "t": n, "v": value} for n, value in enumerate(values)]
    others = [{"k": "a", "t": 0}]
    types = {"left": {"k": "string", "t": "bigint", "v": kind}, "right": {"k": "string", "t": "bigint"}}
    cogroup = pw.CogroupOperator(left=SIDE, right=SIDE, window=pw.Tumbling(10), left_aggregates=[TOTAL])
    right = pw.Side(keys=["k"], event_time="t", prefix="r_")
    pairs = pw.JoinOperator(left=SIDE, right=right, match=pw.SameWindow(pw.Tumbling(10)))
    over_pairs = pairs.then(window=pw.Tumbling(100), aggregates=[TOTAL])
    for spec in (cogroup, over_pairs):
        batches = [{"left": [row], "right": others if row["t"] == 0 else []} for row in rows]
        for runtime in ("oracle", "engine"):
            assert panes(spec, batches, types, runtime) == [RESULTS[kind]]


@pytest.mark.parametrize("kind", VALUES)
def test_what_readers_combine_may_leave_the_range(kind: str) -> None:
    """Partials are combined before the shuffle, and again after it."""
    dtype = pl.Int64() if kind == "bigint" else pl.Decimal(38, 2)
    aggregation = Aggregation((TOTAL,), {"v": dtype})
    for values in permutations(VALUES[kind]):
        rows = pl.DataFrame({"g": [0, 0, 1], "v": list(values)}, schema={"g": pl.Int64(), "v": dtype})
        partials = aggregation.lift(rows, ["g"]).with_columns(pl.lit(0).alias("all"))
        merged = partials.group_by("all").agg(aggregation.merging(partials))
        assert merged.select(aggregation.results)["a"].to_list() == [RESULTS[kind]]


def test_a_sum_that_is_emitted_and_does_not_fit_is_an_error() -> None:
    """The window goes on from the state before the step that raised."""
    spec = windows(pw.Tumbling(10), TOTAL)
    rows = [{"event_time": 3, "v": value} for value in (MOST, 1)]
    for runtime in ("oracle", "engine"):
        for batches in ([rows], [[row] for row in rows]):
            with pytest.raises(AggregateOverflowError, match=r"(sum\(v\) = |a=)9223372036854775808 \|"):
                panes(spec, batches, {"v": "bigint"}, runtime)


BIGINTS = st.none() | st.sampled_from([MOST, -MOST - 1, 2**62, -1, 1, 0]) | st.integers(-MOST - 1, MOST)
TEXTS = ("3" * 36 + ".33", "0.01", "-1.00", "1" + "0" * 19 + ".00", "-1" + "0" * 17 + ".00")
DECIMALS = st.none() | st.sampled_from([WIDEST, LEAST, *map(Decimal, TEXTS)])


@DEFAULT
@given(data=st.data(), decimals=st.booleans())
def test_merges_are_exact_in_every_order(data: st.DataObject, decimals: bool) -> None:
    """A sum and its carry are the exact sum, merged in groups and from ranges of pieces."""
    dtype: pl.DataType = pl.Decimal(38, 2) if decimals else pl.Int64()
    unit, scale = (10**38, 100) if decimals else (2**64, 1)
    values = data.draw(st.lists(DECIMALS if decimals else BIGINTS, min_size=1, max_size=12))
    groups = data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values)))
    aggregation = Aggregation((TOTAL,), {"v": dtype})
    rows = pl.DataFrame({"g": groups, "v": values}, schema={"g": pl.Int64(), "v": dtype})
    pieces = aggregation.lift(rows, ["g"])
    merged = pieces.with_columns(pl.lit(0).alias("all"))
    merged = merged.group_by("all").agg(aggregation.merging(merged))
    ranges = aggregate_ranges(aggregation, pieces, pl.Series([0]), pl.Series([pieces.height]))
    known = [int(Fraction(value) * scale) for value in values if value is not None]
    for found in (merged, ranges):
        (value, carry) = found.select(pl.col("__sum:v").to_physical(), "__carry:v").row(0)
        assert (value is None) == (not known)
        assert (value or 0) + carry * unit == sum(known)
        fits = abs(sum(known)) < 10**38 if decimals else -(2**63) <= sum(known) < 2**63
        assert (carry == 0) == fits
