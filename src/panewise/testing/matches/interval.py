"""Intervals, as :class:`panewise.testing.matches.parts.MatchTests`."""

from typing import Any

from hypothesis import strategies as st

from panewise.spec import UNLIMITED
from panewise.spec.operators.join.interval import CLOSED, Interval
from panewise.testing.matches.parts import MatchTests


def intervals() -> st.SearchStrategy[Interval]:
    """Returns a strategy of intervals: bounds of both signs, equal ones, each form of `closed` and `late`."""
    lengths = st.sampled_from([0, 0, 1, 2, 3, 7])
    late = st.sampled_from(["output", "output", "join"])
    drawn = st.tuples(st.integers(-6, 6), lengths, st.sampled_from(CLOSED), late)
    return drawn.map(lambda it: _interval(*it))


def unbounded_intervals() -> st.SearchStrategy[Interval]:
    """Returns a strategy of intervals without one bound or both: with each retention, and each `closed`."""
    of_one = [(None, 3), (None, -2), (None, 0), (-4, None), (0, None), (3, None)]
    bounds = st.sampled_from([*of_one, (None, None)])
    of_both = [(2, None), (6, None), (None, 1), (None, 2), (4, 1), (3, 2)]
    limits = st.sampled_from([*of_both, (UNLIMITED, None)])
    drawn = st.tuples(bounds, limits, st.sampled_from(["both", "neither"]))
    return drawn.map(lambda it: _unbounded(*it))


def _unbounded(bounds: Any, limits: Any, closed: Any) -> Interval:
    """Returns an interval; one without bounds includes both ends, as it must say."""
    of_none: Any = "both" if bounds == (None, None) else closed
    return Interval(bounds[0], bounds[1], of_none, retain_for=limits[0], retain_rows=limits[1])


def _interval(lower: int, length: int, closed: Any, late: Any) -> Interval:
    """Returns an interval; one that would include nothing includes both bounds."""
    empty = length < {"both": 0, "left": 1, "right": 1, "neither": 2}[closed]
    return Interval(lower, lower + length, "both" if empty else closed, late=late)


def _bounds(match: Interval) -> tuple[int, ...]:
    """Returns the bounds that there are."""
    return tuple(bound for bound in (match.first, match.last) if bound is not None) or (0,)


PARTS = MatchTests(
    strategy=lambda early: intervals(), bounds=_bounds, reach=lambda match, side: match.waits[side] or 0
)
