"""Hypothesis strategies of events for a specification.

Times, watermarks and clock readings are drawn from the instants of :mod:`panewise.testing.edges`. So edge
cases are common by construction.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import strategies as st

from panewise.spec import Entry, Inputs, StreamTime, WindowOperator, counted, gap_columns, row_driven
from panewise.testing.drawn_types import has_samples, misfits, values_of
from panewise.testing.edges import EXTREMES, GAPS, clocks, expiries, times, watermarks
from panewise.testing.samples import (
    COLUMN_TYPES,
    INPUT_VALUES,
    KEY_VALUES,
    OF_INPUTS,
    OF_WINDOWS,
    VALUES,
    types_of,
    with_types,
)


@st.composite
def events(
    draw: st.DrawFn,
    /,
    spec: WindowOperator,
    max_events: int = 9,
    max_rows: int = 6,
    clock_moves: int = 2,
    types: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Draws events for a window operator, as :func:`panewise.testing.run` takes them.

    For every 5 batches there are about 3 moves of the watermark, `clock_moves` moves of the clock, and one
    restart.

    Args:
        spec: the window operator; of a chain its first stage.
        max_events: the most events, without the end of input.
        max_rows: the most rows of a batch.
        clock_moves: how often the clock moves.
        types: the types of columns that differ from those of :func:`types_of`.
    """
    writer = Writer(draw, spec, with_types(types_of(spec), types), max_rows)
    ops = ["add"] * 5 + ["watermark"] * 3 + ["clock"] * clock_moves + ["restart"]
    chosen = draw(st.lists(st.sampled_from(ops), min_size=1, max_size=max_events))
    script = [writer.event(op) for op in chosen]
    then = ["clock"] if moved_by_rows(spec) else ["watermark", "clock"]
    after_finish = [{"op": "finish"}, *([writer.event(op) for op in then] if draw(st.booleans()) else [])]
    return script + (after_finish if draw(st.booleans()) else [])


def moved_by_rows(spec: Entry) -> bool:
    """Returns whether rows move the watermark, so that none comes from outside."""
    return (
        isinstance(spec.watermark, StreamTime)
        or row_driven(spec.watermark) is not None
        or counted(spec.window)
    )


@dataclass
class Writer:
    """Draws events one after the other, and records what later events can tie with.

    :meth:`times`, :meth:`watermarks` and :meth:`clocks` are for window operators. A subclass for another
    operator overrides them.

    Attributes:
        seen: the event times drawn so far; with `time="processing"` the clock readings.
        readings: the processing time after each clock reading, beginning with 0.
        offsets: the next offset of each (source, partition).
    """

    draw: st.DrawFn
    spec: Entry
    types: dict[str, str]
    max_rows: int
    seen: list[int] = field(default_factory=list)
    readings: list[int] = field(default_factory=lambda: [0])
    offsets: dict[Any, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def event(self, op: str) -> dict[str, Any]:
        """Draws an event with this op, or with another if the specification does not allow it."""
        if self.spec.time == "processing":
            op = "clock" if op == "watermark" else op
            self.seen = self.readings
        if moved_by_rows(self.spec) and op == "watermark":
            op = "add"
        if op == "add":
            return {
                "op": op,
                "rows": [
                    self._row() for _ in range(self.draw(st.sampled_from([*range(self.max_rows + 1), 3])))
                ],
            }
        if op == "watermark":
            source = (
                {"input": self._one_of(self.spec.watermark.names)}
                if isinstance(self.spec.watermark, Inputs)
                else {}
            )
            return {"op": op, "to": self._one_of(self.watermarks()), **source}
        if op == "clock":
            to = self._one_of(self.clocks())
            self.readings.append(max(to, self.readings[-1]))
            return {"op": op, "to": to}
        return {"op": op}

    def watermarks(self) -> Sequence[int]:
        """Returns the watermarks to draw from."""
        return (watermarks if self._one_of([False, True]) else expiries)(self._windows, self.seen[-4:])

    def clocks(self) -> Sequence[int]:
        """Returns the clock readings to draw from."""
        return clocks(self._windows, self.readings[-1], self.readings[-3:], self.seen[-4:])

    def times(self) -> Sequence[int]:
        """Returns the event times to draw from, the most useful first."""
        return times(self._windows, self.seen[-4:])

    @property
    def _windows(self) -> WindowOperator:
        return cast(WindowOperator, self.spec)

    def _one_of(self, values: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(values))

    def _row(self) -> dict[str, Any]:
        if self.rows and self._one_of(range(12)) == 11:
            return dict(self._one_of(self.rows))  # a duplicate, and a replay if it has a position
        row = {name: self._cell(name) for name in self.types}
        row |= {name: self._time() for name in self.spec.time_columns}
        if self.spec.position is not None:
            row |= self._position()
        if self.types.get("note", "bigint") == "bigint":
            row["note"] = len(self.rows)
        if self._one_of(range(5)) == 4:
            self._spoil(row)
        self.rows.append(row)
        return row

    def _cell(self, name: str) -> Any:
        if name in self._gaps:
            return self._one_of([*GAPS * 6, None, 0, -1, 2**63 - 1, "x"])
        if name in OF_INPUTS:
            return self._one_of(INPUT_VALUES)
        if isinstance(self.spec.watermark, Inputs) and name == self.spec.watermark.column:
            return self._one_of([*self.spec.watermark.names * 6, "no such input"])
        kind, is_key = self.types[name], name in self.spec.keys
        nulls: list[Any] = [None] if not is_key or self.spec.null_keys else []
        if not has_samples(kind):
            return self.draw(values_of(kind, nulls=bool(nulls) and self._one_of(range(4)) == 3))
        if is_key and self.spec.null_keys and kind == "double":
            nulls.append(math.nan)
        if is_key and name in KEY_VALUES and kind == COLUMN_TYPES[name]:
            return self._one_of([*KEY_VALUES[name], *nulls])
        return self._one_of([*VALUES[kind.split("(")[0]], *nulls])

    @property
    def _gaps(self) -> tuple[str, ...]:
        """The columns with lengths of windows."""
        return (*OF_WINDOWS, *gap_columns(self.spec.window))

    def _time(self) -> int:
        places = self.times()
        # Mostly one of the first few times, so that many rows share windows.
        time: int = self._one_of(places if self._one_of([False, False, True]) else places[:6])
        self.seen.append(time)
        return time

    def _position(self) -> dict[str, Any]:
        """Draws a source position.

        Its offset is mostly the next one of a partition, sometimes an earlier or a later one. If positions
        are not ordered, offsets are spread around the next one.
        """
        assert self.spec.position is not None
        *names, offset = self.spec.position.columns
        origin = {
            name: self._one_of([0, 1] if name == self.spec.position.partition else ["kafka", None])
            for name in names
        }
        following = self.offsets.get(tuple(origin.values()), 0)
        near = [0, 0, 0, 0, 1, 5, -1, -2] if self.spec.position.ordered else [0, 1, 3, 2, -1, -2, -3, -5]
        at = following + self._one_of(near)
        self.offsets[tuple(origin.values())] = max(following, at + 1)
        return {**origin, offset: at}

    def _spoil(self, row: dict[str, Any]) -> None:
        """Makes one cell of a row null, NaN, extreme or of a wrong type.

        Only one: the order of the reasons of rows with two faults (semantics 15) is tested by unit tests.
        """
        places = self.spec.position.columns if self.spec.position else ()
        others = [name for name in self.types if name not in self._gaps]  # _cell draws bad gaps
        name = self._one_of([*others, *self.spec.keys, *places, *self.spec.time_columns * 2] or [""])
        if not name:  # the specification reads no column
            return
        if name in self.spec.time_columns:
            row[name] = self._one_of([None, None, None, "x", 0.5, True, 2**63, -(2**63) - 1, *EXTREMES])
        else:
            kind = self.types[name]
            row[name] = self._one_of(
                [None, None, *([math.nan] * 5 if kind == "double" else []), *misfits(kind)]
            )
