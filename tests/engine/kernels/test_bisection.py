"""Bisection of many ranges at once agrees with numpy's search in each of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.bisection import bisect_left

RANGES = st.lists(st.lists(st.integers(-3, 3), max_size=9).map(sorted), min_size=1, max_size=5)
WANTED = st.lists(st.tuples(st.integers(0, 4), st.integers(-4, 4)), max_size=20)


@given(RANGES, WANTED, st.booleans())
def test_the_position_is_that_of_searchsorted_in_each_range(
    ranges: list[list[int]], wanted: list[tuple[int, int]], past_equal: bool
) -> None:
    starts = np.cumsum([0, *map(len, ranges)])
    values = np.array([value for one in ranges for value in one], dtype=np.int64)
    which = [one % len(ranges) for one, _ in wanted]
    sought = np.array([value for _, value in wanted], dtype=np.int64)
    low, high = (np.array([starts[one + end] for one in which], dtype=np.intp) for end in (0, 1))
    found = bisect_left(values, low, high, sought, past_equal=past_equal)
    side = "right" if past_equal else "left"
    expected = [
        starts[one] + np.searchsorted(ranges[one], value, side=side)
        for one, value in zip(which, sought, strict=True)
    ]
    assert found.tolist() == expected


def test_an_empty_range_gives_its_end() -> None:
    assert bisect_left(np.array([1, 2]), np.array([1]), np.array([1]), np.array([0])).tolist() == [1]
