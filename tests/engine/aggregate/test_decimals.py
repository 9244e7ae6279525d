"""Sums and means of decimals are those of Spark in ANSI mode, in every operator (semantics 24.16).

A sum or a mean that does not fit its type is an error.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.aggregate import sums
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.range_aggregate import aggregate_ranges
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import AggregateOverflowError
from panewise.streamwindow import count
from panewise.testing import run
from tests.engine.decimals import CASES, Case
from tests.engine.effort import DEFAULT

OVERFLOW = (
    r"(sum|avg)\(v\) beyond decimal\(\d+,\d+\) \| a sum or a mean of decimals fits .*24\.16\) \| "
    r"cast v to a decimal of fewer"
)
OVERFLOWS = [case for case in CASES if case.total is None]


def outcome(spec: Any, events: list[dict[str, Any]], types: dict[str, str], runtime: str, name: str) -> Any:
    """Returns the values of a column of the panes, or "overflow" if the run raises that error."""
    try:
        outputs = run(spec, events, runtime, types=types)
    except AggregateOverflowError:
        return "overflow"
    return [pane[name] for output in outputs for pane in output["panes"]]


def expected(value: str | None) -> Any:
    return "overflow" if value is None else [Decimal(value)]


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_window(case: Case, batches: int) -> None:
    """Oracle and engine give Spark's sum and mean, also if they merge two partials (semantics 24.16)."""
    rows = [row | {"event_time": n} for n, row in enumerate(case.rows)]
    cut = len(rows) // batches
    events = [{"op": "add", "rows": some} for some in (rows[:cut], rows[cut:]) if some] + [{"op": "finish"}]
    for aggregate, value in ((F.sum("v"), case.total), (F.avg("v"), case.mean)):
        spec = pw.WindowOperator(window=pw.Global(), aggregates=[aggregate.alias("a")])
        for runtime in ("oracle", "engine"):
            assert outcome(spec, events, {"v": case.kind}, runtime, "a") == expected(value), runtime


@pytest.mark.parametrize("case", CASES, ids=str)
def test_result_types(case: Case) -> None:
    """Precision and scale of the results are those of semantics 24.16."""
    aggregation = Aggregation((F.sum("v"), F.avg("v"), F.max("v"), F.collect_list("v")), {"v": case.dtype})
    assert list(aggregation.result_types.values()) == [
        case.total_type,
        case.mean_type,
        case.dtype,
        pl.List(case.dtype),
    ]


def _windows(window: Any, **fields: Any) -> pw.WindowOperator:
    return pw.WindowOperator(window=window, aggregates=[F.sum("v").alias("a")], **fields)


def _chain() -> Any:
    first = pw.WindowOperator(
        window=pw.Tumbling(100), keys=["event_time"], aggregates=[F.sum("v").alias("v")]
    )
    return first.then(aggregates=[F.sum("v").alias("a")])


OPERATORS: dict[str, Callable[[], Any]] = {
    "tumbling": lambda: _windows(pw.Tumbling(100)),
    "hopping": lambda: _windows(pw.Hopping(100, 10)),
    "accumulating": lambda: _windows(pw.Tumbling(100), accumulation="accumulating", trigger=pw.Always()),
    "retracting": lambda: _windows(pw.Tumbling(100), accumulation="retracting", trigger=pw.Every(2)),
    "session": lambda: _windows(pw.Session(5)),
    "rows": lambda: _windows(pw.Tumbling(pw.rows(100)), order=["event_time"]),
    "sliding": lambda: _windows(pw.Sliding(99)),
    "sliding rows": lambda: _windows(pw.Sliding(pw.rows(100)), order=["event_time"]),
    "evictor": lambda: _windows(pw.Tumbling(100), evictor=pw.CountEvictor(100)),
    "row by row": lambda: _windows(pw.Tumbling(100), evaluate="record"),
    "chain": _chain,
    "frame": lambda: pw.OverOperator(
        event_time="event_time", columns=[pw.OverColumn(F.sum("v").alias("a"), pw.Frame("rows", -99, 0))]
    ),
    "range": lambda: pw.OverOperator(
        event_time="event_time", columns=[pw.OverColumn(F.sum("v").alias("a"), pw.Frame("range", -99, 0))]
    ),
    "running": lambda: pw.OverOperator(
        event_time="event_time", columns=[pw.OverColumn(F.sum("v").alias("a"), pw.Frame("rows", None, 0))]
    ),
    "policies": lambda: pw.StreamWindow.sliding(count(100), count(1), aggregates=[F.sum("v").alias("a")]),
}


@pytest.mark.parametrize("batches", [1, 3])
@pytest.mark.parametrize("case", OVERFLOWS, ids=str)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_sum_that_does_not_fit_is_an_error_in_every_operator(
    operator: str, case: Case, batches: int
) -> None:
    """Every operator raises the same error, wherever batches are cut (semantics 24.16)."""
    rows = [row | {"event_time": n} for n, row in enumerate(case.rows)]
    events = [{"op": "add", "rows": rows[n::batches]} for n in range(batches) if rows[n::batches]] + [
        {"op": "finish"}
    ]
    for runtime in ("oracle", "engine"):
        with pytest.raises(AggregateOverflowError, match=OVERFLOW):
            run(OPERATORS[operator](), events, runtime, types={"v": case.kind})


HUGE = st.sampled_from(["0", "1", "9" * 37, "3" + "0" * 37, "9" * 38, "-1", "-" + "9" * 38])
KINDS = (
    pw.Tumbling(6),
    pw.Hopping(6, 2),
    pw.Session(2),
    pw.Sliding(4),
    pw.Cumulating(6, 2),
    pw.Tumbling(pw.rows(3)),
    pw.Sliding(pw.rows(2)),
)


@DEFAULT
@given(data=st.data())
def test_engine_is_oracle_where_sums_may_not_fit(data: st.DataObject) -> None:
    """Engine and oracle raise for the same inputs, wherever batches are cut (semantics 24.16)."""
    window = data.draw(st.sampled_from(KINDS))
    scale = data.draw(st.sampled_from([0, 18, 38]))
    row = st.fixed_dictionaries(
        {"event_time": st.integers(0, 20), "v": st.none() | HUGE.map(lambda it: Decimal(it).scaleb(-scale))}
    )
    batches = data.draw(st.lists(st.lists(row, max_size=5), min_size=1, max_size=4))
    fields: dict[str, Any] = {"order": ["event_time"]} if "rows" in repr(window) else {}
    spec = pw.WindowOperator(
        window=window, aggregates=[F.sum("v").alias("a"), F.max("v").alias("m")], **fields
    )
    events = [*({"op": "add", "rows": rows} for rows in batches), {"op": "finish"}]
    types = {"v": f"decimal(38,{scale})", "event_time": "bigint"}
    if any(batches):
        assert outcome(spec, events, types, "engine", "a") == outcome(spec, events, types, "oracle", "a")


VALUE = st.none() | st.sampled_from(
    ["1", "-1", "9" * 38, "-" + "9" * 38, "5" + "0" * 37, "-5" + "0" * 37]
).map(Decimal)


@DEFAULT
@given(values=st.lists(VALUE, min_size=1, max_size=30), data=st.data())
def test_spans_are_exact_or_raise(values: list[Decimal | None], data: st.DataObject) -> None:
    """The sum of an index range is exact or an error, whatever its partial sums and other rows are."""
    dtype = pl.Decimal(38, 0)
    aggregation = Aggregation((F.sum("v").alias("a"),), {"v": dtype})
    bounds = st.tuples(st.integers(0, len(values) - 1), st.integers(1, len(values))).filter(
        lambda span: span[0] < span[1]
    )
    spans = data.draw(st.lists(bounds, min_size=1, max_size=4))
    pieces = aggregation.singles(pl.DataFrame({"v": values}, schema={"v": dtype}))
    exact = [[value for value in values[low:high] if value is not None] for low, high in spans]
    totals = [sum(map(int, some)) if some else None for some in exact]
    low, high = (pl.Series([span[side] for span in spans], dtype=pl.Int64) for side in (0, 1))
    if any(total is not None and abs(total) >= 10**38 for total in totals):
        with pytest.raises(AggregateOverflowError, match=OVERFLOW):
            aggregate_ranges(aggregation, pieces, low, high).select(aggregation.results)
    else:
        found = aggregate_ranges(aggregation, pieces, low, high).select(aggregation.results)
        assert found["a"].to_list() == totals


@DEFAULT
@given(groups=st.lists(st.tuples(st.integers(0, 2), VALUE), min_size=1, max_size=30), merged=st.booleans())
def test_groups_are_exact_or_raise(groups: list[tuple[int, Decimal | None]], merged: bool) -> None:
    """The sum of a group of rows or of partials is exact or an error, whatever its partial sums are."""
    dtype = pl.Decimal(38, 0)
    aggregation = Aggregation((F.sum("v").alias("a"),), {"v": dtype})
    rows = pl.DataFrame(groups, schema={"g": pl.Int64(), "v": dtype}, orient="row")
    totals: dict[int, int | None] = {}
    for group, value in groups:
        before = totals.get(group)
        totals[group] = before if value is None else (before or 0) + int(value)

    def sums() -> dict[int, Any]:
        partials = rows.select("g").hstack(aggregation.singles(rows))
        groups = (
            partials.group_by("g").agg(aggregation.merging(partials))
            if merged
            else aggregation.lift(rows, ["g"])
        )
        return dict(groups.select("g", *aggregation.results).iter_rows())

    if any(total is not None and abs(total) >= 10**38 for total in totals.values()):
        with pytest.raises(AggregateOverflowError, match=OVERFLOW):
            sums()
    else:
        assert sums() == totals


def test_a_narrow_sum_that_does_not_fit_its_type_is_an_error() -> None:
    """A partial has 38 digits, the sum of a decimal(2,0) has 12.

    The test starts from a partial, because it would take too many rows to exceed 12 digits.
    """
    aggregation = Aggregation((F.sum("v"),), {"v": pl.Decimal(2, 0)})
    schema = {"__sum:v": pl.Decimal(38, 0), "__carry:v": pl.Int64()}
    partial = pl.DataFrame({"__sum:v": [Decimal(10**12)], "__carry:v": [0]}, schema)
    with pytest.raises(AggregateOverflowError, match=r"sum\(v\) beyond decimal\(12,0\)"):
        partial.select(aggregation.results)


def test_ordinary_decimals_are_not_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of decimal(10,2) exclude an overflow, so the values of a small batch are not examined."""
    looked: list[str] = []
    greatest = sums.greatest
    monkeypatch.setattr(sums, "greatest", lambda values: (looked.append(values.name), greatest(values))[1])
    rows = pl.DataFrame(
        {"g": [1, 1], "v": [Decimal("1.25")] * 2}, schema={"g": pl.Int64(), "v": pl.Decimal(10, 2)}
    )
    Aggregation((F.sum("v"),), {"v": pl.Decimal(10, 2)}).lift(rows, ["g"])
    assert looked == []


def test_sums_of_one_batch_over_many_windows_stay_apart() -> None:
    """Overflow is tested for each group: the sums of both keys fit, the partial sums of the batch do not."""
    operator = WindowEngine(
        _windows(pw.Tumbling(10), keys=["k"]),
        {"event_time": pl.Int64(), "k": pl.Int64(), "v": pl.Decimal(38, 0)},
    )
    v = [Decimal("9" * 38), Decimal("9" * 38), Decimal("-" + "9" * 38)]
    schema = {"event_time": pl.Int64(), "k": pl.Int64(), "v": pl.Decimal(38, 0)}
    operator.add(pl.DataFrame({"event_time": np.arange(3), "k": [1, 2, 1], "v": v}, schema=schema))
    assert operator.finish().panes.select("k", "a").rows() == [(1, 0), (2, Decimal("9" * 38))]
