"""The rows of an OVER operator as Python objects, which are emitted one by one without a step of the engine.

A step of the engine over one row takes hundreds of times as long as the row needs. So an operator whose
messages come one by one has a copy of its tables in Python (:class:`RecordRows`), from which it emits rows.
The tables get the rows later, many at once, as :mod:`panewise.standalone.row_path` says.

The copy has the rows that wait, in the order in which they pass. It has the keys that have occurred, each
with the rows that later rows look back to, and with the partials of frames without a start.

Invariant: the copy has what the tables will have once they have the rows. If Python would compute a row in
another way, the copy is forgotten, and the engine takes the row. Cost: a heap operation for each row that
waits, and for each row that passes the rows of its frames.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import ROW_COUNT, ROW_NUMBER, STORED_TIME, TIME_COUNT
from panewise.engine.kernels.python_rows import KEY_TYPES, NotInPythonError, check_value, python_rows
from panewise.engine.over.plan import TIME, OverPlan, passed_until
from panewise.engine.over.record_columns import (
    KeyRows,
    Row,
    computed_columns,
    no_parts,
    stored_parts,
    supports,
)
from panewise.engine.over.state import OverState
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.copied_tables import MOST, TRIMMED, CopiedTables, stored_rows

Panes: TypeAlias = list[Row]
_NO_KEY: Final = (0,)  # the key of an operator without keys
_FEW: Final = 1 << 12  # rows, up to which tables are read as a whole, and not key by key
_LONGEST: Final = 10_000  # rows of a key, up to which a frame is folded faster than by a step of the engine


def record_rows(plan: OverPlan) -> "RecordRows | None":
    """Returns the rows of a new operator, None if they cannot be emitted one by one in Python."""
    spec = plan.spec
    plain = (
        not plan.from_end
        and not plan.ahead
        and not plan.us_ahead
        and not spec.order
        and spec.position is None
        and spec.max_future_skew is None
        and spec.watermark is None
        # A range that partials are enough for reads another table than frames of rows.
        and not (plan.ranges and plan.stores_recent)
        and all(plan.schema[name].base_type() in KEY_TYPES for name in spec.keys)
    )
    return RecordRows(plan) if plain and supports(plan) else None


class RecordRows(CopiedTables[OverState, Clocks]):
    """The rows of an OVER operator, by key."""

    def __init__(self, plan: OverPlan) -> None:
        self._plan, self._columns = plan, computed_columns(plan)
        at = {name: place for place, name in enumerate(plan.payload)}
        self._keys = [at[name] for name in plan.spec.keys]
        self._read = [at[name] for name in plan.read]
        self._floats = [at[name] for name in plan.read if plan.schema[name].is_float()]
        self._timed = plan.spec.event_time is not None
        self._arrivals = count()
        super().__init__()

    def clear(self) -> None:
        """Removes all rows of the copy."""
        self._complete = False  # whether the copy has the rows of all keys
        self._waiting: list[tuple[int, int, Row]] = []
        self._by_key: dict[Row, KeyRows] = {}

    def add(self, state: OverState, port: str, time: int, row: Row) -> Panes | None:
        """Adds a valid row that is not late. Returns what is emitted; None if the engine must add it."""
        clocks = self.clocks_of(state)
        late = self._timed and clocks.watermark is not None and time < clocks.watermark
        if clocks.finished or late or not self.is_read(state):
            return None
        try:
            for place in self._floats:
                check_value(row[place])
            self.size += 1
            if not self._timed:
                return self._passed(state, [(MAX_INSTANT, row)])
            heappush(self._waiting, (time, next(self._arrivals), row))
        except NotInPythonError:
            self.forget()
            return None
        return []

    def _moved(
        self, clocks: Clocks, processing_time: int | None, watermark: int | None, source: str | None
    ) -> Clocks:
        return clocks.moved(self._plan.entry, processing_time, watermark, source)

    def _advanced(self, state: OverState, clocks: Clocks) -> Panes | None:
        """Emits the rows that pass at these clocks; None if the engine must do it."""
        until = passed_until(self._plan.spec, clocks)
        if clocks.finished or not self.is_read(state):
            return None
        waiting, due = self._waiting, []
        while until is not None and waiting and waiting[0][0] <= until:
            time, _, row = heappop(waiting)
            due.append((time, row))
        try:
            return self._passed(state, due, until)
        except NotInPythonError:
            self.forget()
            return None

    def _passed(self, state: OverState, due: list[tuple[int, Row]], until: int | None = None) -> Panes:
        """Returns the rows that pass, which are in order, with their new columns.

        All of them are added to the rows of their keys first, as frames contain rows of equal time.
        """
        if not self._columns:
            self.size -= len(due)
            return [row for _, row in due]
        places = []
        for time, row in due:
            of = self._of_key(state, tuple([row[place] for place in self._keys]) or _NO_KEY)
            if len(of.rows) >= _LONGEST:
                raise NotInPythonError
            places.append((of, len(of.rows), row))
            of.append(time, tuple([row[place] for place in self._read]))
        panes = [self._with_columns(of, place, row) for of, place, row in places]
        for of, _, _ in places:
            self._trim(of, until)
        return panes

    def _with_columns(self, of: KeyRows, place: int, row: Row) -> Row:
        if self._plan.ranks and (place == 0 or of.times[place] != of.times[place - 1]):
            of.add_peers()
        return row + tuple([column(of, place) for column in self._columns])

    def _trim(self, of: KeyRows, until: int | None) -> None:
        """Removes rows that no later row looks back to, if there are enough of them."""
        needless = len(of.rows) - self._plan.rows_back
        if needless < (TRIMMED if self._plan.stores_recent or self._plan.ranges else 1):
            return
        if self._plan.reach and until is not None:
            needless = min(needless, bisect_left(of.times, until + 1 - self._plan.reach))
        if needless:
            of.trim(needless)
            self.size -= needless

    def read(self, state: OverState) -> bool:
        """Reads the rows that wait and, if they are few or not stored by key, those of all keys."""
        by_key = [state.recent, state.running]
        whole = [state.waiting] if state.passed is None else [state.waiting, state.passed, *by_key]
        if stored_rows(whole) > MOST:
            return False
        self._complete = state.passed is not None or stored_rows(by_key) <= _FEW
        waiting = state.waiting.all()
        rows = _checked(waiting[list(self._plan.payload)], self._floats)
        self._waiting = list(zip(waiting[TIME].to_list(), self._arrivals, rows, strict=False))
        self.size += len(rows)
        if self._complete:
            past = state.recent.all() if state.passed is None else state.passed.all()
            self._load(past, state.running.all())
        return True

    def _of_key(self, state: OverState, key: Row) -> KeyRows:
        """Returns the rows of a key."""
        of = self._by_key.get(key)
        if of is None and not self._complete:
            names = self._plan.keys
            schema = {name: state.recent.shape.schema[name] for name in names}
            wanted = pl.DataFrame([key], schema, orient="row")
            self._load(state.recent.of_keys(wanted, names), state.running.find(wanted))
            of = self._by_key.get(key)
        if of is None:
            of = self._by_key[key] = self._new()
            self.size += 1
        return of

    def _new(self) -> KeyRows:
        return KeyRows([], [], 0, 0, no_parts(self._plan), [0] * len(self._plan.unbounded))

    def _load(self, past: pl.DataFrame, running: pl.DataFrame) -> None:
        """Adds keys that the copy lacks: their rows that have passed, and those of the table `running`."""
        loaded: defaultdict[Row, KeyRows] = defaultdict(self._new)
        for values in python_rows(running):
            stored = dict(zip(running.columns, values, strict=True))
            of = loaded[tuple([stored[name] for name in self._plan.keys])]
            of.load(stored[ROW_COUNT], stored.get(TIME_COUNT, 0), stored_parts(self._plan, stored))
        for key, time, row in self._rows_of(past):
            loaded[key].append(time, row)
        for of in loaded.values():
            of.count_loaded()
            self.size += 1 + len(of.rows)
        self._by_key |= loaded

    def _rows_of(self, past: pl.DataFrame) -> Iterable[tuple[Row, int, Row]]:
        """Returns the key, the time and the values of each row, in the order of the rows of its key."""
        plan = self._plan
        past = past.sort(ROW_NUMBER) if ROW_NUMBER in past.columns else past
        # A table lacks columns that only frames of other tables read.
        nulls = [None] * past.height
        columns = [past[name] if name in past.columns else pl.Series(name, nulls) for name in plan.read]
        floats = [place for place, name in enumerate(plan.read) if plan.schema[name].is_float()]
        rows = _checked(pl.DataFrame(columns), floats) if columns else [()] * past.height
        times = past[STORED_TIME if STORED_TIME in past.columns else TIME].to_list()
        return zip(python_rows(past[plan.keys]), times, rows, strict=True)


def _checked(frame: pl.DataFrame, floats: Sequence[int]) -> list[Row]:
    """Returns the rows of a table.

    Raises:
        NotInPythonError: if a value, such as one in the places `floats`, may differ in Python.
    """
    rows = python_rows(frame)
    for place in floats:
        for row in rows:
            check_value(row[place])
    return rows
