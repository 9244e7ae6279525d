"""Aggregates of distinct values, of bits, and of powers of deviations (semantics 24.25, 24.22)."""

import math
from decimal import Decimal
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import AggregateOverflowError, SpecError
from panewise.testing import run
from panewise.testing.compare import same

OF_NUMBERS = (F.sum_distinct, F.avg_distinct, F.product, F.skewness, F.kurtosis)
OF_BITS = (F.bit_and, F.bit_or, F.bit_xor)
NAN = float("nan")
VALUES: list[tuple[str, list[Any]]] = [
    ("bigint", [6, None, 3, 3, 12, -5]),
    ("int", [6, 3, None, 3, 12, 1]),
    ("double", [0.5, None, 1.5, 1.5, -2.25, 7.0]),
    ("double", [0.1, 0.1, 0.1]),
    ("double", [None, None]),
    ("double", [NAN, 1.0, NAN]),
    ("double", [math.inf]),
]
FRAMES = (pw.Frame("rows", -2, 0), pw.Frame("range", -3, 0), pw.Frame("rows", None, 0))


def operators(aggregates: list[pw.Aggregate]) -> list[Any]:
    kinds = (pw.Tumbling(100), pw.Hopping(10, 2), pw.Session(5), pw.Sliding(9))
    windows = [pw.WindowOperator(window=window, aggregates=aggregates) for window in kinds]
    columns = [[pw.OverColumn(one, frame) for one in aggregates] for frame in FRAMES]
    return [*windows, *(pw.OverOperator(event_time="event_time", columns=each) for each in columns)]


@pytest.mark.parametrize(("kind", "values"), VALUES)
def test_results_are_those_of_the_oracle_wherever_batches_are_cut(kind: str, values: list[Any]) -> None:
    made = [fn("v").alias(fn.__name__) for fn in (*OF_NUMBERS, *(() if kind == "double" else OF_BITS))]
    rows = [{"event_time": n, "v": value} for n, value in enumerate(values)]
    for spec in operators(made):
        for cuts in ([rows], [[row] for row in rows]):
            events = [*({"op": "add", "rows": some} for some in cuts), {"op": "finish"}]
            found = [
                [output["panes"] for output in run(spec, events, runtime, types={"v": kind})]
                for runtime in ("engine", "oracle")
            ]
            assert same(*found)


def result(aggregate: pw.Aggregate, values: list[Any], kind: str, runtime: str) -> Any:
    spec = pw.WindowOperator(window=pw.Global(), aggregates=[aggregate.alias("a")])
    events = [*({"op": "add", "rows": [{"event_time": 0, "v": value}]} for value in values), {"op": "finish"}]
    (pane,) = run(spec, events, runtime, types={"v": kind})[-1]["panes"]
    return pane["a"]


@pytest.mark.parametrize("runtime", ["engine", "oracle"])
def test_sums_of_distinct_values_fit_their_type_or_are_an_error(runtime: str) -> None:
    """semantics 24.3, 24.25: the sum of 2^62, 2^62 - 1, ... may leave its type on the way."""
    values = [2**62, 2**62, 2**62 - 1, 2, -2]
    assert result(F.sum_distinct("v"), values, "bigint", runtime) == 2**63 - 1
    with pytest.raises(AggregateOverflowError):
        result(F.sum_distinct("v"), [*values, 1], "bigint", runtime)
    cents = [Decimal("0.10"), Decimal("0.10"), Decimal("0.25")]
    assert result(F.sum_distinct("v"), cents, "decimal(10,2)", runtime) == Decimal("0.35")
    assert result(F.avg_distinct("v"), cents, "decimal(10,2)", runtime) == Decimal("0.175000")


def test_deviations_do_not_cancel() -> None:
    """semantics 24.22: a large mean, in one batch for each value, does not spoil them."""
    values = [1e9 + 1, 1e9 + 1, 1e9 + 1, 1e9 + 5]
    assert result(F.skewness("v"), values, "double", "engine") == pytest.approx(2 / math.sqrt(3), rel=1e-9)
    assert result(F.kurtosis("v"), values, "double", "engine") == pytest.approx(-2 / 3, rel=1e-9)


@pytest.mark.parametrize(
    ("aggregate", "kind", "rule"),
    [
        *((fn("v"), "string", "takes numbers") for fn in OF_NUMBERS),
        *((fn("v"), "double", "takes whole numbers") for fn in OF_BITS),
    ],
)
def test_types_are_checked(aggregate: pw.Aggregate, kind: str, rule: str) -> None:
    with pytest.raises(SpecError, match=rule):
        result(aggregate, [], kind, "engine")
