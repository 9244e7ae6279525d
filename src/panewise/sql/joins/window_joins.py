"""A join whose sides have windows, and whose ON compares the bounds of these: a window join."""

from dataclasses import dataclass
from typing import Any, Final

from panewise.spec import Session
from panewise.spec.operators.panes import BOUNDS
from panewise.sql.event_times import rows_once, window_of_rows
from panewise.sql.joins.comparisons import Conditions
from panewise.sql.joins.side_columns import JoinInput
from panewise.sql.parsing.syntax import Select
from panewise.sql.stage_columns import names_of_outputs
from panewise.sql.stages import QueryStage
from panewise.sql.windows.bound_columns import STRUCT, bound_columns
from panewise.sql.windows.panes import BOUND_OF
from panewise.sql.windows.window_functions import identifies
from panewise.sql.windows.window_rows import WindowRows, window_rows

# Panes that fire once have the last instant of their window as event time, so equal ends are equal times.
_ENDS: Final = frozenset({"window_end", "window_time", STRUCT})


@dataclass(frozen=True)
class PaneSides:
    """Both sides of a join as rows of windows, each with the column of its event time.

    Attributes:
        rows: the sides.
        implied: the pairs of equal columns that are structs of bounds, which equal event times imply.
    """

    rows: tuple[tuple[QueryStage, str], tuple[QueryStage, str]]
    implied: frozenset[tuple[str, str]]


def windows_of_join(
    conditions: Conditions, sides: tuple[JoinInput, JoinInput]
) -> tuple[WindowRows, WindowRows] | None:
    """Returns both sides as rows of windows, None if the bounds of their windows are not compared.

    One bound is enough if both sides have the same windows.
    """
    first, second = (window_rows(side.stage) for side in sides)
    if first is None or second is None:
        return None
    bounds = {first.ends[left] for left, right in _equal_bounds(conditions, first, second)}
    named = identifies(first.window, {BOUND_OF[text] for text in bounds})
    same = named and _same(first.window, second.window)
    return (first, second) if bounds and (same or bounds >= {*BOUNDS}) else None


def _same(first: Any, second: Any) -> bool:
    """Returns whether both sides have the same windows, in which one bound says the other."""
    return first == second and not isinstance(first, Session)


def _equal_bounds(conditions: Conditions, first: WindowRows, second: WindowRows) -> set[tuple[str, str]]:
    """Returns the pairs of equal columns, in lower case, that are the same bound of both sides."""
    pairs = {(left.lower(), right.lower()) for left, right in conditions.keys}
    return {pair for pair in pairs if first.ends.get(pair[0], "") == second.ends.get(pair[1])}


def panes_of(conditions: Conditions, sides: tuple[JoinInput, JoinInput], select: Select) -> PaneSides | None:
    """Returns both sides as rows of windows with an event time.

    None if the bounds of their windows are not compared, if a window may fire more than once, or if `*` has
    columns without names.
    """
    known = [_with_fields(bound_columns(side.stage)) for side in sides]
    lower = [(left.lower(), right.lower()) for left, right in conditions.keys]
    pairs = {pair for pair in lower if known[0].get(pair[0], "") == known[1].get(pair[1])}
    stars = any(item.is_star for item in select.items)
    if not pairs or (stars and any(names_of_outputs(side.stage) is None for side in sides)):
        return None
    bounds = {known[0][left] for left, _ in pairs}
    windows = [window_of_rows(side.stage) for side in sides]
    if bounds.isdisjoint(_ENDS) and not _same(*windows):
        return None
    implied = frozenset(pair for pair in pairs if known[0][pair[0]] == STRUCT or "." in pair[0])
    if implied and isinstance(windows[0], Session):
        return None
    first = rows_once(sides[0].stage, (left.partition(".")[0] for left, _ in pairs))
    second = rows_once(sides[1].stage, (right.partition(".")[0] for _, right in pairs))
    return None if first is None or second is None else PaneSides((first, second), implied)


def _with_fields(bounds: dict[str, str]) -> dict[str, str]:
    """Returns the bounds, and the fields of the structs among them."""
    structs = [name for name, bound in bounds.items() if bound == STRUCT]
    return bounds | {f"{name}.{end}": f"window_{end}" for name in structs for end in ("start", "end")}


def without_bounds_keys(conditions: Conditions, first: WindowRows, second: WindowRows) -> None:
    """Removes the bounds of windows from the keys."""
    bounds = _equal_bounds(conditions, first, second)
    conditions.keys[:] = [
        pair for pair in conditions.keys if (pair[0].lower(), pair[1].lower()) not in bounds
    ]
