"""How far emitted rows may lie behind the watermark: engine and oracle have the same (semantics 40.4)."""

from typing import Any

import polars as pl
import pytest

from panewise import Calendar, Global, Hopping, JoinOperator, SameWindow, Session, Side, Tumbling
from panewise.chrono import saturating_add
from panewise.engine.join.same_window.same_window_engine import SameWindowEngine
from panewise.engine.registry import operator_for
from panewise.oracle import interpreter
from panewise.testing.join_events import join_types

TEN = SameWindow(Tumbling(10))
DAY = 86_400_000_000


def join(match: SameWindow, timestamp: Any) -> JoinOperator:
    return JoinOperator(
        left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=match, timestamp=timestamp
    )


@pytest.mark.parametrize(
    ("match", "timestamp", "behind"),
    [
        (TEN, "window", 0),
        (SameWindow(Hopping(10, 5), allowed_lateness=3), "window", 3),
        (SameWindow(Hopping(10, 5), allowed_lateness=3), "left", 13),
        (SameWindow(Calendar("month", 2)), "later", 64 * DAY),
        (SameWindow(Session(5)), "window", 0),
        (SameWindow(Session(5)), "earlier", None),
        (SameWindow(Global()), "later", None),
        (SameWindow(Tumbling(10), allowed_lateness="unlimited"), "window", None),
    ],
)
def test_how_far_emitted_rows_may_lie_behind(match: SameWindow, timestamp: Any, behind: int | None) -> None:
    spec = join(match, timestamp)
    schema = {"k": pl.Int64(), "event_time": pl.Int64()}
    operator = operator_for(spec, {"left": schema, "right": schema})
    assert isinstance(operator, SameWindowEngine)
    assert operator.furthest_behind() == behind
    oracle = interpreter(spec, join_types(spec))
    oracle.watermark(1000)
    assert oracle.output_watermark() == (None if behind is None else saturating_add(1000, -behind))
