"""Points in ranges of position and value."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.rectangles import in_rectangles
from tests.engine.effort import DEFAULT

PLACES = st.integers(0, 20)
VALUES = st.integers(-3, 3)


@DEFAULT
@given(
    values=st.lists(VALUES, min_size=1, max_size=20),
    asked=st.lists(st.tuples(PLACES, PLACES, VALUES, VALUES), max_size=6),
)
def test_each_point_in_a_rectangle_is_found_once(
    values: list[int], asked: list[tuple[int, int, int, int]]
) -> None:
    asked = [(min(begin, len(values)), min(end, len(values)), *both) for begin, end, *both in asked]
    queries = np.array(asked, dtype=np.int64).reshape(-1, 4).T
    found: dict[int, list[int]] = {}
    for level in in_rectangles(np.array(values), *queries):
        assert len(set(level.queries.tolist())) == len(level.queries)
        assert (level.lengths > 0).all()
        slices = zip(level.queries.tolist(), level.starts.tolist(), level.lengths.tolist(), strict=True)
        for query, start, length in slices:
            places = level.places[start : start + length].tolist()
            assert places == sorted(places, key=lambda place: (values[place], place))
            found.setdefault(query, []).extend(places)
    expected = {
        query: [place for place in range(begin, end) if low <= values[place] <= high]
        for query, (begin, end, low, high) in enumerate(asked)
    }
    assert {query: sorted(places) for query, places in found.items()} == {
        query: places for query, places in expected.items() if places
    }
