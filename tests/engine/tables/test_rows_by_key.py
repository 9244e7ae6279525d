"""Rows by key and time: slices, expiry and merges agree with a search through a list."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.kernels import hashing
from panewise.engine.kernels.hashing import row_hashes
from panewise.engine.tables import compaction, rows_by_key
from panewise.engine.tables.rows_by_key import Ranges, RowsByKey
from panewise.engine.tables.run import MemoryLibrary, Shape

SHAPE = Shape(
    {"k": pl.String(), TIME: pl.Int64(), NUMBER: pl.Int64(), END: pl.Int64()}, [TIME, NUMBER], ["k"]
)
BEYOND = 5  # a row expires this long after its time

ROW = st.tuples(st.sampled_from("abc"), st.integers(-20, 20))
BATCHES = st.lists(st.lists(ROW, max_size=12), max_size=12)
LOOK_UPS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-25, 25), st.integers(-2, 12)), max_size=8)


def table(batches: list[list[tuple[str, int]]], *, seal_each: bool) -> RowsByKey:
    found, number = RowsByKey.nothing(SHAPE), 0
    for batch in batches:
        rows = [(key, time, number + n, time + BEYOND) for n, (key, time) in enumerate(batch)]
        number += len(batch)
        found = found.put(pl.DataFrame(rows, schema=SHAPE.schema, orient="row"))
        found = found.sealed() if seal_each else found
    return found


def looked_up(
    found: RowsByKey, look_ups: list[tuple[str, int, int]], *, ends_known: bool = False
) -> list[list[tuple[Any, ...]]]:
    """Returns the key, time and number of the rows of each look-up, in the order of each slice.

    With `ends_known` the look-ups say before which end of a row it is not in their range.
    """
    wanted = pl.DataFrame(look_ups, schema=["k", "first", "length"], orient="row")
    wanted = (
        wanted.with_columns(pl.Series("hash", row_hashes(wanted, ["k"]))).with_row_index("at").sort("hash")
    )
    first = wanted["first"].to_numpy()
    at = first + BEYOND if ends_known else None
    ranges = Ranges(wanted["hash"].to_numpy(), first, first + wanted["length"].to_numpy(), at)
    result: list[list[tuple[Any, ...]]] = [[] for _ in look_ups]
    for part in found.slices(ranges):
        for at, key, start, length in zip(wanted["at"], wanted["k"], part.starts, part.lengths, strict=True):
            rows = part.rows[int(start) : int(start + length)].filter(pl.col("k") == key)
            result[at] += rows.select("k", TIME, NUMBER).rows()
    return result


@given(BATCHES, LOOK_UPS, st.booleans())
def test_a_look_up_finds_the_rows_of_its_key_and_range_in_order(
    batches: list[list[tuple[str, int]]], look_ups: list[tuple[str, int, int]], seal_each: bool
) -> None:
    if not look_ups:
        return
    flat = [(key, time, n) for n, (key, time) in enumerate(row for batch in batches for row in batch)]
    for many, ends_known in product((0, 1 << 40), (False, True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rows_by_key, "_MANY", many)
            found = looked_up(table(batches, seal_each=seal_each), look_ups, ends_known=ends_known)
        for (key, first, length), rows in zip(look_ups, found, strict=True):
            expected = [row for row in flat if row[0] == key and first <= row[1] <= first + length]
            assert sorted(rows) == sorted(expected)


def test_a_run_whose_rows_end_before_a_look_up_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = table([[("a", 1)], [("a", 2)] * 9], seal_each=True)
    read = []
    plain = MemoryLibrary.read
    monkeypatch.setattr(
        MemoryLibrary, "read", lambda self, run, shape: read.append(run) or plain(self, run, shape)
    )
    assert looked_up(found, [("a", 2, 0)], ends_known=True) == [[("a", 2, n) for n in range(1, 10)]]
    assert [run.rows for run in read] == [9]


@given(BATCHES, st.lists(st.integers(-20, 30), min_size=2, max_size=2).map(sorted))
def test_due_rows_are_those_that_expire_between_two_horizons(
    batches: list[list[tuple[str, int]]], horizons: list[int]
) -> None:
    after, until = horizons
    due = table(batches, seal_each=True).due(after, until)
    flat = [time + BEYOND for batch in batches for _, time in batch]
    assert sorted(due[END]) == sorted(end for end in flat if after < end <= until)


def rows_of(found: RowsByKey) -> Iterator[pl.DataFrame]:
    for run in found.runs:
        yield found.library.read(run, SHAPE).frame


def test_runs_are_sorted_by_hash_and_time_after_merges_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "PART_ROWS", 64)
    random = np.random.default_rng(1)
    batches = [[(str(random.integers(40)), int(random.integers(100))) for _ in range(16)] for _ in range(60)]
    found = table(batches, seal_each=True)
    assert any(run.part is not None for run in found.runs)
    assert len(found.runs) < 60
    for frame in rows_of(found):
        order = frame.select(pl.struct("__hash", TIME, NUMBER)).to_series()
        assert order.is_sorted()
    assert found.all().height == 60 * 16


def test_expired_rows_are_gone_after_a_merge() -> None:
    found = table([[("a", n)] for n in range(3)], seal_each=True).expired(2 + BEYOND - 1)
    found = found.put(pl.DataFrame([("a", 9, 3, 9 + BEYOND)], schema=SHAPE.schema, orient="row")).sealed()
    assert found.all()[TIME].to_list() == [2, 9]
    assert sum(frame.height for frame in rows_of(found)) == 2


def test_rows_whose_hashes_collide_are_found_by_both_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller compares the keys, so a slice may contain rows of another key."""

    def one_hash(frame: pl.DataFrame, columns: list[str]) -> hashing.Hashes:
        return np.ones(frame.height, dtype=np.uint64)

    monkeypatch.setattr(rows_by_key, "row_hashes", one_hash)
    found = table([[("a", 1), ("b", 2), ("a", 3)]], seal_each=True)
    ranges = Ranges(np.ones(1, dtype=np.uint64), np.array([1]), np.array([3]))
    (part,) = found.slices(ranges)
    assert part.rows[int(part.starts[0]) :][TIME].to_list() == [1, 2, 3]
    assert part.lengths.tolist() == [3]
