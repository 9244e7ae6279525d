"""Stored tables: lookups in runs, newer rows that hide older ones, and which runs are merged when."""

import numpy as np
import polars as pl
import pytest

from panewise.engine.columns import BORN, CLOSED, END, FIRED, HASH, PENDING, START, TOMBSTONE
from panewise.engine.kernels.hashing import row_hashes
from panewise.engine.tables import compaction
from panewise.engine.tables.compaction import FAN_IN, PART_ROWS, allowance, next_merge
from panewise.engine.tables.run import PARTS, RunRows, Shape, merge_rows, part_range, parted
from panewise.engine.tables.stored_table import StoredTable
from panewise.state import Run

SCHEMA: dict[str, pl.DataType] = {
    "k": pl.Int64(),
    START: pl.Int64(),
    END: pl.Int64(),
    PENDING: pl.Int64(),
    CLOSED: pl.Boolean(),
    BORN: pl.Int64(),
    FIRED: pl.Int64(),
    "v": pl.Int64(),
}
SHAPE = Shape(SCHEMA, ["k", START, END], ["k", START, END])
BY_KEY = Shape(SCHEMA, ["k", START, END], ["k"])


def windows(*given: tuple[int, int, int], dead: bool = False) -> pl.DataFrame:
    """Returns windows (key, start, value) of length 10, or tombstones for them if `dead`."""
    rows = [(k, start, start + 10, 1, False, 7, None, v, dead) for k, start, v in given]
    return pl.DataFrame(rows, schema={**SCHEMA, TOMBSTONE: pl.Boolean()}, orient="row")


def run(rows: int, part: int | None = None, name: str = "") -> Run:
    return Run(name or f"{rows}/{part}", rows, 0, 10, None, part)


def table(shape: Shape = SHAPE) -> StoredTable:
    return StoredTable.nothing(shape)


def put(one: StoredTable, *given: tuple[int, int, int]) -> StoredTable:
    """Returns the table with these windows added or replaced."""
    return one.changed(windows(*given).drop(TOMBSTONE), windows().drop(TOMBSTONE))


def entries(rows: pl.DataFrame) -> list[tuple[int, int, int]]:
    return sorted(rows.select("k", START, "v").rows())


def test_hashes_that_stand_several_times_are_all_found() -> None:
    """A lookup by key finds all rows of each key, and none for a key that the run does not have."""
    indexed = RunRows.sorted_by_hash(windows((1, 0, 1), (1, 10, 2), (2, 0, 3), (1, 20, 4)), BY_KEY)
    wanted = row_hashes(pl.DataFrame({"k": [9, 1, 2]}), ["k"])
    places, which = indexed.at(wanted)
    assert sorted(zip(indexed.frame["v"].gather(places).to_list(), which.tolist(), strict=True)) == [
        (1, 1),
        (2, 1),
        (3, 2),
        (4, 1),
    ]
    assert indexed.at(wanted[:1])[0].tolist() == []


def test_different_rows_of_equal_hash_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups and merges are right if all rows have the same hash."""

    def all_alike(frame: pl.DataFrame, columns: object) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        return np.zeros(frame.height, dtype=np.uint64)

    monkeypatch.setattr("panewise.engine.tables.run.row_hashes", all_alike)
    monkeypatch.setattr("panewise.engine.tables.run.row_hashes", all_alike)
    one = put(table(), (1, 0, 1), (2, 0, 2)).sealed()
    one = put(one, (2, 0, 3)).sealed()
    one = put(one, (3, 0, 4)).sealed()
    assert entries(one.find(windows((1, 0, 0), (2, 0, 0), (4, 0, 0)))) == [(1, 0, 1), (2, 0, 3)]
    one = put(one, (1, 0, 9)).sealed()
    assert len(one.runs) == 1
    assert entries(one.all()) == [(1, 0, 9), (2, 0, 3), (3, 0, 4)]


def test_a_newer_row_hides_older_ones_and_a_dead_one_all_of_them() -> None:
    """A merge keeps the newest row of each window, and keeps tombstones unless no older run is left."""
    old, new = (
        RunRows.sorted_by_hash(windows((1, 0, 1), (2, 0, 2)), SHAPE).frame,
        RunRows.sorted_by_hash(windows((1, 0, 5)), SHAPE).frame,
    )
    gone = RunRows.sorted_by_hash(windows((2, 0, 0), dead=True), SHAPE).frame
    above = merge_rows([gone, new, old], SHAPE, None, bottom=False)
    assert sorted(above.select("k", "v", TOMBSTONE).rows()) == [(1, 5, False), (2, 0, True)]
    assert entries(merge_rows([gone, new, old], SHAPE, None, bottom=True)) == [(1, 0, 5)]
    assert above[HASH].is_sorted()


def test_expired_windows_are_neither_merged_nor_found() -> None:
    """Expired windows are neither merged nor found."""
    frames = [RunRows.sorted_by_hash(windows((1, 0, 1), (2, 1, 2)), SHAPE).frame]
    assert entries(merge_rows(frames, SHAPE, 10, bottom=True)) == [(2, 1, 2)]
    one = put(put(table(), (1, 0, 1), (2, 1, 2)).sealed(), (3, 0, 3), (4, 1, 4)).expired(10)
    assert (
        entries(one.all())
        == entries(one.find(windows((1, 0, 0), (2, 1, 0), (3, 0, 0), (4, 1, 0))))
        == [(2, 1, 2), (4, 1, 4)]
    )
    assert one.expired(11).sealed().runs == ()


def test_a_deleted_window_is_not_found_in_an_older_run() -> None:
    """A deleted window is not found, although an older run still contains it."""
    one = (
        put(table(), (1, 0, 1), (2, 0, 2))
        .sealed()
        .changed(windows().drop(TOMBSTONE), windows((1, 0, 1)).drop(TOMBSTONE))
    )
    assert entries(one.all()) == [(2, 0, 2)]
    one = one.sealed()
    assert [r.rows for r in one.runs] == [2, 1]
    assert entries(one.all()) == [(2, 0, 2)]
    assert one.find(windows((1, 0, 0))).is_empty()


def test_the_next_end_is_never_later_than_it_is() -> None:
    """`next_end` may be before the next end of a window, but never after it."""
    one = put(put(table(), (1, 0, 1), (2, 50, 2)).sealed(), (3, 20, 3))
    assert [one.next_end(after) for after in (None, 9, 10, 30, 59, 60)] == [10, 10, 30, 60, 60, None]
    assert table().next_end(None) is None


def test_a_run_has_its_ends_and_its_longest_wait() -> None:
    """A run has its lowest and highest window end, and the earliest time since which a window waits."""
    rows = windows((1, 0, 1), (2, 50, 2), (3, 20, 3)).with_columns(
        pl.Series(FIRED, [None, 3, 1]), pl.Series(PENDING, [1, 1, 0])
    )
    told = RunRows.sorted_by_hash(rows, SHAPE).described("a", 4)
    assert (told.rows, told.low, told.high, told.earliest_since, told.part) == (3, 10, 60, 3, 4)
    idle = RunRows.sorted_by_hash(rows.with_columns(pl.lit(0).alias(PENDING)), SHAPE).described("b", None)
    assert idle.earliest_since is None


def test_parts_are_disjoint_and_together_everything() -> None:
    rows = RunRows.sorted_by_hash(windows(*((k, 0, k) for k in range(1_000))), SHAPE).frame
    pieces = parted(rows)
    assert len(pieces) == PARTS
    assert pl.concat(pieces).equals(rows)
    hashes = rows[HASH].to_numpy()
    assert [rows[part_range(part, hashes)].height for part in range(PARTS)] == [
        piece.height for piece in pieces
    ]
    assert rows[part_range(None, hashes)].height == 1_000


def test_similar_runs_are_merged_when_there_are_several() -> None:
    assert next_merge([run(100)] * (FAN_IN - 1)) is None
    four = [run(100, name=str(n)) for n in range(FAN_IN)]
    merge = next_merge([run(1_000), *four])
    assert merge is not None
    assert (merge.runs, merge.cut, merge.bottom) == (tuple(four), False, False)
    merge = next_merge(four)
    assert merge is not None
    assert merge.bottom
    assert next_merge([run(1_000), run(300), *four[1:]]) is None  # the older runs are much longer


def test_a_long_table_is_cut_into_parts_that_are_merged_one_at_a_time() -> None:
    long = [run(PART_ROWS // 2, name=str(n)) for n in range(FAN_IN)]
    merge = next_merge(long)
    assert merge is not None
    assert (merge.cut, merge.bottom, merge.rows) == (True, True, 2 * PART_ROWS)
    parts = [run(100, part, f"{part}-{n}") for n in range(FAN_IN) for part in (0, 1)] + [
        run(90, 1, "youngest")
    ]
    merge = next_merge(parts)
    assert merge is not None
    assert {r.part for r in merge.runs} == {1}  # the part with the most runs
    assert (len(merge.runs), merge.cut, merge.bottom) == (FAN_IN + 1, False, True)
    whole = next_merge([*parts[:2], *(run(10, name=str(n)) for n in range(FAN_IN))])
    assert whole is not None
    assert not whole.bottom  # the parts are older runs


def test_a_step_merges_a_few_times_what_it_wrote_and_once_in_any_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step may merge a multiple of the rows that it wrote, so merges can be due for several steps."""
    assert allowance(10) == 1 << 18
    assert allowance(1_000_000) == 4_000_000
    monkeypatch.setattr(compaction, "PART_ROWS", 20)
    monkeypatch.setattr(compaction, "_STEP_ROWS", 1)
    one = table()
    for n in range(40):
        one = put(one, *((k, 0, n) for k in range(n * 8, n * 8 + 8))).sealed()
    waiting = max(sum(r.part == part for r in one.runs) for part in range(PARTS))
    assert waiting > FAN_IN  # some merges are due, but not made yet
    assert entries(one.all()) == sorted((k, 0, k // 8) for k in range(320))


def lists(*keys: int) -> pl.DataFrame:
    """Returns a window with a list for each key."""
    return (
        windows(*((key, 0, key) for key in keys))
        .drop(TOMBSTONE)
        .with_columns(texts=pl.concat_list(pl.lit("a" * 100)))
    )


def of_lists(*steps: tuple[int, ...]) -> StoredTable:
    """Returns a table of windows with lists, in which each step made a run."""
    shape = Shape({**SCHEMA, "texts": pl.List(pl.String())}, SHAPE.identity, SHAPE.by)
    one = StoredTable.nothing(shape)
    for keys in steps:
        one = one.changed(lists(*keys), lists(*keys).clear()).sealed()
    return one


def test_a_run_is_dropped_when_the_newest_has_all_its_windows_again() -> None:
    """A run whose windows are all in the newest run is dropped at once, because long lists cost memory.

    Otherwise a second copy of them would stay until four runs are merged.
    """
    assert [run.rows for run in of_lists((1, 2), (1, 2)).runs] == [2]
    assert [run.rows for run in of_lists((1, 2), (1, 2, 3)).runs] == [3]
    assert [run.rows for run in of_lists((1, 2), (2, 3)).runs] == [2, 2]
    assert [run.rows for run in of_lists((1, 2), (3,), (1, 2)).runs] == [1, 2]
    assert entries(of_lists((1, 2), (3,), (1, 2)).all()) == [(1, 0, 1), (2, 0, 2), (3, 0, 3)]


def test_a_dead_row_hides_a_run_that_is_dropped_and_what_is_older() -> None:
    """Tombstones for all windows of a run replace this run, and hide the same windows in older runs."""
    one = of_lists((1, 2), (2,))
    one = one.changed(lists().clear(), lists(2)).sealed()
    assert [run.rows for run in one.runs] == [2, 1]
    assert entries(one.all()) == [(1, 0, 1)]


def test_a_tombstone_that_is_there_twice_counts_once() -> None:
    """An older run is not dropped if the newest one has as many rows for it, but not all of its windows."""
    one = of_lists((1, 2))
    one = one.changed(lists(3), pl.concat([lists(1), lists(1)])).sealed()
    assert entries(one.all()) == [(2, 0, 2), (3, 0, 3)]
