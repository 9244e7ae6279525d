"""Superseded rows go when runs are merged; a look-up after the settled instant finds what it found before."""

from dataclasses import replace

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.run import Shape

SHAPE = Shape(
    {"k": pl.String(), TIME: pl.Int64(), NUMBER: pl.Int64(), END: pl.Int64()}, [TIME, NUMBER], ["k"]
)
ROW = st.tuples(st.sampled_from("ab"), st.integers(-9, 9))
BATCHES = st.lists(st.lists(ROW, min_size=1, max_size=4), min_size=1, max_size=12)


def table(batches: list[list[tuple[str, int]]], settled: int | None) -> LatestByKey:
    return filled(LatestByKey.nothing(SHAPE).settled_until(settled), batches)


def filled(empty: LatestByKey, batches: list[list[tuple[str, int]]]) -> LatestByKey:
    found, number = empty, 0
    for batch in batches:
        rows = [(key, time, number + n, MAX_INSTANT) for n, (key, time) in enumerate(batch)]
        number += len(batch)
        found = found.put(pl.DataFrame(rows, schema=SHAPE.schema, orient="row")).sealed()
    return found


def latest(rows: pl.DataFrame, key: str, at: int) -> tuple[int, int] | None:
    """Returns time and number of the latest row of a key at or before an instant."""
    seen = rows.filter((pl.col("k") == key) & (pl.col(TIME) <= at)).sort(TIME, NUMBER)
    return None if seen.is_empty() else seen.select(TIME, NUMBER).row(-1)


@given(BATCHES, st.integers(-9, 9))
def test_the_latest_row_at_a_later_instant_stays(batches: list[list[tuple[str, int]]], settled: int) -> None:
    kept, whole = table(batches, settled).all(), table(batches, None).all()
    for key in "ab":
        for at in range(settled + 1, 11):
            assert latest(kept, key, at) == latest(whole, key, at)


def test_a_key_that_is_updated_often_keeps_few_rows() -> None:
    found = table([[("a", n)] for n in range(64)], settled=62)
    assert found.all().height <= 8
    assert latest(found.all(), "a", 63) == (63, 63)


def test_rows_of_keys_whose_hashes_are_equal_do_not_supersede_one_another() -> None:
    """The rows of a merge are sorted by hash, so rows of two keys may alternate."""
    rows = pl.DataFrame(
        [("a", 1, 0, MAX_INSTANT, 7), ("b", 2, 1, MAX_INSTANT, 7), ("b", 3, 2, MAX_INSTANT, 7)],
        schema={**SHAPE.schema, "__hash": pl.UInt64()},
        orient="row",
    )
    kept = LatestByKey.nothing(SHAPE).settled_until(9)._merging(rows, bottom=True)
    assert kept["k"].to_list() == ["a", "b"]


@given(BATCHES, st.integers(-9, 9))
def test_the_last_row_before_an_instant_stays(batches: list[list[tuple[str, int]]], settled: int) -> None:
    """Also before `settled` or an earlier instant, if no row of the key is between."""
    whole, some = table(batches, None), filled(replace(table([], settled), before=True), batches)
    for key in "ab":
        times = whole.all().filter(pl.col("k") == key)[TIME].to_list()
        for at in range(-9, 11):
            if at > settled or not any(at < time <= settled for time in times):
                assert latest(some.all(), key, at - 1) == latest(whole.all(), key, at - 1)


def test_of_the_rows_before_an_instant_few_stay() -> None:
    some = filled(replace(table([], 62), before=True), [[("a", time), ("a", time)] for time in range(64)])
    assert some.all().height <= 16


@given(BATCHES, st.integers(-9, 9))
def test_superseded_rows_are_in_no_run(batches: list[list[tuple[str, int]]], settled: int) -> None:
    found, rows = table([], None).settled_until(settled), [row for batch in batches for row in batch]
    given_rows = [(key, time, n, MAX_INSTANT) for n, (key, time) in enumerate(rows)]
    whole = found.put(pl.DataFrame(given_rows, schema=SHAPE.schema, orient="row"))
    trimmed = whole.sealed().all()
    for key in "ab":
        early = trimmed.filter((pl.col("k") == key) & (pl.col(TIME) <= settled))
        assert early.height <= 1
        for at in range(settled + 1, 11):
            assert latest(trimmed, key, at) == latest(whole.all(), key, at)
