"""Facts about the deduplicating operator that no comparison with the oracle shows (semantics 45)."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from panewise import DeduplicateOperator
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.deduplicate import keys
from panewise.engine.kernels.hashing import row_hashes
from panewise.engine.registry import operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.tables import run
from panewise.state import MemoryRunStore

SCHEMA = {"event_time": pl.Int64(), "id": pl.Int64(), "v": pl.String()}
TIMES = [(7 * n + 3 * (n % 5)) % 40 for n in range(120)]


def made(**fields: Any) -> DeduplicateOperator:
    return DeduplicateOperator(**{"keys": ["id"], "within": 10, **fields})


def rows(*given: tuple[int, int]) -> pl.DataFrame:
    return pl.DataFrame([(*row, "payload") for row in given], schema=SCHEMA, orient="row")


@pytest.mark.parametrize(
    ("fields", "marks"),
    [
        ({}, [4, 9, 9, 20, 31]),
        ({"by": "event_time"}, [4, 9, 9, 20, 31]),
        ({"keep": "last"}, [-6, -1, -1, 10, 21]),
        ({"keep": "last", "emit": "retracting"}, [4, 9, 9, 20, 31]),
        ({"keep": "last", "within": "unlimited"}, [None] * 5),
        ({"within": "unlimited", "event_time": None}, [None] * 5),
    ],
)
def test_no_row_behind_the_output_watermark_is_emitted(fields: Any, marks: list[int | None]) -> None:
    """The output watermark is that of semantics 45.15."""
    operator = operator_for(made(**fields), SCHEMA)
    assert operator.output_watermark() is None
    emitted, reached = 0, []
    for step, at in enumerate([4, 9, 9, 20, 31]):
        mark = operator.output_watermark()
        added = operator.add(rows(*((t, t % 2) for t in TIMES if t >= at and t % 5 == step))).panes
        found = pl.concat([added, operator.advance(watermark=at).panes])
        emitted += found.height
        assert mark is None or found.is_empty() or found["event_time"].min() >= mark  # type: ignore[operator]
        reached.append(operator.output_watermark())
    assert reached == marks
    assert emitted + operator.finish().panes.height > 0


def test_a_group_is_stored_without_its_row_where_that_is_emitted_already() -> None:
    """Only keys and anchor are stored if the first row is chosen for good (semantics 45.13)."""
    for fields, columns in (({}, ["id"]), ({"by": "event_time"}, ["id"]), ({"keep": "last"}, [*SCHEMA])):
        operator = operator_for(made(**fields), SCHEMA)
        stored = operator.state.tables["groups"].shape.schema
        assert [name for name in stored if not name.startswith("__")] in (columns, sorted(columns))


def test_state_is_bounded() -> None:
    """A run in which all groups have expired is deleted (semantics 45.13)."""
    store, spec = MemoryRunStore(), made()
    for n in range(60):
        stored = StoredOperator.load(spec, {"input": SCHEMA}, RunLibrary(store, Cache()))
        stored.operator.advance(watermark=n * 5)
        stored.operator.add(rows(*((n * 5 + 1, key) for key in range(n, n + 10))))
        stored.commit()
    assert sum(run.rows for run in stored.manifest.runs) < 100
    assert stored.operator.live().height < 50


def test_next_due() -> None:
    def due(*given: tuple[int, int], **fields: Any) -> int | None:
        operator = operator_for(made(**fields), SCHEMA)
        operator.add(rows(*given))
        return operator.next_due()

    assert due((5, 1)) is None
    assert due((5, 1), keep="last", emit="retracting") is None
    assert due((5, 1), (3, 2), by="event_time") == 4
    assert due((5, 1), (3, 2), keep="last") == 4
    assert due((5, 1), keep="last", within="unlimited", event_time=None) is None
    operator = operator_for(made(keep="last"), SCHEMA)
    operator.add(rows((5, 1)))
    operator.advance(watermark=6)
    assert operator.next_due() == 15
    assert operator.finish().panes.height == 1
    assert operator.next_due() is None


def test_rows_after_the_end_of_input_are_late() -> None:
    operator = operator_for(made(keep="last"), SCHEMA)
    operator.finish()
    assert operator.add(rows((5, 1))).late["__reason"].to_list() == ["finished"]


def test_keys_with_equal_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of different keys are no duplicates if their hashes are equal (semantics 45)."""
    monkeypatch.setattr(keys, "row_hashes", lambda rows, by: row_hashes(rows, by) & np.uint64(1))
    monkeypatch.setattr(run, "row_hashes", lambda rows, by: row_hashes(rows, by) & np.uint64(1))
    store, emitted = MemoryRunStore(), []
    for n in range(3):
        stored = StoredOperator.load(made(), {"input": SCHEMA}, RunLibrary(store, Cache()))
        emitted += stored.operator.add(rows(*((n, key) for key in range(6 + n)))).panes["id"].to_list()
        stored.commit()
    assert emitted == [*range(8)]


def test_many_groups_of_one_key_in_a_batch() -> None:
    operator = operator_for(made(within=2), SCHEMA)
    assert operator.add(rows(*((t, 1) for t in range(1000)))).panes["event_time"].to_list() == [
        *range(0, 1000, 2)
    ]
    assert operator.add(rows(*((t, 1) for t in range(1003)))).panes["event_time"].to_list() == [1000, 1002]
