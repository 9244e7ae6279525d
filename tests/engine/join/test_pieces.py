"""Joins that make pairs in pieces, or whose keys have equal hashes, emit what the oracle emits (40.3)."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Interval, JoinOperator, Side
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.batch import emission
from panewise.engine.join.interval.method import IntervalJoin
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.plan import JoinPlan, as_stored
from panewise.engine.join.search import candidate_slices, pair_search
from panewise.engine.kernels import hashing
from panewise.testing.join_events import join_events
from panewise.testing.joins import join_specs
from tests.engine.agreement import agree
from tests.engine.effort import DEFAULT, FEW, SOAK
from tests.engine.join.micro_batches import SCHEMAS, rows

WIDE = [Interval(-9, 9), Interval(-2, 30), Interval(0, 3), Interval(-30, 1), Interval(None, 9, retain_rows=5)]


def check(data: st.DataObject, **fixed: Any) -> None:
    """Engine and oracle agree if a piece has few candidates, and perhaps all keys have one of two hashes."""
    spec = data.draw(join_specs(**fixed), label="spec")
    with pytest.MonkeyPatch.context() as patch:
        most = data.draw(st.integers(1, 5), label="piece")
        for module in (candidate_slices, emission):
            patch.setattr(module, "PIECE", most)
        patch.setattr(pair_search, "ONCE", most)
        if data.draw(st.booleans(), label="collisions"):
            plain = hashing._mixed
            patch.setattr(hashing, "_mixed", lambda values: plain(values) & np.uint64(1))
        agree(spec, data.draw(join_events(spec, max_rows=8), label="events"))


@DEFAULT
@given(data=st.data())
def test_pieces_are_what_the_oracle_emits(data: st.DataObject) -> None:
    check(data)


@pytest.mark.parametrize("how", ["semi", "anti"])
@FEW
@given(data=st.data())
def test_one_candidate_for_each_left_row_suffices(how: str, data: st.DataObject) -> None:
    check(data, how=how, condition=None, match=data.draw(st.sampled_from(WIDE), label="match"))


def test_left_rows_of_semi_come_in_the_order_of_their_first_pairs() -> None:
    """40.3: the left row at 0 has partners at 2 and 4, and that at 1 one at 3."""
    side = Side(keys=["k"], event_time="t")
    spec = JoinOperator(left=side, right=side, match=Interval(0, 9), how="semi")
    batch = {
        "left": rows("left", (1, 0, 0), (2, 1, 0)),
        "right": rows("right", (1, 2, 0), (2, 3, 0), (1, 4, 0)),
    }
    emitted = JoinEngine(spec, SCHEMAS).add_batch(batch)[0].panes
    assert emitted["t"].to_list() == [0, 1]


@pytest.mark.soak
@SOAK
@given(data=st.data())
def test_pieces_are_what_the_oracle_emits_at_length(data: st.DataObject) -> None:
    check(data)


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_semi_and_anti_do_not_compare_all_pairs(how: Any) -> None:
    """Of each side 100 rows are stored and 100 are new: 30,000 pairs, of which 300 are compared."""
    side = Side(keys=["k"], event_time="t")
    method = IntervalJoin(
        JoinPlan.compile(JoinOperator(left=side, right=side, match=Interval(-9, 9), how=how), SCHEMAS)
    )
    tables: Any = method.tables()
    stored, new = {}, {}
    for name, shape in method.rows.items():
        given_rows = rows(name, *((1, n % 5, 0) for n in range(200)))
        numbered = given_rows.with_columns(pl.col("t").alias(TIME), pl.int_range(pl.len()).alias(NUMBER))
        both = as_stored(numbered, shape.schema, method.ends[name])
        stored[name], new[name] = tables[name].put(both[:100]), both[100:]
    found = pair_search.Matching.prepare(method, stored, new).candidates
    assert sum(int(one.slices.lengths.sum()) for one in found) == 300
