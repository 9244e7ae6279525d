"""Candidates of rows that are retained by number: as few as there are pairs, and none is missing (37.1)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Interval, JoinOperator, Side
from panewise.engine.join.interval import method as interval
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.search import pair_search
from tests.engine.effort import FEW
from tests.engine.join.micro_batches import SCHEMAS, rows
from tests.engine.join.test_pieces import check

RETAINED = [
    Interval(None, 9, retain_rows=3),
    Interval(-5, None, retain_rows=1),
    Interval(None, 0, retain_for=20, retain_rows=2),
    Interval(None, None, retain_rows=2),
    Interval(None, None, retain_for=9, retain_rows=4),
]


@pytest.mark.parametrize("match", RETAINED, ids=str)
@FEW
@given(data=st.data())
def test_many_candidates_make_the_same_pairs(match: Interval, data: st.DataObject) -> None:
    """Semantics 37.1, 40.3."""
    check(data, match=match)


@pytest.mark.parametrize("late", [0, 1], ids=["left rows first", "right rows first"])
def test_no_more_rows_are_compared_than_match(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key has 200 new rows on each side, and 50 stored ones. The last three right rows are retained."""
    monkeypatch.setattr(pair_search, "ONCE", 1)
    found: list[int] = []
    plain = interval.candidates_by_arrival

    def counted(*args: Any) -> Any:
        for one in plain(*args):
            found.append(int(one.slices.lengths.sum()))
            yield one

    monkeypatch.setattr(interval, "candidates_by_arrival", counted)
    side = Side(keys=["k"], event_time="t")
    right = Side(keys=["k"], event_time="t", prefix="r_")
    spec = JoinOperator(left=side, right=right, match=Interval(None, 0, retain_rows=3))
    operator = JoinEngine(spec, SCHEMAS)
    operator.add_batch({"right": rows("right", *((1, n, 0) for n in range(50)))})
    batch = {
        "left": rows("left", *((1, 100 + 2 * n, 0) for n in range(200))),
        "right": rows("right", *((1, 100 + 2 * n + 2 * late - 1, 0) for n in range(200))),
    }
    pairs = sum(one.panes.height for one in operator.add_batch(batch))
    assert sum(found) == pairs == 600
