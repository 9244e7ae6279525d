"""What each match supplies so that joins with it and their events are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec.operators.join.side import Side


@dataclass(frozen=True, kw_only=True)
class MatchTests:
    """How matches of a kind are drawn, joins with them, and the events of these.

    A match states what is special about it. The defaults are those of most matches.

    Attributes:
        strategy: a strategy of such matches; if it is given True, of those that allow `unmatched="early"`.
        drawn: whether :func:`panewise.testing.joins.join_specs` draws such matches. Others are drawn only if
            `match` is fixed.
        emits_early: whether a match allows `unmatched="early"`; for None whether some of its kind do.
        takes_condition: whether a join with the match can have a condition.
        fitted: a match and both sides, changed so that a join can have them.
        changed: a strategy of matches that a state may be continued with, given the match before.
        bounds: the differences, right less left, at which the match begins and ends.
        reach: how far the last match of a row of a side lies after it; 0 if it is any distance.
        times: more event times for rows of a side, after left and right rows at the given times.
        watermarks: more watermarks of a side, after rows of it at the given times.
    """

    strategy: Callable[[bool], st.SearchStrategy[Any]]
    drawn: bool = True
    emits_early: Callable[[Any], bool] = lambda match: True
    takes_condition: Callable[[Any], bool] = lambda match: True
    fitted: Callable[[Any, Side, Side], tuple[Any, Side, Side]] = lambda *fields: fields
    changed: Callable[[Any], st.SearchStrategy[Any]] = st.just
    bounds: Callable[[Any], tuple[int, ...]] = lambda match: (0,)
    reach: Callable[[Any, str], int] = lambda match, side: 0
    times: Callable[[Any, str, Sequence[int], Sequence[int]], list[int]] = lambda match, side, left, right: []
    watermarks: Callable[[Any, str, Sequence[int]], list[int]] = lambda match, side, times: []


def match_tests(match: Any) -> MatchTests:
    """Returns the parts of the kind of a match."""
    return kind_for_tests(match.kind)


def kind_for_tests(kind: str) -> MatchTests:
    """Returns the parts of a kind of matches."""
    parts: MatchTests = part(MATCHES[kind].testing)
    return parts
