"""Windowed streams (semantics 37.14 to 37.19), as :class:`panewise.testing.matches.parts.MatchTests`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from panewise.chrono import Duration
from panewise.spec import Every, Hopping, JoinWindow, Tumbling, WindowedStreams, rows
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.side import Side
from panewise.spec.triggers.simple import Always
from panewise.testing.matches.parts import MatchTests

_POLICIES = (Every(3, aligned=True), Every(5, aligned=True, offset=2), Every(1, aligned=True))


def windowed_streams() -> st.SearchStrategy[WindowedStreams]:
    """Returns a strategy of matches: each kind of window, update policy and retention on either side."""
    return st.builds(WindowedStreams, _join_windows(), _join_windows())


def _late_enough(window: JoinWindow, side: Side) -> Side:
    late = isinstance(window.late, Every)
    return replace(side, allowed_lateness=Duration(8)) if late and side.allowed_lateness.us < 5 else side


def _retaining(window: JoinWindow, side: Side) -> JoinWindow:
    if window.retention is None:
        return window
    return replace(window, retention=Duration(max(window.retention.us, side.allowed_lateness.us)))


def _join_windows() -> st.SearchStrategy[JoinWindow]:
    numbers = st.integers(1, 6)
    hopping = st.tuples(numbers, numbers, st.integers(-1, 2)).map(
        lambda it: Hopping(max(it[:2]), min(it[:2]), it[2])
    )
    counted = st.sampled_from([1, 1, 2, 3]).map(rows)
    timed = st.builds(Tumbling, numbers, st.integers(-1, 2)) | hopping
    return st.one_of(st.none(), counted, timed, timed).flatmap(_with_update_policies)


def _with_update_policies(window: Any) -> st.SearchStrategy[JoinWindow]:
    timed = isinstance(window, (Tumbling, Hopping))
    policies: list[Any] = [Always(), Always(), *_POLICIES]
    retained = window is None or timed
    return st.builds(
        JoinWindow,
        st.just(window),
        early=st.sampled_from([*policies, *([None, None] if timed else [])]),
        late=st.sampled_from([None, *policies]) if timed else st.none(),
        retention=st.sampled_from([None, None, 1, 5, 8]) if retained else st.none(),
        retention_rows=st.sampled_from([None, None, 1, 2]) if retained else st.none(),
    )


def _fitted(match: WindowedStreams, left: Side, right: Side) -> tuple[WindowedStreams, Side, Side]:
    """Returns lateness and retentions that fit: late periods need lateness."""
    left, right = _late_enough(match.left, left), _late_enough(match.right, right)
    return WindowedStreams(_retaining(match.left, left), _retaining(match.right, right)), left, right


def _bounds(match: WindowedStreams) -> tuple[int, ...]:
    """Returns the sizes of windows of time."""
    return -_reach(match, RIGHT), _reach(match, LEFT)


def _reach(match: WindowedStreams, side: str) -> int:
    """Returns the size of a window of time."""
    return match.windows[side].size or 0


def _watermarks(match: WindowedStreams, side: str, times: Sequence[int]) -> list[int]:
    """Returns instants near the ends of the windows of rows at these times."""
    size = match.windows[side].size or 0
    return [time + step for time in times for step in (1, size // 2, size)]


PARTS = MatchTests(
    strategy=lambda early: windowed_streams(),
    drawn=False,
    fitted=_fitted,
    bounds=_bounds,
    reach=_reach,
    watermarks=_watermarks,
)
