"""As-of matches, as :class:`panewise.testing.matches.parts.MatchTests`."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from panewise.spec.operators.join.as_of import STRATEGIES, AsOf
from panewise.spec.operators.join.columns import LEFT
from panewise.testing.matches.parts import MatchTests


def as_ofs() -> st.SearchStrategy[AsOf]:
    """Returns a strategy of as-of matches: each strategy with and without a tolerance."""
    exact = st.sampled_from([True, True, False])
    drawn = st.tuples(st.sampled_from(STRATEGIES), st.sampled_from([None, 0, 1, 2, 3, 7]), exact)
    return drawn.map(lambda it: _as_of(*it))


def _as_of(strategy: Any, tolerance: int | None, exact: bool) -> AsOf:
    """Returns an as-of match; one with a tolerance of 0 allows exact matches."""
    return AsOf(strategy, tolerance, allow_exact_matches=exact or tolerance == 0)


def _bounds(match: AsOf) -> tuple[int, ...]:
    """Returns the ends of the tolerance; without one the time of the row."""
    far = 0 if match.tolerance is None else match.tolerance.us
    return {"backward": (-far, 0), "forward": (0, far), "nearest": (-far, far)}[match.strategy]


def _reach(match: AsOf, side: str) -> int:
    """Returns the reach within the tolerance."""
    reach = match.reach[0 if side == LEFT else 1]
    return 0 if reach is None or match.tolerance is None else reach


def _times(match: AsOf, side: str, lefts: Sequence[int], rights: Sequence[int]) -> list[int]:
    """Returns for each pair of rows the time that mirrors the right row at the left row."""
    if side == LEFT or match.strategy != "nearest":
        return []
    return [2 * left - right for left in lefts for right in rights]


PARTS = MatchTests(
    strategy=lambda early: as_ofs(),
    emits_early=lambda match: False,  # semantics 37.3
    takes_condition=lambda match: match.tolerance is not None,
    bounds=_bounds,
    reach=_reach,
    times=_times,
)
