"""Queries on ranges of numbers, compared with sorting and counting each range."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.wavelet import below, smallest

NUMBERS = st.lists(st.integers(0, 5) | st.integers(0, 2**40), min_size=1, max_size=30)


@given(numbers=NUMBERS, data=st.data())
def test_the_smallest_numbers_of_ranges(numbers: list[int], data: st.DataObject) -> None:
    queries = []
    for _ in range(data.draw(st.integers(1, 5))):
        first = data.draw(st.integers(0, len(numbers) - 1))
        last = data.draw(st.integers(first + 1, len(numbers)))
        queries.append((first, last, data.draw(st.integers(0, last - first - 1))))
    first, last, skipped = np.array(queries, dtype=np.intp).T
    found = smallest(np.array(numbers, dtype=np.intp), first, last, skipped)
    assert found.tolist() == [sorted(numbers[one:other])[place] for one, other, place in queries]


@given(numbers=NUMBERS | st.just([]), data=st.data())
def test_the_numbers_below_a_limit(numbers: list[int], data: st.DataObject) -> None:
    """A range may be empty, and a limit above all numbers."""
    limits = st.sampled_from([0, 1, *numbers]) | st.integers(0, 2**41)
    queries = []
    for _ in range(data.draw(st.integers(1, 5))):
        first = data.draw(st.integers(0, len(numbers)))
        queries.append((first, data.draw(st.integers(first, len(numbers))), data.draw(limits)))
    first, last, limit = np.array(queries, dtype=np.intp).T
    found = below(np.array(numbers, dtype=np.intp), first, last, limit)
    expected = [sum(number < most for number in numbers[one:other]) for one, other, most in queries]
    assert found.tolist() == expected
