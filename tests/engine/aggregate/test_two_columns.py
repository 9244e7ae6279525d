"""Aggregates of two columns (semantics 24.24)."""

import math
from typing import Any

import pytest

from panewise import Frame, Global, OverColumn, OverOperator, Session, Sliding, Tumbling, WindowOperator
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import PAIRS
from panewise.testing import run
from panewise.testing.compare import same
from tests.engine.effort import FULL

NAN = float("nan")
MADE = [getattr(F, name)("y", "x").alias(name) for name in sorted(PAIRS)]
CASES: list[list[tuple[Any, Any]]] = [
    [(1.0, 2.0), (2.0, 5.0), (None, 1.0), (4.0, 3.0), (2.5, None), (-1.0, 0.5)],
    [(0.1, 0.3), (0.2, 0.3), (0.7, 0.3)],
    [(0.3, 0.1), (0.3, 0.2), (0.3, 0.7)],
    [(1.0, 2.0)],
    [(None, 1.0)],
    [(1.0, NAN), (2.0, 1.0), (3.0, 1.5)],
    [(math.inf, 1.0), (1.0, 2.0)],
    [(1e9 + 1, 1e9 + 2), (1e9 + 2, 1e9 + 5), (1e9 + 4, 1e9 + 3)],
]
KINDS = {"y": "double", "x": "double"}


def results(spec: Any, rows: list[Any], runtime: str, *, single: bool) -> list[Any]:
    batches = [[row] for row in rows] if single else [rows]
    events = [*({"op": "add", "rows": some} for some in batches), {"op": "finish"}]
    return [output["panes"] for output in run(spec, events, runtime, types=KINDS)]


@pytest.mark.parametrize("pairs", CASES)
def test_results_are_those_of_the_oracle_wherever_batches_are_cut(pairs: list[tuple[Any, Any]]) -> None:
    """semantics 24.24"""
    rows = [{"event_time": n, "y": y, "x": x} for n, (y, x) in enumerate(pairs)]
    specs: list[Any] = [
        WindowOperator(window=window, aggregates=MADE) for window in (Tumbling(99), Session(5), Sliding(3))
    ]
    frames = (Frame("rows", -2, 0), Frame("range", -3, 0), Frame("rows", None, 0))
    specs += [
        OverOperator(event_time="event_time", columns=[OverColumn(one, frame) for one in MADE])
        for frame in frames
    ]
    for number, spec in enumerate(specs):
        for single in (False, True) if FULL else (bool(number % 2),):
            found = [results(spec, rows, runtime, single=single) for runtime in ("engine", "oracle")]
            assert same(*found)


def test_results_are_those_of_spark() -> None:
    """Values that Spark 4.2 returned for three pairs and a null."""
    rows = [{"event_time": 0, "y": y, "x": x} for y, x in ((1.0, 2.0), (2.0, 5.0), (None, 1.0), (4.0, 3.0))]
    (pane,) = results(WindowOperator(window=Global(), aggregates=MADE), rows, "engine", single=True)[-1]
    wanted = {
        "corr": 0.1428571428571428, "covar_pop": 0.2222222222222221, "covar_samp": 0.33333333333333315,
        "regr_avgx": 3.3333333333333335, "regr_avgy": 2.3333333333333335, "regr_count": 3,
        "regr_intercept": 1.8571428571428572, "regr_r2": 0.020408163265306103,
        "regr_slope": 0.14285714285714288, "regr_sxx": 4.666666666666667, "regr_sxy": 0.6666666666666663,
        "regr_syy": 4.666666666666666,
    }  # fmt: skip
    assert {name: pane[name] for name in wanted} == pytest.approx(wanted, rel=1e-12)


def test_both_columns_are_numbers() -> None:
    for columns in (("s", "x"), ("x", "s")):
        spec = WindowOperator(window=Global(), aggregates=[F.corr(*columns)])
        with pytest.raises(SpecError, match=r"over s: string \| corr takes numbers"):
            run(spec, [{"op": "finish"}], "engine", types={"s": "string", "x": "double"})
