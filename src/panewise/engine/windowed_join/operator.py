"""Windows over a join as one operator (semantics 42).

In each step the join emits rows, and its output watermark moves. The rows are a batch of the windows, and the
output watermark is their watermark.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.input_state import UncombinedOperator
from panewise.engine.ingest.output import Output
from panewise.engine.join.pairing import PairingEngine
from panewise.engine.join.same_window.base import SameWindowEngine
from panewise.engine.protocol import Operator, Schemas, engine_parts
from panewise.engine.windowed_join.plan import WindowedJoinPlan
from panewise.engine.windowed_join.state import (
    THEN,
    BothClocks,
    WindowedJoinState,
    both_tables,
    header_of_windows,
)
from panewise.families import INPUT
from panewise.spec import WindowedJoin
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT


class WindowedJoinEngine(UncombinedOperator):
    """A join and windows over the rows that it emits, on Polars frames.

    Args:
        spec: the specification.
        schemas: the types of the columns of both sides.

    Raises:
        SpecError: as :meth:`WindowedJoinPlan.of` does.
    """

    def __init__(self, spec: WindowedJoin, schemas: Schemas) -> None:
        self.spec, self.plan = spec, WindowedJoinPlan.of(spec, schemas)
        self._join = cast(
            PairingEngine | SameWindowEngine, engine_parts(spec.join).operator(spec.join, schemas)
        )
        self._windows: Operator = engine_parts(spec.windows).operator(spec.windows, {INPUT: self.plan.rows})

    def __copy__(self) -> "WindowedJoinEngine":
        """Returns an operator with operators of its own. The states of these are never changed in place."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, _join=copy(self._join), _windows=copy(self._windows))
        return made

    @property
    def state(self) -> WindowedJoinState:
        """The states of both operators."""
        return WindowedJoinState(self._join.state, self._windows.state)

    @state.setter
    def state(self, state: WindowedJoinState) -> None:
        self._join.state, self._windows.state = state.join, state.windows

    @property
    def changed(self) -> bool:
        """Whether the tables have changed since the operator was made."""
        return self._join.changed or self._windows.changed

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive a watermark of the join."""
        return self._join.clocks_are_own

    def header(self) -> dict[str, Any]:
        """Returns the header of the join, with that of the windows in the field `then`."""
        return self._join.header() | {THEN: self._windows.header()}

    def with_header(self, header: Mapping[str, Any]) -> WindowedJoinState:
        """Returns the states with the values of a header.

        Raises:
            StateError: if a value cannot be one of this operator's.
        """
        after = header_of_windows(header)
        return WindowedJoinState(self._join.with_header(header), self._windows.with_header(after))

    def horizons(self, clocks: BothClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table at these clocks."""
        return both_tables(self._windows.horizons(clocks.windows), self._join.horizons(clocks.join))

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is due; None: nothing is.

        The watermark of the windows is never above those of the join.
        """
        due = [one for one in (self._join.next_due(), self._windows.next_due()) if one is not None]
        return min(due, default=None)

    def output_watermark(self) -> int | None:
        """Returns the watermark of the panes."""
        return self._windows.output_watermark()

    def live(self) -> pl.DataFrame:
        """Returns the live windows."""
        return self._windows.live()

    def marks(self, port: str = LEFT) -> Marks:
        """Returns the replay marks of a side."""
        return self._join.marks(port)

    def raise_marks(self, marks: Marks, port: str = LEFT) -> None:
        """Replaces the replay marks of a side by those of the rows that all shards have received."""
        self._join.raise_marks(marks, port)

    def add(self, rows: pl.DataFrame, port: str = LEFT) -> Output:
        """Adds a batch of rows of one side."""
        (output,) = self.add_batch({port: rows})
        return output

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch with rows of one side or of both. Returns an output for each side in it."""
        return self._followed(self._join.add_batch(rows))

    def add_valid(self, valid: pl.DataFrame, port: str = LEFT) -> Output:
        """Adds rows of one side that its port found valid."""
        (output,) = self._followed([self._join.add_valid(valid, port)])
        return output

    def advance_inputs(self, latest: Mapping[str, int], port: str = LEFT) -> Output:
        """Moves the watermark that the rows of a side drive."""
        (output,) = self._followed([self._join.advance_inputs(latest, port)])
        return output

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> list[Output]:
        """Adds valid rows of both sides as one batch, and moves the watermarks that rows drive."""
        return self._followed([*self._join.add_together(valid, latest)])

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves the clocks. `source` is the side that reports the watermark; None: both do."""
        before = [] if processing_time is None else [self._windows.advance(processing_time).panes]
        (output,) = self._followed([self._join.advance(processing_time, watermark, source)], before)
        return output

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        (output,) = self._followed([self._join.finish(port)])
        return output

    def _followed(self, outputs: Sequence[Output], panes: Sequence[pl.DataFrame] = ()) -> list[Output]:
        """Passes what the join emitted through the windows (semantics 42.2).

        Returns the outputs of the join with panes in the place of its rows. `panes` come before the others.
        """
        nothing, emitted = self._no_panes, list(panes)
        rows = [output.panes for output in outputs if output.panes.height]
        if rows:
            emitted.append(self._windows.add(self._as_input(pl.concat(rows))).panes)
        emitted.append(self._moved())
        found = pl.concat(emitted)
        if not outputs and found.height:
            port = self.plan.ports[LEFT]
            outputs = [replace(Output.nothing({}, port.late_schema, port.invalid_schema), port=LEFT)]
        made = [replace(output, panes=nothing) for output in outputs]
        return [replace(made[0], panes=found), *made[1:]] if made else []

    def _moved(self) -> pl.DataFrame:
        """Moves the watermark of the windows to the output watermark of the join, and returns the panes."""
        clocks = self._windows.state.clocks
        if self._join.state.clocks.finished:
            return self._no_panes if clocks.finished else self._windows.finish().panes
        mark = self._join.output_watermark()
        moves = mark is not None and (clocks.instant_watermark is None or mark > clocks.instant_watermark)
        return self._windows.advance(watermark=mark).panes if moves else self._no_panes

    @property
    def _no_panes(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.plan.pane_schema)

    def _as_input(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns emitted rows with the columns of an input of the windows."""
        return rows.with_columns(pl.col(JOIN_TIME).cast(self.plan.rows[JOIN_TIME]))
