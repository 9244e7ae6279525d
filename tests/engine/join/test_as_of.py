"""As-of joins whose left rows wait for their partner: what a step looks up (semantics 37.23)."""

from typing import Any

import polars as pl
import pytest

from panewise import AsOf
from panewise.engine.join.as_of import awaited
from panewise.engine.join.as_of import method as methods
from panewise.engine.join.as_of.partners import Candidates, partners_of
from panewise.engine.join.operator import JoinEngine
from tests.engine.join.micro_batches import SCHEMAS, rows
from tests.engine.join.test_operator import join


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns the numbers of left rows whose partners are looked up from now on."""
    found: list[int] = []

    def counted(plan: Any, match: AsOf, left: pl.DataFrame, right: Any) -> Candidates:
        found.append(left.height)
        return partners_of(plan, match, left, right)

    for module in (awaited, methods):
        monkeypatch.setattr(module, "partners_of", counted)
    return found


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_row_that_is_decided_is_looked_up_once(looked_up: list[int], how: str) -> None:
    operator = JoinEngine(join(AsOf("forward"), how), SCHEMAS)
    operator.add(rows("left", (1, 5, 0), (1, 6, 0), (2, 5, 0)), "left")
    operator.add(rows("right", (1, 7, 0)), "right")
    panes = operator.advance(watermark=8).panes
    assert (panes.height, looked_up) == (2, [3])
    operator.advance(watermark=20)
    assert looked_up == [3]
    assert operator.finish().panes.height == (how == "left")
    assert looked_up == [3, 1]
