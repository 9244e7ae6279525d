"""The lowest values of ranges agree with a search through each range."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.range_minimum import lowest_places

VALUES = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40, unique=True)


@given(VALUES, st.lists(st.tuples(st.integers(0, 39), st.integers(1, 40)), max_size=20))
def test_the_lowest_value_of_each_range_is_found(
    values: list[int], given_ranges: list[tuple[int, int]]
) -> None:
    ranges = [(low % len(values), length) for low, length in given_ranges]
    starts = np.array([low for low, _ in ranges], dtype=np.intp)
    lengths = np.array([min(length, len(values) - low) for low, length in ranges], dtype=np.intp)
    found = lowest_places(np.array(values), starts, lengths)
    assert [values[at] for at in found] == [
        min(values[low : low + length]) for low, length in zip(starts, lengths, strict=True)
    ]
