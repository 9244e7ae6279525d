"""Sorting, grouping and selecting rows of frames; many rows take other code paths than few."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from panewise.engine.kernels.small_frames import (
    constant_column,
    distinct,
    few_pairs,
    filter_rows,
    group_places,
    no_rows,
    ordered,
    semi_join,
    sorted_distinct,
    take_rows,
    typed,
    without,
)


@pytest.mark.parametrize("rows", [3, 20_000])
def test_rows_are_in_the_order_of_the_columns_and_else_as_they_stood(rows: int) -> None:
    """`ordered` sorts nulls first and NaN last, and rows that tie keep their order."""
    names = [None, "b", "a"]
    values = [2.0, float("nan"), None, -1.0, 2.0]
    frame = pl.DataFrame(
        {
            "v": [values[at % 5] for at in range(rows)],
            "k": [names[at % 3] for at in range(rows)],
            "at": range(rows),
        }
    )

    def rank(row: tuple[float | None, str | None, int]) -> tuple[bool, str, bool, bool, float, int]:
        value, name, at = row
        odd = value is None or math.isnan(value)
        return (
            name is not None,
            name or "",
            value is not None,
            value is not None and odd,
            0.0 if odd or value is None else value,
            at,
        )

    assert ordered(frame, ["k", "v"])["at"].to_list() == [row[2] for row in sorted(frame.rows(), key=rank)]


def test_whole_numbers_and_instants_have_a_way_of_their_own() -> None:
    """`ordered` sorts columns of whole numbers and instants correctly, which take a faster path."""
    rows = 20_000
    frame = pl.DataFrame(
        {
            "t": [(at * 7919) % 100 - 50 for at in range(rows)],
            "k": [at % 3 for at in range(rows)],
            "at": range(rows),
        }
    )
    frame = frame.with_columns(pl.col("t").cast(pl.Datetime("us")), pl.col("k").cast(pl.UInt8))
    assert ordered(frame, ["t", "k"])["at"].to_list() == [row[2] for row in sorted(frame.rows())]


@pytest.mark.parametrize("rows", [3, 20_000])
@pytest.mark.parametrize("far", [1, 10**9])
def test_different_keys(rows: int, far: int) -> None:
    """`distinct` returns each key once, whether keys lie close together or far apart."""
    frame = pl.DataFrame({"k": [at % 1000 * far for at in range(rows)]})
    assert sorted(distinct(frame, ["k"])["k"]) == [at * far for at in range(min(rows, 1000))]


@pytest.mark.parametrize("rows", [0, 3, 20_000])
@pytest.mark.parametrize("keys", [["k"], ["far"], ["name"], ["name", "k"]])
def test_rows_gathered_by_key(rows: int, keys: list[str]) -> None:
    """`group_places` returns the places of the rows of each key, in their order."""
    names = [None, "b", "a"]
    told = {
        "k": [at % 5 for at in range(rows)],
        "far": [at % 7 * 10**12 for at in range(rows)],
        "name": [names[at % 3] for at in range(rows)],
    }
    frame = pl.DataFrame(told, schema={"k": pl.Int64(), "far": pl.Int64(), "name": pl.String()})
    expected: dict[tuple[object, ...], list[int]] = {}
    for at, key in enumerate(frame.select(keys).rows()):
        expected.setdefault(key, []).append(at)
    found, places, counts = group_places(frame, keys)
    ends = np.cumsum(counts)
    pieces = [places[end - count : end].tolist() for end, count in zip(ends, counts, strict=True)]
    assert dict(zip(found.rows(), pieces, strict=True)) == expected
    assert len(places) == rows


@pytest.mark.parametrize("rows", [1, 2, 20_000])
def test_one_row_with_a_list_is_what_polars_picks(rows: int) -> None:
    """A single row with a list takes another path, because Polars would later copy all text of the list."""
    frame = pl.DataFrame(
        {"k": range(rows), "texts": [["a", None], None] * (rows // 2) + [[]] * (rows % 2), "x": "b"}
    )
    frame = pl.concat([frame.head(rows // 2), frame.tail(rows - rows // 2)], rechunk=False)
    for place in {0, rows // 2, rows - 1}:
        wanted = frame.filter(pl.col("k") == place)
        mask = frame["k"] == place
        others = frame.filter(pl.col("k") != place).select("k")
        assert take_rows(frame, np.array([place])).equals(wanted)
        assert filter_rows(frame, mask).equals(wanted)
        assert without(frame, others, ["k"]).equals(wanted)
        assert without(frame, wanted, ["k"]).equals(frame.filter(pl.col("k") != place))
        assert filter_rows(frame, ~mask).equals(frame.filter(pl.col("k") != place))


def test_a_null_in_a_mask_keeps_no_row() -> None:
    frame = pl.DataFrame({"k": [1, 2], "texts": [["a"], ["b"]]})
    assert filter_rows(frame, pl.Series([None, True]))["k"].to_list() == [2]
    assert filter_rows(frame, pl.Series([None, False], dtype=pl.Boolean)).is_empty()


def test_one_row_of_lists_alone_is_picked() -> None:
    frame = pl.DataFrame({"texts": [["a"], ["b", None]]})
    assert take_rows(frame, np.array([1])).equals(frame.tail(1))


@pytest.mark.parametrize("others", [[], ["a"], ["c", "a"], ["a", "b", "c", "d", "e"], [None, "a"]])
@pytest.mark.parametrize("keys", [["a", "b", "a"], [], ["b"], [None, "a"]])
def test_few_keys_are_compared_as_they_are_joined(keys: list[Any], others: list[Any]) -> None:
    rows = pl.DataFrame({"k": keys, "n": range(len(keys))}, schema={"k": pl.String, "n": pl.Int64})
    wanted = pl.DataFrame({"k": others}, schema={"k": pl.String})
    semi = [row for row in rows.rows() if row[0] in others]
    assert semi_join(rows, wanted, ["k"]).rows() == semi
    assert without(rows, wanted, ["k"]).rows() == [row for row in rows.rows() if row[0] not in others]
    pairs = few_pairs(rows, wanted, ["k"])
    if pairs is not None:
        assert [(keys[at], others[which]) for at, which in zip(*pairs, strict=True)] == [
            (k, k) for k, _ in semi
        ]


def test_columns_of_constants_and_of_a_schema() -> None:
    assert constant_column("n", None, pl.Int64(), 2).to_list() == [None, None]
    assert constant_column("n", 1, pl.Int64(), 0).dtype == pl.Int64
    assert constant_column("n", True, pl.Boolean(), 1).to_list() == [True]
    frame = pl.DataFrame({"b": [1], "a": ["x"], "c": [2]})
    assert typed(frame, {"a": pl.String(), "b": pl.Int32()}).schema == {"a": pl.String, "b": pl.Int32}
    assert no_rows(frame.schema).schema == frame.schema
    assert sorted_distinct(pl.Series([3, 1, 3], dtype=pl.Int64)).tolist() == [1, 3]
    assert sorted_distinct(pl.Series([], dtype=pl.Int64)).tolist() == []
