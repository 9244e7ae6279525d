"""The same rows in the same order give the same panes, to the last bit of a float (semantics 33)."""

from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.registry import operator_for
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import AnyWindow

SCHEMA = {"t": pl.Int64(), "k": pl.Int64(), "x": pl.Float64()}
N = pl.int_range(60_000, eager=True)
ROWS = pl.DataFrame({"t": N % 3_000, "k": N % 7, "x": (N * 7_919 % 10_007) / 7}, schema=SCHEMA)
TIMES = 4


@pytest.mark.parametrize(
    "window",
    [pw.Tumbling(1_000), pw.Hopping(1_000, 500), pw.Sliding(100), pw.Session(10)],
    ids=lambda w: w.kind,
)
def test_panes(window: AnyWindow) -> None:
    """An operator that takes the same batch again emits the same panes."""
    spec = pw.WindowOperator(
        window=window, keys=["k"], event_time="t", aggregates=[F.sum("x").alias("s"), F.avg("x").alias("m")]
    )
    made = []
    for _ in range(TIMES):
        operator = operator_for(spec, SCHEMA)
        operator.add(ROWS)
        made.append(operator.finish().panes.sort("k", "window_start", "window_end").to_dicts())
    assert made == [made[0]] * TIMES


def test_partials() -> None:
    """The pre-aggregation of the same batch gives the same partials."""
    spec = pw.WindowOperator(window=pw.Tumbling(10), keys=["k"], event_time="t", aggregates=[F.avg("x")])
    plan = WindowPlan(spec, SCHEMA)
    made = [plan.combine(plan.validate(ROWS, 0).valid).to_dicts() for _ in range(TIMES)]
    assert made == [made[0]] * TIMES


@pytest.mark.parametrize(
    ("fields", "matter"),
    [
        ({"window": pw.Tumbling(10)}, False),
        ({"window": pw.Tumbling(pw.rows(3)), "event_time": None}, True),
        ({"window": pw.Tumbling(10), "aggregates": [F.first("x")]}, True),
        ({"window": pw.Tumbling(10), "evaluate": "record"}, True),
        ({"window": pw.Tumbling(10), "order": ["x"]}, True),
        ({"window": pw.Tumbling(10), "position": pw.Position()}, True),
        ({"window": pw.Session(10)}, False),
        ({"window": pw.Session("k")}, True),
    ],
)
def test_rows_of_equal_time_stay_in_order_where_that_matters(fields: dict[str, Any], matter: bool) -> None:
    """semantics 3, 9.3, 24.4: only some operators depend on the order of rows of one event time."""
    spec = pw.WindowOperator(**{"event_time": "t", "aggregates": [F.count()], **fields})
    schema = SCHEMA | {"partition": pl.Int64(), "offset": pl.Int64()}
    assert WindowPlan(spec, schema).ties_matter is matter
