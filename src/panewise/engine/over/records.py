"""The rows of an OVER operator as Python objects, which are emitted one by one without a step of the engine.

A step of the engine over one row takes hundreds of times as long as the row needs. So an operator whose
messages come one by one has a copy of its tables in Python (:class:`RecordRows`), from which it emits rows.
The tables get the rows later, many at once, as :mod:`panewise.standalone.row_path` says.

The copy has the rows that wait for the watermark, by time. Once no later row can precede a row, it moves to
the rows of its key. There it waits until ranges that look ahead are complete and it passes, and then for as
many rows after it as `ROWS` and `lead` look ahead (semantics 29.2, 29.8). The copy has the keys that have
occurred, each also with the emitted rows that later rows look back to, and with the partials of frames
without a start.

Invariant: the copy has what the tables will have once they have the rows. If Python would compute a row in
another way, the copy is forgotten, and the engine takes the row. Cost: a heap operation for each row that
waits, and for each row that passes the rows of its frames.
"""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Final, TypeAlias

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import DENSE_RANK, END, RANK, ROW_COUNT, ROW_NUMBER, STORED_TIME, TIME_COUNT
from panewise.engine.kernels.python_rows import KEY_TYPES, NotInPythonError, check_value, python_rows
from panewise.engine.over.plan import OverPlan, passed_until
from panewise.engine.over.record_columns import (
    KeyRows,
    Row,
    computed_columns,
    no_partials,
    stored_partials,
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
        and not spec.order
        and spec.position is None
        and spec.max_future_skew is None
        and spec.watermark is None
        # Ranges that are computed from partials read the table `passed`, and frames of rows read `recent`.
        # The copy has the rows of one of them.
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
        # Rows are removed if a key has so many that have been emitted.
        several = plan.stores_recent or plan.ranges or plan.us_ahead
        self._many = plan.rows_back + (TRIMMED if several else 1)
        self._arrivals = count()
        super().__init__()

    def clear(self) -> None:
        """Removes all rows of the copy."""
        self._complete = False  # whether the copy has the rows of all keys
        self._waiting: list[tuple[int, int, Row]] = []
        self._to_pass: deque[tuple[int, KeyRows]] = deque()  # rows that no later row precedes, in order
        self._by_key: dict[Row, KeyRows] = {}

    def add(self, state: OverState, port: str, time: int, row: Row) -> Panes | None:
        """Adds a valid row. Returns what is emitted; None if it is late, or the engine must add it."""
        clocks = self.clocks_of(state)
        late = self._timed and clocks.watermark is not None and time < clocks.watermark
        if clocks.finished or late or not self.ensure_copy_of(state):
            return None
        try:
            for place in self._floats:
                check_value(row[place])
            self.size += 1
            if not self._timed:
                return self._passed([self._append(state, MAX_INSTANT, row)])
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
        watermark, until = clocks.watermark, passed_until(self._plan.spec, clocks)
        if clocks.finished or not self.ensure_copy_of(state):
            return None
        if watermark is None or until is None:
            return []
        rows = self._before(watermark)
        if not self._columns:
            self.size -= len(rows)
            return [row for _, row in rows]
        try:
            keys = [self._append(state, time, row) for time, row in rows]
            if self._plan.us_ahead:
                keys = self._due(zip([time for time, _ in rows], keys, strict=True), until)
            return self._passed(keys, until) if keys else []
        except NotInPythonError:
            self.forget()
            return None

    def _before(self, watermark: int) -> list[tuple[int, Row]]:
        """Removes from the rows that wait those that no later row precedes. Returns them in order."""
        waiting, last, rows = self._waiting, max(MIN_INSTANT, watermark - 1), []
        while waiting and waiting[0][0] <= last:
            time, _, row = heappop(waiting)
            rows.append((time, row))
        return rows

    def _due(self, rows: Iterable[tuple[int, KeyRows]], until: int) -> list[KeyRows]:
        """Adds rows to those that have not passed. Returns the key of each that passes now."""
        waiting, due = self._to_pass, []
        waiting.extend(rows)
        while waiting and waiting[0][0] <= until:
            due.append(waiting.popleft()[1])
        return due

    def _append(self, state: OverState, time: int, row: Row) -> KeyRows:
        """Adds a row to those of its key, and returns them."""
        key_rows = self._of_key(state, tuple([row[place] for place in self._keys]) or _NO_KEY)
        if len(key_rows.rows) >= _LONGEST:
            raise NotInPythonError
        key_rows.append(time, tuple([row[place] for place in self._read]), row)
        return key_rows

    def _passed(self, due: list[KeyRows], until: int | None = None) -> Panes:
        """Lets the next row of each of these keys pass. Returns the emitted rows with their new columns.

        All of them pass first, as frames contain rows of equal time. At most as many rows of a key are
        emitted as pass.
        """
        ahead, ranked, panes = self._plan.ahead, self._plan.ranks, list[tuple[int, Row]]()
        for key_rows in due:
            key_rows.pass_next(ranked=ranked)
        for key_rows in due:
            place = key_rows.emitted
            if place + ahead < key_rows.passed:
                new = tuple([column(key_rows, place) for column in self._columns])
                panes.append((key_rows.times[place], key_rows.emit_next() + new))
        for key_rows in due:
            if key_rows.emitted >= self._many:
                self._trim(key_rows, until)
        if ahead:  # otherwise they are in this order
            panes.sort(key=self._order)
        return [row for _, row in panes]

    def _order(self, pane: tuple[int, Row]) -> Row:
        """Returns what sorts emitted rows, if rows look ahead to others: time, and keys with nulls first."""
        time, row = pane
        return time, *[(row[place] is not None, row[place]) for place in self._keys]

    def _trim(self, key_rows: KeyRows, until: int | None) -> None:
        """Removes the rows that no later or waiting row looks back to."""
        plan = self._plan
        needless = key_rows.emitted - plan.rows_back
        if until is not None and (plan.reach or plan.ahead):
            # Further rows have times after `until`. The earliest row that waits looks back furthest.
            first = min([until + 1, *key_rows.times[key_rows.emitted : key_rows.emitted + 1]])
            needless = min(needless, bisect_left(key_rows.times, first - plan.reach))
        if needless:
            key_rows.trim(needless)
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
        self._waiting = list(zip(waiting[END].to_list(), self._arrivals, rows, strict=False))
        self.size += len(rows)
        if self._complete:
            past = state.recent.all() if state.passed is None else state.passed.all()
            self._load(past, state.running.all())
        return True

    def _of_key(self, state: OverState, key: Row) -> KeyRows:
        """Returns the rows of a key."""
        key_rows = self._by_key.get(key)
        if key_rows is None and not self._complete:
            names = self._plan.keys
            schema = {name: state.recent.shape.schema[name] for name in names}
            wanted = pl.DataFrame([key], schema, orient="row")
            self._load(state.recent.of_keys(wanted, names), state.running.find(wanted))
            key_rows = self._by_key.get(key)
        if key_rows is None:
            key_rows = self._by_key[key] = self._new()
            self.size += 1
        return key_rows

    def _new(self) -> KeyRows:
        return KeyRows(no_partials(self._plan), [0] * len(self._plan.unbounded))

    def _load(self, past: pl.DataFrame, running: pl.DataFrame) -> None:
        """Adds keys that the copy lacks: their rows that have passed, and those of the table `running`."""
        plan, loaded, passed = self._plan, defaultdict[Row, KeyRows](self._new), dict[Row, int]()
        for key, time, row, rank in self._rows_of(past):
            key_rows = loaded[key]
            key_rows.append(time, tuple([row[place] for place in self._read]) if plan.ahead else row, row)
            key_rows.ranks.append(rank)
        for values in python_rows(running):
            stored = dict(zip(running.columns, values, strict=True))
            key = tuple([stored[name] for name in plan.keys])
            passed[key] = stored[ROW_COUNT]
            partials = stored_partials(plan, stored, self._covered(stored[ROW_COUNT]))
            loaded[key].load(stored.get(TIME_COUNT, 0), partials)
        for key, key_rows in loaded.items():
            number = passed.get(key, len(key_rows.rows))
            key_rows.note_loaded(number, self._covered(number), plan.ahead)
            self.size += 1 + len(key_rows.rows)
        self._by_key |= loaded

    def _covered(self, passed: int) -> int:
        """Returns how many of the rows of a key that have passed the partials of `running` cover.

        They cover the rows that the frames of all rows not yet emitted contain.
        """
        return max(0, passed - self._plan.ahead + self._plan.covers_to)

    def _rows_of(self, past: pl.DataFrame) -> Iterable[tuple[Row, int, Row, tuple[int, int]]]:
        """Returns the key, the time, the values and the ranks of each row, in the order within its key.

        The values are those that functions read or, if rows wait for rows after them, all of them.
        """
        plan = self._plan
        past = past.sort(ROW_NUMBER) if ROW_NUMBER in past.columns else past
        names = list(plan.payload if plan.ahead else plan.read)
        # A table lacks columns that only frames of other tables read.
        nulls = [None] * past.height
        columns = [past[name] if name in past.columns else pl.Series(name, nulls) for name in names]
        floats = (
            self._floats
            if plan.ahead
            else [place for place, name in enumerate(names) if plan.schema[name].is_float()]
        )
        rows = _checked(pl.DataFrame(columns), floats) if columns else [()] * past.height
        times = past[STORED_TIME if STORED_TIME in past.columns else END].to_list()
        ranks = past[[RANK, DENSE_RANK]].rows() if RANK in past.columns else [(0, 0)] * past.height
        return zip(python_rows(past[plan.keys]), times, rows, ranks, strict=True)


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
