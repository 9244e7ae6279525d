"""A join whose sides have windows, and whose ON compares the bounds of these: a window join."""

from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from panewise.spec import Session
from panewise.sql.joins.comparisons import Conditions
from panewise.sql.joins.side_columns import JoinInput
from panewise.sql.stages import AssignedStage, RowsStage, Stage
from panewise.sql.syntax import Select
from panewise.sql.top_n.once import rows_once, window_of_rows
from panewise.sql.window_functions import identifies

_BOUNDS: Final = {("window_start", "window_start"), ("window_end", "window_end")}


def _bounds(conditions: Conditions) -> frozenset[str]:
    """Returns the bounds of windows that are equal on both sides."""
    pairs = {(left.lower(), right.lower()) for left, right in conditions.keys} & _BOUNDS
    return frozenset(left for left, _ in pairs)


def windows_of(
    conditions: Conditions, sides: tuple[JoinInput, JoinInput]
) -> tuple[AssignedStage, AssignedStage] | None:
    """Returns the windows of both sides, None if the bounds of their windows are not compared."""
    first, second = (_assigned(side.stage) for side in sides)
    if first is None or second is None:
        return None
    bounds = _bounds(conditions)
    same = len(bounds) > 1 or _same(first.window, second.window)
    return (first, second) if same and identifies(first.window, bounds) else None


def panes_of(
    conditions: Conditions, sides: tuple[JoinInput, JoinInput], select: Select
) -> tuple[tuple[Stage, str], tuple[Stage, str]] | None:
    """Returns both sides as rows of windows with an event time, and its columns.

    None if the bounds of their windows are not compared, if a window may fire more than once, or if `*` would
    have the event times.
    """
    bounds = _bounds(conditions)
    if not bounds or any(isinstance(item.expr.node, exp.Star) for item in select.items):
        return None
    if "window_end" not in bounds and not _same(*(window_of_rows(side.stage) for side in sides)):
        return None
    first, second = (rows_once(side.stage, bounds) for side in sides)
    return None if first is None or second is None else (first, second)


def _same(first: Any, second: Any) -> bool:
    """Returns whether both sides have the same windows, in which one bound says the other."""
    return first == second and not isinstance(first, Session)


def without_bounds_keys(conditions: Conditions) -> None:
    """Removes the bounds of windows from the keys."""
    conditions.keys[:] = [
        pair for pair in conditions.keys if (pair[0].lower(), pair[1].lower()) not in _BOUNDS
    ]


def _assigned(stage: Stage) -> AssignedStage | None:
    """Returns the windows of the rows of a stage; None if its rows have none, or it renames their bounds."""
    if isinstance(stage, RowsStage):
        names = {output.text for output in stage.outputs or ()}
        whole = stage.outputs is None or "*" in names or {"window_start", "window_end"} <= names
        return _assigned(stage.input) if whole else None
    return stage if isinstance(stage, AssignedStage) else None


def without_bounds(stage: Any) -> Stage:
    """Returns the rows without the bounds of their windows."""
    if isinstance(stage, AssignedStage):
        return stage.input
    assert isinstance(stage, RowsStage)
    outputs = stage.outputs
    if outputs is not None:
        outputs = tuple(output for output in outputs if not output.text.startswith("window_"))
    return replace(stage, input=without_bounds(stage.input), outputs=outputs)
