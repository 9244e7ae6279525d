"""The current results of windows: the aggregates of all rows applied so far, fired or not.

A step records the windows that got rows, as they were before its firings, because a firing may close a window
and so empty it. The results are computed from these recorded windows. So the changes of a step cost as much
as the windows that it has changed, whatever the number of stored windows. Sliding windows that are made when
they are complete have no row yet: they are computed from the slices near the rows of the step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import polars as pl

from panewise.chrono import saturating_add
from panewise.engine.columns import CLOSED, END, ONE_KEY
from panewise.engine.family_parts import Change
from panewise.engine.windowing import key_watermarks, panes
from panewise.engine.windowing.firing import FIRE
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.operator import WindowEngine
from panewise.engine.windows.sliding.completion import unmade_with
from panewise.spec import Calendar, Hopping, Sliding, Tumbling, closed_at_end, length
from panewise.spec.operators.panes import BOUNDS

T = TypeVar("T")
_EXPIRED: Final = "__expired"


@dataclass(frozen=True)
class WindowResults:
    """The current results of an operator's windows: :class:`panewise.engine.family_parts.CurrentResults`."""

    operator: WindowEngine

    def changed_by(self, work: Callable[[], T]) -> tuple[T, list[Change]]:
        """Calls `work`, a step of the operator. Returns its result, and the changes in their order."""
        returned, effects = self.operator.recorded(work)
        plan = self.operator.plan
        changes = [
            _change(plan, effect.affected, effect.merged_away) for effect in effects if effect.affected.height
        ]
        new_slices = [
            effect.new_slices
            for effect in effects
            if effect.new_slices is not None and not effect.new_slices.is_empty()
        ]
        if plan.made_when_complete and new_slices:
            changes.append(_change(plan, _unmade(self.operator, pl.concat(new_slices))))
        return returned, changes

    def live(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the results of all live windows, and the identity of those that are closed.

        Closed windows have no results any more, as closing empties them.
        """
        plan, state = self.operator.plan, self.operator.state
        windows = key_watermarks.only_windows(plan, state.windows.all())
        results = [_results(plan, windows.filter(~pl.col(CLOSED)))]
        if plan.made_when_complete and (slices := state.sliced.by_time.all()).height:
            results.append(_results(plan, _unmade(self.operator, slices)))
        return pl.concat(results), _identity(plan, windows.filter(CLOSED))

    def expired(self, windows: pl.DataFrame) -> pl.Series:
        """Returns for each window whether it has expired. Windows have keys, window_start and window_end.

        A null window_end means the end of the window of the specification with this start. If there is no
        such window, it has not expired.
        """
        plan, clocks = self.operator.plan, self.operator.state.clocks
        ends = pl.Series(END, [_end(plan, *bounds) for bounds in windows.select(BOUNDS).rows()], pl.Int64)
        wanted = windows.with_columns(ends)
        if plan.by_key:
            constant = pl.lit(0, dtype=pl.Int8).alias(ONE_KEY)
            wanted = wanted if plan.spec.keys else wanted.with_columns(constant)
            wanted = key_watermarks.with_watermarks(wanted, _key_watermarks(self.operator, wanted), plan.keys)
        has_expired = clocks.expired(plan.spec, pl.col(END)).fill_null(False).alias(_EXPIRED)
        return wanted.with_columns(has_expired)[_EXPIRED]


def _end(plan: WindowPlan, start: int, shown: int | None) -> int | None:
    """Returns the end of a window in tables, given its start and the end that outputs show, or None."""
    if shown is not None:
        return shown + closed_at_end(plan.spec.window)
    window = plan.spec.window
    if isinstance(window, Calendar):
        assert plan.slicing is not None
        return next((end for first, end in plan.slicing.windows(start) if first == start), None)
    assert isinstance(window, (Tumbling, Hopping, Sliding)), window
    return saturating_add(start, plan.slide.size + 1 if plan.sliding else length(window.size))


def _change(plan: WindowPlan, windows: pl.DataFrame, deleted: pl.DataFrame | None = None) -> Change:
    # A step also touches windows that closed before it, if the watermark of their key moves. They are empty.
    opened = windows.filter(~pl.col(CLOSED))
    return Change(_identity(plan, windows.clear() if deleted is None else deleted), _results(plan, opened))


def _unmade(operator: WindowEngine, new_slices: pl.DataFrame) -> pl.DataFrame:
    state, plan = operator.state, operator.plan
    watermarks = _key_watermarks(operator, new_slices) if plan.by_key else plan.no_windows
    return unmade_with(plan, state.sliced, new_slices, state.clocks, watermarks)


def _key_watermarks(operator: WindowEngine, rows: pl.DataFrame) -> pl.DataFrame:
    plan = operator.plan
    return key_watermarks.watermarks_of(operator.state.windows.of_keys(rows, plan.keys), plan.keys)


def _identity(plan: WindowPlan, windows: pl.DataFrame) -> pl.DataFrame:
    keys, bounds = panes.identity(plan.spec, plan.schema)
    return windows.select(*keys, *bounds)


def _results(plan: WindowPlan, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns windows with the results that a firing would compute."""
    _, fired = plan.aggregation.fired(windows.with_columns(pl.lit(True).alias(FIRE)), FIRE)
    names = [aggregate.name for aggregate in plan.spec.aggregates]
    results = [pl.col(name).cast(plan.pane_schema[name]) for name in names]
    keys, bounds = panes.identity(plan.spec, plan.schema)
    return fired.select(*keys, *bounds, *results)
