"""Blocks of slices of sliding windows change no output, and a step reads few pieces (semantics 7, 33)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.windowing import sliding_bounds
from panewise.engine.windows.operator import WindowEngine
from panewise.engine.windows.sliding import slices
from panewise.engine.windows.sliding.slices import Slices
from panewise.spec.windows.sliding import ANCHORS
from panewise.state.run_store import MemoryRunStore
from panewise.testing import run
from tests.engine.cuts import assert_same
from tests.engine.effort import examples

SCHEMA: dict[str, pl.DataType] = {"k": pl.Int64(), "t": pl.Int64(), "v": pl.Int64(), "x": pl.Float64()}
SPEC = pw.WindowOperator(
    keys=["k"],
    event_time="t",
    window=pw.Sliding(1_000),
    aggregates=[
        F.sum("v"),
        F.count(),
        F.max("v"),
        F.median("x"),
        F.first("v"),
        F.count_distinct("v"),
        F.top_n("v", 2),
    ],
    allowed_lateness=0,
)
EARLY = [pw.AfterWatermark(early=pw.AfterCount(n), late=pw.AfterCount(1)) for n in (1, 2)]
LATE = [pw.AfterWatermark(late=pw.AfterCount(1)), pw.AfterWatermark(late=pw.AfterCount(2)), pw.Never()]


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Makes long blocks whenever possible. Yields a list that records for each step whether it read any."""
    read: list[bool] = []

    def telling(method: Callable[..., Any]) -> Callable[..., Any]:
        def told(*args: Any, **kwargs: Any) -> Any:
            pieces, after = method(*args, **kwargs)
            read.append(bool(pieces[slices.IS_BLOCK].any()))
            return pieces, after

        return told

    monkeypatch.setattr(sliding_bounds, "BLOCKS", 3)
    monkeypatch.setattr(slices, "_MANY", 1)
    monkeypatch.setattr(slices, "_TIMES", 0)
    monkeypatch.setattr(Slices, "of_move", telling(Slices.of_move))
    monkeypatch.setattr(Slices, "of_rows", telling(Slices.of_rows))
    yield read
    assert any(read), "no example has blocks"


STEPS = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.integers(-15, 4), st.sampled_from("ab"), st.none() | st.integers(-2, 2)), max_size=4
        ),
        st.integers(0, 3),
    ),
    min_size=6,
    max_size=12,
)
AGGREGATES = [
    F.sum("v"),
    F.count(),
    F.min("v"),
    F.last("v"),
    F.max_by("key", "v"),
    F.median("v"),
    F.collect_list("v"),
    F.mode("v"),
]


def script_of(steps: list[tuple[list[tuple[int, str, int | None]], int]]) -> list[dict[str, Any]]:
    """Returns a script of rows near the watermark, which moves a little in each step."""
    script, mark = list[dict[str, Any]](), 20
    for rows, by in steps:
        script.append(
            {
                "op": "add",
                "rows": [{"event_time": mark + off, "key": key, "v": value} for off, key, value in rows],
            }
        )
        mark += by
        script.append({"op": "watermark", "to": mark})
    return [*script, {"op": "finish"}]


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize(("anchor", "early"), [*((anchor, False) for anchor in ANCHORS), ("end", True)])
@examples(12)
@given(data=st.data())
def test_they_change_nothing(anchor: Any, early: bool, data: st.DataObject) -> None:
    """Engine and oracle agree with blocks, also if there is a restart after every event (semantics 7, 33)."""
    lateness = data.draw(st.sampled_from([0, 0, 6]))
    triggers = EARLY if early else LATE if lateness else [pw.AfterWatermark(), pw.Never()]
    spec = pw.WindowOperator(
        keys=data.draw(st.sampled_from([["key"], []])),
        window=pw.Sliding(data.draw(st.integers(9, 24)), anchor),
        aggregates=data.draw(
            st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=4, unique_by=lambda made: made.name)
        ),
        trigger=data.draw(st.sampled_from(triggers)),
        allowed_lateness=lateness,
        accumulation=data.draw(st.sampled_from(["discarding", "accumulating", "retracting"])),
        drop_by=data.draw(st.sampled_from(["window", "window", "row"])),
    )
    script, types = script_of(data.draw(STEPS)), {"v": "bigint"}
    wanted = run(spec, script, "oracle", types=types, windows=True)
    for one, other in zip(run(spec, script, "engine", types=types, windows=True), wanted, strict=True):
        assert_same(one, other)
    interrupted = run(
        spec,
        [step for event in script for step in (event, {"op": "restart"})],
        "engine",
        types=types,
        windows=True,
    )
    for one, other in zip(interrupted[::2], wanted, strict=True):
        assert_same(one, other)


def batch(first: int, count: int, *, late: int = 0) -> pl.DataFrame:
    """Returns rows of two keys, one for each microsecond, and `late` rows with earlier times."""
    rng = np.random.default_rng(first)
    at = np.append(np.arange(first, first + count), rng.integers(max(0, first - 500), first + 1, late))
    number = rng.integers(0, 50, len(at))
    return pl.DataFrame({"k": at % 2, "t": at, "v": number, "x": number / 4}, schema=SCHEMA)


def test_blocks_are_made_once_they_are_worth_it_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are made once there are enough slices, then stay, and change no output."""
    monkeypatch.setattr(slices, "_MANY", 100)
    store, plain, read = MemoryRunStore(), WindowEngine(SPEC, SCHEMA), []
    for step in range(24):
        stored = StoredOperator.load(SPEC, SCHEMA, RunLibrary(store, Cache(1 << 24)))
        sent, blocks = [], []
        for operator in (plain, stored.operator):
            monkeypatch.setattr(slices, "_TIMES", 1 << 40 if operator is plain else 4)
            added = operator.add(batch(40 * step, 40, late=5))
            moved = operator.advance(watermark=40 * step + 20)
            sent.append((added.late.height, added.counts, moved.panes.sort("k", "window_end").to_dicts()))
            blocks.append(operator.state.in_blocks)
        assert sent[0] == sent[1]
        assert not blocks[0]
        read.append(blocks[1])
        stored.commit()
    assert read == sorted(read)
    assert not read[0]
    assert read[-1]


def test_the_reads_of_a_step_are_bounded_by_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of pieces that a step reads is bounded by the blocks, not by the slices of a window."""
    monkeypatch.setattr(slices, "_MANY", 100)
    heights = {}
    for length in (10_000, 80_000):
        window = pw.Sliding(length)
        operator = WindowEngine(
            pw.WindowOperator(event_time="t", window=window, aggregates=[F.sum("v")]), SCHEMA
        )
        operator.add(batch(0, 2 * length))
        operator.advance(watermark=2 * length - 3)
        operator.advance(watermark=2 * length - 2)
        pieces, _ = operator.state.sliced.of_move(operator.plan, 2 * length - 2, 2 * length - 1)
        heights[length] = pieces.height
        assert operator.advance(watermark=2 * length - 1).panes.height == 1
    assert heights[80_000] <= 2 * 80_000 / sliding_bounds.BLOCKS + sliding_bounds.BLOCKS
    assert heights[10_000] <= 2 * 10_000 / sliding_bounds.BLOCKS + sliding_bounds.BLOCKS


def test_the_sum_of_a_block_may_leave_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of all windows may still fit (semantics 24.3)."""
    monkeypatch.setattr(slices, "_MANY", 1)
    monkeypatch.setattr(slices, "_TIMES", 0)
    operator = WindowEngine(
        pw.WindowOperator(event_time="t", window=pw.Sliding(1_000), aggregates=[F.sum("v").alias("total")]),
        SCHEMA,
    )
    far = {
        1_500: -(2**62),
        1_515: 2**62,
        1_520: 2**62,
    }  # the last two are in one block, the first is in another one
    sent, blocks = list[int](), list[bool]()
    for at in [*range(0, 1_500, 10), *far, 1_530]:
        operator.add(pl.DataFrame({"k": [0], "t": [at], "v": [far.get(at, 1)], "x": [0.0]}, schema=SCHEMA))
        sent += operator.advance(watermark=at + 1).panes["total"].to_list()
        blocks.append(operator.state.in_blocks)
    assert sent[-4:] == [100 - 2**62, 98, 98 + 2**62, 98 + 2**62]
    assert all(blocks[-4:])
    assert operator.state.sliced.blocks.all()["__carry:v"].max() == 1
