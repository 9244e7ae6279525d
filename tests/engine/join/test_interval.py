"""Interval joins: what they store, and which of it a step reads (semantics 39, 41)."""

from dataclasses import replace
from typing import Any

import pytest

from panewise import Interval, JoinOperator, Side, left, right
from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.run_library import RunLibrary
from panewise.engine.store.run import RunRows, Shape
from panewise.spec.operators.join.columns import Selected
from panewise.state import MemoryRunStore, Run
from tests.engine.join.test_operator import rows, steps


def join(how: Any, **fields: Any) -> JoinOperator:
    side = Side(keys=["k"], event_time="t")
    other = side if how == "anti" else replace(side, prefix="r_")
    return JoinOperator(left=side, right=other, match=Interval(0, 5), how=how, **fields)


def test_expiry_reads_the_queue_and_not_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    micro_batches = steps(join("left"), MemoryRunStore())
    next(micro_batches).operator.add(rows("left", *((n, n, 0) for n in range(100))), "left")
    operator, read = next(micro_batches).operator, list[int]()
    plain = RunLibrary.read

    def spied(library: RunLibrary, run: Run, shape: Shape) -> RunRows:
        read.append(library.table)
        return plain(library, run, shape)

    monkeypatch.setattr(RunLibrary, "read", spied)
    assert operator.advance(watermark=13).panes["t"].to_list() == list(range(8))
    assert set(read) == {list(operator.state.tables).index("left unmatched")}


@pytest.mark.parametrize("how", ["left", "right", "full", "anti"])
@pytest.mark.parametrize("unmatched", ["final", "early"])
def test_only_rows_that_may_be_emitted_later_are_queued(how: str, unmatched: str) -> None:
    stored = next(steps(join(how, unmatched=unmatched), MemoryRunStore()))
    batch = {"left": rows("left", (1, 10, 0), (2, 11, 0)), "right": rows("right", (1, 12, 0), (3, 13, 0))}
    stored.operator.add_batch(batch)  # type: ignore[attr-defined]
    stored.commit()
    tables = stored.operator.state.tables
    queued = {
        name: table.all()["t"].to_list() for name, table in tables.items() if name.endswith("unmatched")
    }
    sides = {"left": ["left"], "anti": ["left"], "right": ["right"], "full": ["left", "right"]}[how]
    times = {"left": [11], "right": [13]}
    assert queued == ({f"{side} unmatched": times[side] for side in sides} if unmatched == "final" else {})


def test_the_queue_has_only_the_columns_that_are_emitted() -> None:
    """A column that only the condition reads is not in it."""
    spec = join("anti", condition=left("v") == right("w"), select=[Selected("left", "k")])
    tables = next(steps(spec, MemoryRunStore())).operator.state.tables
    shapes = {name: set(table.shape.schema) for name, table in tables.items()}
    own = {TIME, NUMBER, END}
    assert shapes["left unmatched"] == {"k"} | own
    assert {"k", "v"} | own < shapes["left"]
