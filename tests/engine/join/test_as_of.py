"""As-of joins whose left rows wait for their partner: what a step looks up (semantics 37.23)."""

from typing import Any

import polars as pl
import pytest

from panewise import AsOf
from panewise.engine.join.as_of import awaited
from panewise.engine.join.as_of import method as methods
from panewise.engine.join.as_of.partners import Candidates, partners_of
from panewise.engine.join.operator import JoinEngine
from panewise.state import MemoryRunStore
from tests.engine.join.micro_batches import SCHEMAS, rows, steps
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


def test_a_right_row_at_the_time_of_a_waiting_row_supersedes_nothing_that_it_needs() -> None:
    """semantics 37.23: it does not match, so the row before it is the nearest."""
    micro_batches = steps(join(AsOf("nearest", allow_exact_matches=False)), MemoryRunStore())
    first = next(micro_batches).operator
    first.add(rows("right", (1, 7, 7), (1, 10, 10)), "right")
    first.add(rows("left", (1, 10, 0)), "left")
    assert first.advance(watermark=11).panes.is_empty()
    # With these rows the operator knows that rows up to 10 are settled, and commits merge its runs by that.
    for number in range(8):
        next(micro_batches).operator.add(rows("right", (2, 11, number)), "right")
    panes = [next(micro_batches).operator.advance(watermark=mark).panes for mark in (12, 14, 16)]
    assert pl.concat(panes)["r_w"].to_list() == [7]
