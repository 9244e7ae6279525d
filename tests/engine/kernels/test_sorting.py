"""Orders and codes of rows, compared with Python's own sorting and equality."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.hashing import hash_order
from panewise.engine.kernels.sorting import codes, order

TYPES = [np.int8, np.uint8, np.int64, np.uint64]


@given(st.data())
def test_an_order_is_that_of_sorted(data: st.DataObject) -> None:
    """`order` returns the same permutation as Python's stable `sorted`."""
    kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    height = data.draw(st.integers(0, 12))
    columns = []
    for kind in kinds:
        least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        values = st.integers(least, most) | st.integers(0, 2) | st.sampled_from([least, least + 1, most])
        columns.append(np.array(data.draw(st.lists(values, min_size=height, max_size=height)), dtype=kind))
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert order(columns).tolist() == sorted(range(height), key=lambda at: rows[at])


KEYS = {
    pl.Int8(): st.integers(-128, -125) | st.integers(125, 127),
    pl.UInt64(): st.integers(0, 3) | st.just(2**64 - 1),
    pl.String(): st.sampled_from(["", "a", "b"]),
    pl.Datetime("us", "UTC"): st.sampled_from([datetime(year, 1, 1, tzinfo=UTC) for year in (1, 1969, 2024)]),
}


@given(st.data())
def test_rows_have_equal_codes_where_keys_are_equal(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(KEYS)), min_size=1, max_size=2))
    rows = data.draw(st.lists(st.tuples(*(st.none() | KEYS[dtype] for dtype in types)), max_size=20))
    names = [f"k{at}" for at in range(len(types))]
    found = codes(
        pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row"), names
    ).tolist()
    assert all(code >= 0 for code in found)
    assert [[a == b for a in rows] for b in rows] == [[a == b for a in found] for b in found]


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 3, 2**64 - 1, 2**64 - 2]), max_size=40))
def test_rows_are_sorted_by_hash_even_if_the_upper_bits_of_different_hashes_are_equal(
    hashes: list[int],
) -> None:
    found = hash_order(np.array(hashes, dtype=np.uint64))
    assert found.tolist() == sorted(range(len(hashes)), key=lambda at: hashes[at])
