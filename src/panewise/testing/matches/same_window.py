"""Windows of both sides, as :class:`panewise.testing.matches.parts.MatchTests`."""

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec import DEFAULT_TRIGGER, UNLIMITED, Global, Session
from panewise.spec.fields import silently
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.side import Side
from panewise.spec.triggers.composite import trigger_columns
from panewise.testing.matches.parts import MatchTests
from panewise.testing.samples import SHIFTS, SHIFTS_ONCE, STEPS
from panewise.testing.triggers import triggers
from panewise.testing.window_specs import windows

# Custom windows that merge. A window of the last need not contain the time of its row.
_MERGING: Final = (
    replace(STEPS, merge=True),
    replace(STEPS, merge="touching"),
    replace(SHIFTS_ONCE, merge=True),
)


def same_windows() -> st.SearchStrategy[SameWindow]:
    """Returns a strategy of window matches: each kind of window that is allowed, and all triggers."""
    simple = st.one_of(
        *(windows(kind) for kind in ("tumbling", "hopping", "cumulating", "calendar", "global"))
    )
    merging_ones = st.builds(Session, st.integers(1, 6), st.sampled_from(["separate", "merge"]))
    closed = st.builds(Session, st.integers(1, 6), closed=st.just("both"))
    customs = st.sampled_from([STEPS, SHIFTS, *_MERGING])
    accumulations = st.sampled_from(["discarding", "discarding", "accumulating", "retracting"])
    gaps = st.builds(Session, st.just("gap"), st.sampled_from(["separate", "merge"]))
    window = st.one_of(simple, merging_ones, merging_ones, closed, customs, gaps)
    return st.tuples(window, triggers() | st.just(DEFAULT_TRIGGER), accumulations, st.integers(0, 4)).map(
        lambda it: _same_window(*it)
    )


@st.composite
def _changed(draw: st.DrawFn, match: SameWindow) -> SameWindow:
    """Draws a match of the same windows with another trigger or another lateness."""
    lateness = draw(st.sampled_from([match.allowed_lateness, Duration(0), Duration(1), Duration(5)]))
    trigger = draw(triggers() | st.just(DEFAULT_TRIGGER) | st.just(match.trigger))
    drop: Any = draw(st.sampled_from(["window", "row"]))
    with suppress(SpecError), silently():
        return SameWindow(
            match.window,
            trigger=trigger if {*trigger_columns(trigger)} <= {*match.columns_read} else match.trigger,
            accumulation=match.accumulation,
            allowed_lateness=lateness,
            drop_by=drop,
        )
    return match


def _same_window(window: Any, trigger: Any, accumulation: Any, lateness: int) -> SameWindow:
    """Returns a match; `lateness` is the number of one of several."""
    of_window: list[Any] = [0, 0, 0, 0, UNLIMITED] if isinstance(window, Global) else [0, 0, 1, 5, UNLIMITED]
    drop: Any = "row" if lateness == 3 else "window"
    fields = {"accumulation": accumulation, "allowed_lateness": of_window[lateness], "drop_by": drop}
    with silently():
        return SameWindow(window, trigger=trigger, **fields)


def _fitted(match: SameWindow, left: Side, right: Side) -> tuple[SameWindow, Side, Side]:
    """Returns the sides without allowed lateness."""
    left, right = (replace(side, allowed_lateness=Duration(0)) for side in (left, right))
    return match, left, right


PARTS = MatchTests(strategy=lambda early: same_windows(), drawn=False, fitted=_fitted, changed=_changed)
