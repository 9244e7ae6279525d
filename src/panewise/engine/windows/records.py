"""The windows of an operator as Python objects, to which rows are added one by one without a frame.

A step of the engine over one row takes hundreds of times as long as the row needs. So an operator that emits
early panes after each row keeps the windows that are not complete as lists of values (`RecordWindows`). They
become rows of the engine's table when anything else happens: :meth:`RecordWindows.flush`.

Invariant: after a flush the table has the windows that steps of the engine, one for each row, would have
left there, and each row has emitted what its step would have emitted. Rows whose windows are complete,
watermarks that complete a window, and whatever Python would compute differently are left to the engine.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeAlias

import polars as pl

from panewise.chrono import MAX_INSTANT, Duration
from panewise.engine.aggregate.record_partials import (
    TYPES,
    Update,
    Values,
    partial_names,
    result_of,
    updates_of,
)
from panewise.engine.columns import (
    BORN,
    CARRY,
    CLOSED,
    END,
    FIRED,
    INDEX,
    LIVE,
    NONSPECULATIVE,
    ONE_KEY,
    PENDING,
    ROWS,
    START,
    UNFLIPPED,
    live_column,
)
from panewise.engine.kernels.python_rows import NotInPythonError, check_value
from panewise.engine.protocol import Operator, OperatorState
from panewise.engine.tables.copied_tables import stored_rows
from panewise.engine.windowing.panes import stamped
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.window_table import LIVE_PANE
from panewise.engine.windows.operator import WindowEngine
from panewise.engine.windows.state import WindowOperatorState
from panewise.spec import AfterCount, AfterWatermark, Always, Session, closed_at_end, merging_at_touch
from panewise.spec.windows.kinds import AnyWindow

Key: TypeAlias = tuple[Any, ...]
Pane: TypeAlias = tuple[Any, ...]
Bounds: TypeAlias = tuple[int, int]
_KEY_TYPES = (pl.Int64(), pl.String(), pl.Boolean())
_NO_KEY = (0,)  # the key of an operator without keys
_MANY = 1 << 16  # windows, up to which a table is read as a whole


def record_windows(plan: WindowPlan) -> "RecordWindows | None":
    """Returns the windows of a new operator, None if rows cannot be added one by one in Python."""
    return RecordWindows(plan) if supports(plan) else None


@dataclass(slots=True)
class _Window:
    """A window that is not complete.

    `stored` is its row in the table of the engine, None if that has none. `changed` says whether the row has
    changed since.
    """

    row: Values
    stored: Values | None
    changed: bool = False


def pending_to_fire(plan: WindowPlan) -> int | None:
    """Returns with how many pending rows an open window fires; None if something else decides it, too."""
    trigger = plan.spec.trigger
    early = trigger.early if isinstance(trigger, AfterWatermark) else trigger
    if isinstance(trigger, AfterWatermark) and isinstance(early, AfterCount):
        return early.n
    return 1 if isinstance(early, Always) else None


def supports(plan: WindowPlan) -> bool:
    """Returns whether rows of an operator can be added one by one in Python, apart from their values."""
    columns = [plan.schema[name] for name in plan.spec.keys]
    read = {measure.column for measure in plan.spec.measures} - {None}
    parts = [partial_names(measure) for measure in plan.spec.measures]
    known = {ROWS, *(name for names in parts if names for name in names)}
    return (
        pending_to_fire(plan) is not None
        # A session that grows retracts its pane with the bounds before.
        and (not plan.compares or plan.slicing is not None)
        and not plan.by_key
        and None not in parts
        and {part.name for part in plan.aggregation.partials} <= known
        and all(dtype in _KEY_TYPES for dtype in columns)
        and all(plan.schema[str(name)] in TYPES for name in read)
        and (plan.slicing is not None or isinstance(plan.spec.window, Session))
    )


def _gap_and_reach(window: AnyWindow) -> tuple[int, int]:
    """Returns the length of the window of a row alone, and by how much windows may be apart to merge."""
    if not isinstance(window, Session) or not isinstance(window.gap, Duration):
        return 0, 0
    return window.gap.us + (1 if closed_at_end(window) else 0), 1 if merging_at_touch(window) else 0


class RecordWindows:
    """The windows of an operator that are not complete, by key; the plan is one that :func:`supports`.

    Attributes:
        spec: the specification of the operator.
        first_end: no window that has been opened since the last flush ends before this.
    """

    def __init__(self, plan: WindowPlan) -> None:
        self._plan, self.spec, self.first_end = plan, plan.spec, MAX_INSTANT
        self._at = {name: place for place, name in enumerate(plan.table_schema)}
        self._keys, self._start, self._end = list(plan.spec.keys), self._at[START], self._at[END]
        self._carries = [place for name, place in self._at.items() if name.startswith(CARRY)]
        self._pending, self._index = self._at[PENDING], self._at[INDEX]
        self._born, self._last_firing, self._rows = self._at[BORN], self._at[FIRED], self._at[ROWS]
        self._count = pending_to_fire(plan) or 1
        self._discards = plan.spec.accumulation == "discarding"
        self._empty = [(self._at[part.name], part.empty) for part in plan.aggregation.partials]
        self._updates = self._updates_of_partials()
        columns_read = {measure.column for measure in plan.spec.measures if measure.column}
        self._floats = [name for name in columns_read if plan.schema[name].is_float()]
        self._columns = self._pane_columns()
        self._set_live_panes()
        self._gap, self._reach = _gap_and_reach(plan.spec.window)
        self._template = self._new_row()
        # The columns by which windows are known here: those of a session are its key, as its bounds change.
        self._identifies = plan.keys if plan.slicing is None else plan.identity
        self._state: OperatorState | None = None  # that of the operator from which the windows were read
        self._has_all = False  # whether all windows of the table are here that are not complete
        self._windows: dict[Key, list[_Window]] = {}
        self._changed: list[_Window] = []

    def _updates_of_partials(self) -> list[Update]:
        """Returns how a row changes each partial. Aggregates share the partials of one name."""
        updates: dict[str, Update] = {}
        for measure in self._plan.spec.measures:
            updates |= updates_of(measure, self._at)
        return list(updates.values())

    def _set_live_panes(self) -> None:
        """Sets where rows have the live pane: places of the row and of the pane, first those of results."""
        plan, names = self._plan, list(self._plan.pane_schema)

        def places(columns: Iterable[str]) -> list[tuple[int, int]]:
            live = [(live_column(name), names.index(name)) for name in columns if plan.compares]
            return [(self._at[stored], place) for stored, place in live]

        self._compared = places(plan.aggregation.result_types)
        self._live = self._compared + places(LIVE_PANE)
        self._retracts, self._op = plan.spec.accumulation == "retracting", names.index("op")
        # Extremes of floats, which a step may have set to NaN.
        floats = [part.name for part in plan.aggregation.partials if part.dtype.is_float()]
        self._extremes = [self._at[name] for name in floats if name.startswith(("__min:", "__max:"))]

    def _new_row(self) -> Values:
        """Returns the row of a window without rows, apart from its key, its bounds and when it is opened."""
        values = {part.name: part.empty for part in self._plan.aggregation.partials}
        values |= {PENDING: 0, UNFLIPPED: True, CLOSED: False, INDEX: 0, NONSPECULATIVE: 0, ONE_KEY: 0}
        values[LIVE] = False
        return [values.get(name) for name in self._plan.table_schema]

    def _pane_columns(self) -> list[Callable[[Values, int], Any]]:
        """Returns how each column of an early pane is computed from the row of its window and the clock."""
        plan, at, start, end = self._plan, self._at, self._start, self._end
        shift = 1 if closed_at_end(plan.spec.window) else 0
        stamp = shift + (1 if plan.spec.timestamp == "window_time" and not shift else 0)
        results = {measure.name: result_of(measure, at) for measure in plan.spec.measures}
        fixed: dict[str, Callable[[Values, int], Any]] = {
            "window_start": lambda row, now: row[start],
            "window_end": lambda row, now: row[end] - shift,
            **dict.fromkeys(stamped(plan.spec, pl.lit(None)), lambda row, now: row[end] - stamp),
            "timing": lambda row, now: "EARLY",
            "index": lambda row, now: row[at[INDEX]],
            "nonspeculative_index": lambda row, now: -1,
            "is_first": lambda row, now: row[at[INDEX]] == 0,
            "is_last": lambda row, now: False,
            "op": lambda row, now: "+",
            "processing_time": lambda row, now: now,
        }

        def column(name: str) -> Callable[[Values, int], Any]:
            if name in results:
                result = results[name]
                return lambda row, now: result(row)
            if name in fixed:
                return fixed[name]
            place = at[name]
            return lambda row, now: row[place]

        return [column(name) for name in plan.pane_schema]

    def add(self, state: OperatorState, time: int, row: Mapping[str, Any], now: int) -> list[Pane] | None:
        """Adds a valid row whose windows are all open. Returns its panes; None if the engine must add it."""
        if state is not self._state:
            self._read(state)
        if self._closes:
            return None
        try:
            for name in self._floats:
                check_value(row.get(name))
            key = tuple([row.get(name) for name in self._keys]) or _NO_KEY
            changes = [
                (window, bounds, self._after(window, bounds, key, row, now))
                for window, bounds in self._windows_of(key, time)
            ]
        except NotInPythonError:
            return None
        panes: list[Pane] = []
        for window, bounds, values in changes:
            if values[self._pending] >= self._count:
                panes += self._fired(values, now)
            self._put(window or self._new(key, bounds), values)
        return panes

    def _windows_of(self, key: Key, time: int) -> list[tuple[_Window | None, Bounds]]:
        """Returns the windows of a row, None for a new one, each with its bounds after the row."""
        slicing = self._plan.slicing
        if slicing is not None:
            return [
                (next(iter(self._known((*key, *bounds))), None), bounds) for bounds in slicing.windows(time)
            ]
        start, end = time, time + self._gap
        near = [
            window
            for window in self._known(key)
            if start < window.row[self._end] + self._reach and window.row[self._start] < end + self._reach
        ]
        if len(near) > 1:
            raise NotInPythonError  # sessions that merge
        if not near:
            return [(None, (start, end))]
        row = near[0].row
        return [(near[0], (min(start, row[self._start]), max(end, row[self._end])))]

    def _known(self, identity: Key) -> list[_Window]:
        """Returns the window with an identity or, of sessions, the windows of a key."""
        windows = self._windows.get(identity)
        if windows is None and not self._has_all:
            names, table = self._identifies, self._table
            wanted = pl.DataFrame(
                [identity], {name: self._plan.table_schema[name] for name in names}, orient="row"
            )
            stored = table.of_keys(wanted, names) if self._plan.slicing is None else table.find(wanted)
            windows = self._windows[identity] = self._loaded(stored)
        return windows or []

    def _after(
        self, window: _Window | None, bounds: Bounds, key: Key, message: Mapping[str, Any], now: int
    ) -> Values:
        """Returns the row of a window after a row has been added, before the window fires."""
        if window is None:
            row = self._template[:]
            row[: len(key)], row[self._born] = key, now
        else:
            row = window.row[:]
            if any(row[place] for place in self._carries):
                raise NotInPythonError
            for place in self._extremes:
                check_value(row[place])
            self._renew(row, bounds)
        row[self._start], row[self._end] = bounds
        row[self._pending] += 1
        row[self._rows] += 1
        for update in self._updates:
            update(row, message)
        return row

    def _renew(self, row: Values, bounds: Bounds) -> None:
        """Prepares the row of a stored session. One whose bounds change has emitted nothing (semantics 9)."""
        if self._plan.slicing is not None:
            return
        if row[self._last_firing] is not None:
            row[self._born] = row[self._last_firing]
        if bounds != (row[self._start], row[self._end]):
            row[self._index], row[self._last_firing] = 0, None

    def _fired(self, row: Values, now: int) -> list[Pane]:
        """Returns what a window that fires emits, and updates its row."""
        pane = tuple([column(row, now) for column in self._columns])
        panes = self._replacing(row, pane) if self._live else [pane]
        row[self._pending], row[self._last_firing] = 0, now
        row[self._index] += 1 if panes else 0
        if self._discards:
            for place, value in self._empty:
                row[place] = value
        return panes

    def _replacing(self, row: Values, pane: Pane) -> list[Pane]:
        """Returns a pane that takes the place of the live one, after a retraction of that.

        Nothing is emitted if its results are those of the live pane (semantics 21.1, 21.6).
        """
        is_live = row[self._at[LIVE]]
        if is_live and all(_equal(row[place], pane[column]) for place, column in self._compared):
            return []
        panes = [self._retraction(row, pane)] if is_live and self._retracts else []
        row[self._at[LIVE]] = True
        for place, column in self._live:
            row[place] = pane[column]
        return [*panes, pane]

    def _retraction(self, row: Values, pane: Pane) -> Pane:
        """Returns the retraction of the live pane of a window that emits another one."""
        values = list(pane)
        values[self._op] = "-"
        for place, column in self._live:
            values[column] = row[place]
        return tuple(values)

    def _new(self, key: Key, bounds: Bounds) -> _Window:
        window = _Window([], None)
        identity = key if self._plan.slicing is None else (*key, *bounds)
        self._windows.setdefault(identity, []).append(window)
        return window

    def _put(self, window: _Window, values: Values) -> None:
        if not window.changed:
            window.changed = True
            self._changed.append(window)
        window.row = values
        self.first_end = min(self.first_end, values[self._end])

    def flush(self, operator: Operator, processing_time: int | None, watermark: int | None) -> None:
        """Puts the changed windows into the state of the operator, and moves its clocks."""
        assert isinstance(operator, WindowEngine)
        stored = [window.stored for window in self._changed if window.stored is not None]
        put = self._frame([window.row for window in self._changed])
        clocks = operator.state.clocks.moved(operator.plan.spec, processing_time, watermark)
        operator.put_windows(put, self._frame(stored), clocks)
        for window in self._changed:
            window.stored, window.changed = window.row, False
        self._changed = []
        self._know(operator.state)
        self.first_end = MAX_INSTANT

    def _know(self, state: OperatorState) -> None:
        """Notes that the windows here are those of a state."""
        assert isinstance(state, WindowOperatorState)
        self._state, self._table, self._closes = state, state.windows, state.closes

    def follow(self, state: OperatorState, watermark: int | None = None) -> None:
        """Continues with a state whose windows are still those of the last flush.

        With a watermark, those that end up to it may have been changed.
        """
        self._know(state)
        if watermark is not None:
            for identity, windows in list(self._windows.items()):
                open_ = [window for window in windows if window.row[self._end] > watermark]
                if open_:
                    self._windows[identity] = open_
                else:
                    del self._windows[identity]

    def _read(self, state: OperatorState) -> None:
        """Reads the windows of a state that is not known, as a whole if they are few."""
        self._know(state)
        self._windows, self._changed = {}, []
        self._has_all = stored_rows([self._table]) <= _MANY
        if not self._has_all:
            return
        at = [self._at[name] for name in self._identifies]
        for window in self._loaded(self._table.all()):
            self._windows.setdefault(tuple([window.row[place] for place in at]), []).append(window)

    def _loaded(self, windows: pl.DataFrame) -> list[_Window]:
        rows = windows[list(self._plan.table_schema)].rows()
        return [_Window(values, values) for values in map(list, rows)]

    def _frame(self, rows: Sequence[Values]) -> pl.DataFrame:
        """Returns rows of the window table."""
        if not rows:
            return self._plan.no_windows
        columns, schema = zip(*rows, strict=True), self._plan.table_schema.items()
        return pl.DataFrame(
            [pl.Series(name, values, dtype) for (name, dtype), values in zip(schema, columns, strict=True)]
        )


def _equal(value: Any, other: Any) -> bool:
    """Returns whether two results are equal; NaN equals NaN."""
    both_floats = type(value) is float and type(other) is float
    return bool(value == other or (both_floats and isnan(value) and isnan(other)))
