"""Groups of whole columns are those that rows make one by one (semantics 45.2)."""

import numpy as np
import numpy.typing as npt
import pytest

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.deduplicate.grouping import Anchors, opening, reach

Numbers = npt.NDArray[np.int64]
Made = tuple[list[int], list[tuple[int, int]]]


def one_by_one(code: Numbers, times: Numbers, stored: list[tuple[int, int]], within: int | None) -> Made:
    """Returns the rows that open groups, and the key and anchor of the group of each row."""
    groups, opened, joined = list(stored), [], []
    for place, (key, time) in enumerate(zip(code.tolist(), times.tolist(), strict=True)):
        near = [one for one in groups if one[0] == key and (within is None or abs(time - one[1]) < within)]
        if not near:
            groups.append((key, time))
            opened.append(place)
        joined.append(min(near, default=(key, time)))
    return opened, joined


def grouped(code: Numbers, times: Numbers, stored: list[tuple[int, int]], within: int | None) -> Made:
    others, anchors = (np.array([one[n] for one in stored], dtype=np.int64) for n in (0, 1))
    none = np.full(len(stored), -1)
    opened = opening(code, times, Anchors.of(others, anchors, none), within)
    keys, ends = np.concatenate([others, code[opened]]), np.concatenate([anchors, times[opened]])
    known = Anchors.of(keys, ends, np.concatenate([none, opened]))
    group = known.groups_of_rows(code, *reach(times, within))
    return opened.tolist(), list(zip(keys[group].tolist(), ends[group].tolist(), strict=True))


@pytest.mark.parametrize("within", [1, 3, 10, 1000, None])
@pytest.mark.parametrize("keys", [1, 4])
@pytest.mark.parametrize("in_order", [True, False])
def test_groups_are_those_of_rows_taken_one_by_one(within: int | None, keys: int, in_order: bool) -> None:
    random = np.random.default_rng(keys)
    for _ in range(20):
        code, times = random.integers(0, keys, 60), random.integers(-50, 50, 60)
        times = np.sort(times) if in_order else times
        far = 1000 if within is None else within
        stored = [(key, 7 + far * n) for key in range(keys - 1) for n in range(2 if within else 1)]
        assert grouped(code, times, stored, within) == one_by_one(code, times, stored, within)


def test_times_at_both_ends_of_the_range_of_instants() -> None:
    times = np.array([MIN_INSTANT, MAX_INSTANT, MIN_INSTANT + 1, MAX_INSTANT - 1, 0], dtype=np.int64)
    code = np.zeros(5, dtype=np.int64)
    for within in (1, 2, MAX_INSTANT):
        assert grouped(code, times, [], within) == one_by_one(code, times, [], within)


def test_no_rows() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert opening(nothing, nothing, Anchors.of(nothing, nothing, nothing), 5).tolist() == []
