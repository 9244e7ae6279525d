"""As-of matches, as :class:`panewise.testing.matches.parts.MatchTests`."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.match import STRATEGIES, AsOf
from panewise.testing.matches.parts import MatchTests


class AsOfTests(MatchTests):
    """The parts of :class:`panewise.AsOf`."""

    def strategy(self, *, early: bool) -> st.SearchStrategy[AsOf]:
        """Returns a strategy of as-of matches."""
        return as_ofs()

    def emits_early(self, match: AsOf | None) -> bool:
        """Returns False (semantics 37.3)."""
        return False

    def takes_condition(self, match: AsOf) -> bool:
        """Returns whether there is a tolerance."""
        return match.tolerance is not None

    def bounds(self, match: AsOf) -> tuple[int, ...]:
        """Returns the ends of the tolerance; without one the time of the row."""
        far = 0 if match.tolerance is None else match.tolerance.us
        return {"backward": (-far, 0), "forward": (0, far), "nearest": (-far, far)}[match.strategy]

    def reach(self, match: AsOf, side: str) -> int:
        """Returns the reach within the tolerance."""
        reach = match.reach[0 if side == LEFT else 1]
        return 0 if reach is None or match.tolerance is None else reach

    def times(self, match: AsOf, side: str, lefts: Sequence[int], rights: Sequence[int]) -> list[int]:
        """Returns times that are as near to a left row as a right row is, on the other side of it."""
        if side == LEFT or match.strategy != "nearest":
            return []
        return [2 * one - other for one in lefts for other in rights]


def as_ofs() -> st.SearchStrategy[AsOf]:
    """Returns a strategy of as-of matches: each strategy with and without a tolerance."""
    exact = st.sampled_from([True, True, False])
    made = st.tuples(st.sampled_from(STRATEGIES), st.sampled_from([None, 0, 1, 2, 3, 7]), exact)
    return made.map(lambda it: _as_of(*it))


def _as_of(strategy: Any, tolerance: int | None, exact: bool) -> AsOf:
    """Returns an as-of match; one with a tolerance of 0 allows exact matches."""
    return AsOf(strategy, tolerance, allow_exact_matches=exact or tolerance == 0)


PARTS = AsOfTests()
