"""What each match supplies so that joins with it and their events are drawn."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st

from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec import WindowOperator
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side


class MatchTests(ABC):
    """The parts of a match. What a match does not override is the default of most matches.

    Attributes:
        drawn: whether :func:`panewise.testing.joins.join_specs` draws such matches. Others have a strategy of
            their own, and are drawn only if `match` is fixed.
    """

    drawn: ClassVar[bool] = True

    @abstractmethod
    def strategy(self, *, early: bool) -> st.SearchStrategy[Any]:
        """Returns a strategy of such matches; with `early` of those that allow `unmatched="early"`."""

    def emits_early(self, match: Any) -> bool:
        """Returns whether the match allows `unmatched="early"`; for None whether some of its kind do."""
        return True

    def takes_condition(self, match: Any) -> bool:
        """Returns whether a join with the match can have a condition."""
        return True

    def fitted(self, match: Any, left: Side, right: Side) -> tuple[Any, Side, Side]:
        """Returns the match and the sides, changed so that a join can have them."""
        return match, left, right

    def windows(self, spec: JoinOperator) -> WindowOperator | None:
        """Returns the windows of both sides as an operator, None if there are none."""
        return None

    def bounds(self, match: Any) -> tuple[int, ...]:
        """Returns the differences, right less left, at which a match begins and ends."""
        return (0,)

    def reach(self, match: Any, side: str) -> int:
        """Returns how far the last match of a row of this side lies after it; 0 if it is any distance."""
        return 0

    def times(self, match: Any, side: str, lefts: Sequence[int], rights: Sequence[int]) -> list[int]:
        """Returns further event times for rows of a side, after rows of both sides at these times."""
        return []

    def watermarks(self, match: Any, side: str, times: Sequence[int]) -> list[int]:
        """Returns further watermarks of a side, after rows of it at these times."""
        return []


def match_tests(match: Any) -> MatchTests:
    """Returns the parts of the kind of a match."""
    return tests_of_kind(match.kind)


def tests_of_kind(kind: str) -> MatchTests:
    """Returns the parts of a kind of matches."""
    found: MatchTests = part(MATCHES[kind].testing)
    return found
