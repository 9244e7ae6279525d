"""The new columns of an OVER operator, computed for one row from the rows of its key as Python lists.

A frame is a slice of these lists, found by addition or bisection. Frames without a start have partials, which
each row updates once (:mod:`panewise.engine.aggregate.record_partials`).

Invariant: a column has the value that a step of the engine computes, up to the last bits of floating-point
sums. What may differ, such as NaN and sums that leave 64 bits, raises NotInPythonError. Cost: for each row
and frame with a start, the rows of the frame; for other frames and functions two bisections at most.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
from panewise.engine.columns import CARRY, ROWS
from panewise.engine.kernels.python_rows import NotInPythonError, check_value
from panewise.engine.over.jobs import Job, end_of
from panewise.engine.over.plan import OverPlan
from panewise.spec import Aggregate, Frame, OverColumn, RowFunction

Row: TypeAlias = tuple[Any, ...]
Fold: TypeAlias = Callable[[list[Row]], Any]
_FUNCTIONS: Final = ("lag", "lead", "row_number", "rank", "dense_rank")


@dataclass(slots=True)
class KeyRows:
    """The rows of a key that no later row precedes, the oldest first, as far as they are stored.

    First are the rows that have been emitted, then those that wait for rows after them (semantics 29.8), then
    those that have not passed, as ranges reach ahead of them.

    Attributes:
        partials: for each frame without a start its number of rows, and its other partials.
        covered: for each of these the place of the first row that its partials do not cover.
        rows: the columns of each row that functions read.
        times: the times of the rows.
        before: how many rows of the key have passed before the first of them.
        passed: how many of the rows have passed.
        emitted: how many of these have been emitted.
        peers: how many groups of peers have passed.
        ranks: of each row that has passed, the numbers of rows and of groups of peers before its peers, if
            functions need them.
        unemitted: all columns of each row that has not been emitted.
    """

    partials: list[Values]
    covered: list[int]
    rows: list[Row] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    before: int = 0
    passed: int = 0
    emitted: int = 0
    peers: int = 0
    ranks: list[tuple[int, int]] = field(default_factory=list)
    unemitted: deque[Row] = field(default_factory=deque)

    def append(self, time: int, read: Row, row: Row) -> None:
        """Adds a row, of which functions read some columns."""
        self.times.append(time)
        self.rows.append(read)
        self.unemitted.append(row)

    def pass_next(self, *, ranked: bool) -> None:
        """Notes that a further row has passed, and ranks it if functions need that."""
        place = self.passed
        self.passed += 1
        if not ranked:
            return
        if place == 0 or self.times[place] != self.times[place - 1]:
            self.ranks.append((self.before + place, self.peers))
            self.peers += 1
        else:
            self.ranks.append(self.ranks[-1])

    def emit_next(self) -> Row:
        """Notes that a further row has been emitted, and returns its columns."""
        self.emitted += 1
        return self.unemitted.popleft()

    def load(self, peers: int, partials: list[Values]) -> None:
        """Sets what is stored of the key: how many groups of peers have passed, and the partials."""
        self.peers, self.partials = peers, partials

    def note_loaded(self, passed: int, in_partials: int, unemitted: int) -> None:
        """Notes that the stored rows are here, all of which have passed.

        Args:
            passed: how many rows of the key have passed.
            in_partials: how many of these the partials cover.
            unemitted: how many of these have not been emitted, at most.
        """
        self.before, self.passed = passed - len(self.rows), len(self.rows)
        self.covered = [max(0, in_partials - self.before)] * len(self.partials)
        self.emitted = max(0, self.passed - unemitted)
        self.unemitted = deque(list(self.unemitted)[self.emitted :])

    def trim(self, count: int) -> None:
        """Removes so many of the oldest rows."""
        del self.rows[:count], self.times[:count], self.ranks[:count]
        self.before += count
        self.passed -= count
        self.emitted -= count
        self.covered = [place - count for place in self.covered]


Column: TypeAlias = Callable[[KeyRows, int], Any]  # given the place of the row


def supports(plan: OverPlan) -> bool:
    """Returns whether the columns of an operator can be computed in Python, apart from their values."""
    frames = [column.frame for column in plan.spec.columns if column.frame is not None]
    return (
        all(frame.exclude == "no others" for frame in frames)
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
        return lambda key_rows, place: key_rows.ranks[place][0] + 1
    if what.fn == "dense_rank":
        return lambda key_rows, place: key_rows.ranks[place][1] + 1
    assert what.n is not None
    distance, column = what.n, at[what.columns[0]]
    if what.fn == "lead":  # a row is emitted when the rows are there that its columns read
        return lambda key_rows, place: key_rows.rows[place + distance][column]
    return lambda key_rows, place: key_rows.rows[place - distance][column] if place >= distance else default


def _over_frame(frame: Frame, fold: Fold) -> Column:
    """Returns a column that folds the rows of a frame with a start."""
    assert frame.start is not None
    start, end = frame.start, end_of(frame)

    def of_rows(key_rows: KeyRows, place: int) -> Any:
        return fold(key_rows.rows[max(0, place + start) : max(0, place + end + 1)])

    def of_range(key_rows: KeyRows, place: int) -> Any:
        time = key_rows.times[place]
        return fold(
            key_rows.rows[
                bisect_left(key_rows.times, time + start) : bisect_right(key_rows.times, time + end)
            ]
        )

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
    result, by_time, changes = result_of(what, at), job.frame.kind == "range", list(updates.values())
    end = end_of(job.frame)

    def column(key_rows: KeyRows, place: int) -> Any:
        times, values = key_rows.times, key_rows.partials[number]
        until = bisect_right(times, times[place] + end) if by_time else max(0, place + end + 1)
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


def stored_partials(plan: OverPlan, running: Mapping[str, Any], covered: int) -> list[Values]:
    """Returns the partials of a row of the table `running`, for each frame without a start.

    Args:
        plan: the plan of the operator.
        running: the row.
        covered: how many rows of the key are in the partials.

    Raises:
        NotInPythonError: if a sum has left 64 bits, or a value may differ in Python.
    """
    if not covered:
        return no_partials(plan)
    partials = [[covered, *(running[job.stored(name)] for name in _names(job)[1:])] for job in plan.unbounded]
    for job, values in zip(plan.unbounded, partials, strict=True):
        for name, value in zip(_names(job), values, strict=True):
            check_value(value)
            if name.startswith(CARRY) and value:
                raise NotInPythonError
    return partials
