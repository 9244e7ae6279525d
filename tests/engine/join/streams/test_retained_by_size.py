"""The last rows of a retention by size: what the oracle finds, and no more rows than these are read."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import JoinWindow, Tumbling, WindowedStreams
from panewise.engine.join.search.lookups import Lookup
from panewise.engine.join.streams import released_rows
from panewise.engine.join.streams.retained_by_size import last_rows
from panewise.engine.kernels import hashing
from panewise.engine.registry import operator_for
from panewise.testing.join_events import join_events
from panewise.testing.joins import join_specs
from tests.engine.agreement import agree
from tests.engine.effort import FEW
from tests.engine.join.micro_batches import SCHEMAS, rows
from tests.engine.join.streams.test_gate import join

MATCHES = [
    WindowedStreams(JoinWindow(retention_rows=2), JoinWindow(retention_rows=1, early=10)),
    WindowedStreams(JoinWindow(Tumbling(9), retention_rows=3), JoinWindow(retention=20, retention_rows=2)),
]


@pytest.mark.parametrize("match", MATCHES, ids=["by size", "by time and size"])
@FEW
@given(data=st.data())
def test_each_row_finds_the_last_rows_before_it(match: WindowedStreams, data: st.DataObject) -> None:
    """semantics 37.17, 37.18."""
    spec = data.draw(join_specs(match=match), label="spec")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(released_rows, "FEW", 0)
        if data.draw(st.booleans(), label="collisions"):
            plain = hashing._mixed
            patch.setattr(hashing, "_mixed", lambda values: plain(values) & np.uint64(1))
        agree(spec, data.draw(join_events(spec, max_rows=8), label="events"))


def test_no_more_rows_are_read_than_are_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key has 200 rows on each side, which are released one after the other, and 50 stored ones."""
    lookups: list[Lookup] = []

    def kept(*args: Any) -> Lookup:
        lookups.append(last_rows(*args))
        return lookups[-1]

    monkeypatch.setattr(released_rows, "last_rows", kept)
    window = JoinWindow(retention_rows=3)
    operator: Any = operator_for(join(window, window, evaluate="record"), SCHEMAS)
    operator.add(rows("right", *((1, n, n) for n in range(50))), "right")
    batch = {side: rows(side, *((1, 100 + n, n) for n in range(200))) for side in ("left", "right")}
    pairs = sum(one.panes.height for one in operator.add_batch(batch))
    assert sum(int(part.lengths.sum()) for one in lookups for part in one.parts) == pairs
    assert pairs == 200 * 3 + (1 + 2 + 198 * 3)
