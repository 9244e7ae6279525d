"""The new columns of an OVER operator, computed for one row from the rows of its key as Python lists.

A frame is a slice of these lists, found by addition or bisection. Frames without a start have partials, which
each row updates once (:mod:`panewise.engine.aggregate.record_partials`).

Invariant: a column has the value that a step of the engine computes, up to the last bits of floating-point
sums. What may differ, such as NaN and sums that leave 64 bits, raises NotInPythonError. Cost: for each row
and frame with a start, the rows of the frame; for other frames and functions two bisections at most.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Final, TypeAlias

from panewise.engine.aggregate.record_partials import (
    Update,
    Values,
    checked_sum,
    partial_names,
    result_of,
    updates_of,
)
from panewise.engine.columns import CARRY, ROW_COUNT, ROWS
from panewise.engine.kernels.python_rows import NotInPythonError, check_value
from panewise.engine.over.jobs import Job, end_of
from panewise.engine.over.plan import OverPlan
from panewise.spec import Aggregate, Frame, OverColumn, RowFunction

Row: TypeAlias = tuple[Any, ...]
Fold: TypeAlias = Callable[[list[Row]], Any]
_FUNCTIONS: Final = ("lag", "row_number", "rank", "dense_rank")


@dataclass(slots=True)
class KeyRows:
    """The rows of a key that have passed, the oldest first, as far as they are stored.

    Attributes:
        rows: the columns of each row that functions read.
        times: the times of the rows.
        before: how many rows of the key have passed before the first of them.
        peers: how many groups of peers have passed.
        partials: for each frame without a start its number of rows, and its other partials.
        covered: for each of these the place of the first row that its partials do not cover.
    """

    rows: list[Row]
    times: list[int]
    before: int
    peers: int
    partials: list[Values]
    covered: list[int]

    def append(self, time: int, row: Row) -> None:
        """Adds a row that has passed."""
        self.times.append(time)
        self.rows.append(row)

    def add_peers(self) -> None:
        """Counts a further group of peers."""
        self.peers += 1

    def load(self, passed: int, peers: int, partials: list[Values]) -> None:
        """Sets what is stored of the key: how many rows and groups of peers have passed, and the partials."""
        self.before, self.peers, self.partials = passed, peers, partials

    def count_loaded(self) -> None:
        """Ends the loading: the partials contain the loaded rows already, and `before` excludes them now."""
        self.before -= len(self.rows)
        self.covered = [len(self.rows)] * len(self.partials)

    def trim(self, count: int) -> None:
        """Removes so many of the oldest rows."""
        del self.rows[:count], self.times[:count]
        self.before += count
        self.covered = [place - count for place in self.covered]


Column: TypeAlias = Callable[[KeyRows, int], Any]  # given the place of the row


def supports(plan: OverPlan) -> bool:
    """Returns whether the columns of an operator can be computed in Python, apart from their values."""
    frames = [column.frame for column in plan.spec.columns if column.frame is not None]
    return (
        all(frame.exclude == "no others" for frame in frames)
        and all(frame.start is not None or end_of(frame) == 0 for frame in frames)
        and all(_is_known(plan, column.what) for column in plan.spec.columns)
        and all(_has_known_partials(job) for job in plan.unbounded)
    )


def _is_known(plan: OverPlan, what: Aggregate | RowFunction) -> bool:
    if isinstance(what, RowFunction):
        return what.fn in _FUNCTIONS and not what.skips
    if partial_names(what) is None:
        return False
    dtype = None if what.column is None else plan.schema[what.column]
    # Python would sum decimals, and order some types, otherwise than the engine.
    if dtype is None or what.fn in ("count", "first", "last"):
        return True
    ordered = what.fn in ("min", "max")
    return dtype.is_integer() or dtype.is_float() or (ordered and dtype.base_type().__name__ == "String")


def _has_known_partials(job: Job) -> bool:
    known = [name for what in job.aggregation.aggregates for name in partial_names(what) or ()]
    return {partial.name for partial in job.aggregation.partials} <= {ROWS, *known}


def computed_columns(plan: OverPlan) -> list[Column]:
    """Returns how the new columns of an operator that is supported are computed, in their order."""
    at = {name: place for place, name in enumerate(plan.read)}
    return [_column(plan, column, at) for column in plan.spec.columns]


def _column(plan: OverPlan, column: OverColumn, at: Mapping[str, int]) -> Column:
    what, frame = column.what, column.frame
    if isinstance(what, RowFunction):
        default = plan.defaults[column.name]
        return _function(what, at, None if default is None else default[0])
    assert frame is not None
    if frame.start is not None:
        return _over_frame(frame, _fold(what, at))
    number = [job.frame for job in plan.unbounded].index(frame)
    return _running(number, plan.unbounded[number], what, list(plan.read))


def _function(what: RowFunction, at: Mapping[str, int], default: Any) -> Column:
    if what.fn == "row_number":
        return lambda key_rows, place: key_rows.before + place + 1
    if what.fn == "rank":
        return _rank
    if what.fn == "dense_rank":
        return lambda key_rows, place: key_rows.peers
    assert what.n is not None
    distance, column = what.n, at[what.columns[0]]
    return lambda key_rows, place: key_rows.rows[place - distance][column] if place >= distance else default


def _rank(key_rows: KeyRows, place: int) -> int:
    return key_rows.before + bisect_left(key_rows.times, key_rows.times[place]) + 1


def _over_frame(frame: Frame, fold: Fold) -> Column:
    """Returns a column that folds the rows of a frame with a start."""
    assert frame.start is not None
    start, end = frame.start, end_of(frame)

    def of_rows(key_rows: KeyRows, place: int) -> Any:
        return fold(key_rows.rows[max(0, place + start) : max(0, place + end + 1)])

    def of_range(key_rows: KeyRows, place: int) -> Any:
        times, time = key_rows.times, key_rows.times[place]
        return fold(key_rows.rows[bisect_left(times, time + start) : bisect_right(times, time + end)])

    return of_rows if frame.kind == "rows" else of_range


def _fold(what: Aggregate, at: Mapping[str, int]) -> Fold:
    """Returns how an aggregate is computed from rows, in their order."""
    if what.column is None:
        return len
    column = at[what.column]
    if what.fn in ("first", "last") and not what.ignorenulls:
        edge = 0 if what.fn == "first" else -1
        return lambda rows: rows[edge][column] if rows else None
    folds: dict[str, Callable[[list[Any]], Any]] = {
        "count": len,
        "sum": _sum,
        "avg": _mean,
        "min": lambda values: min(values, default=None),
        "max": lambda values: max(values, default=None),
        "first": partial(_at, 0),
        "last": partial(_at, -1),
    }
    of_values = folds[what.fn]
    return lambda rows: of_values([row[column] for row in rows if row[column] is not None])


def _mean(values: list[Any]) -> float | None:
    return reduce(add, map(float, values)) / len(values) if values else None


def _at(place: int, values: list[Any]) -> Any:
    return values[place] if values else None


def _sum(values: list[Any]) -> Any:
    return checked_sum(reduce(add, values)) if values else None  # `sum` of Python adds floats in another way


def _running(number: int, job: Job, what: Aggregate, names: list[str]) -> Column:
    """Returns a column of the frame without a start that has this number."""
    at = {name: place for place, name in enumerate(_names(job))}
    updates: dict[str, Update] = {}
    for aggregate in job.aggregation.aggregates:
        updates |= updates_of(aggregate, at)
    result, with_peers, changes = result_of(what, at), job.frame.kind == "range", list(updates.values())

    def column(key_rows: KeyRows, place: int) -> Any:
        until = bisect_right(key_rows.times, key_rows.times[place]) if with_peers else place + 1
        values = key_rows.partials[number]
        for row in key_rows.rows[key_rows.covered[number] : until]:
            values[0] += 1
            message = dict(zip(names, row, strict=True))
            for update in changes:
                update(values, message)
        key_rows.covered[number] = max(key_rows.covered[number], until)
        return result(values)

    return column


def _names(job: Job) -> list[str]:
    """Returns the names of the partials of a frame without a start. The first is its number of rows."""
    return [ROWS, *(partial.name for partial in job.aggregation.partials if partial.name != ROWS)]


def no_partials(plan: OverPlan) -> list[Values]:
    """Returns the partials of no rows, for each frame without a start."""
    return [
        [0, *(partial.empty for partial in job.aggregation.partials if partial.name != ROWS)]
        for job in plan.unbounded
    ]


def stored_partials(plan: OverPlan, running: Mapping[str, Any]) -> list[Values]:
    """Returns the partials of a row of the table `running`, for each frame without a start.

    Raises:
        NotInPythonError: if a sum has left 64 bits, or a value may differ in Python.
    """
    partials = [
        [running[ROW_COUNT], *(running[job.stored(name)] for name in _names(job)[1:])]
        for job in plan.unbounded
    ]
    for job, values in zip(plan.unbounded, partials, strict=True):
        for name, value in zip(_names(job), values, strict=True):
            check_value(value)
            if name.startswith(CARRY) and value:
                raise NotInPythonError
    return partials
