"""The operator of cogroups (semantics 43).

A window operator of the rows of both sides does what windows do. This operator numbers the rows, keeps the
clocks of the sides, and splits late rows and counts by side.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.cogroup.plan import CogroupPlan
from panewise.engine.cogroup.state import WINDOWS, CogroupState, header_of_windows
from panewise.engine.columns import ROWS
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.windows_of_sides import OutputsAndPanes, WindowsOfSides
from panewise.engine.protocol import Schemas
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import CogroupOperator
from panewise.spec.operators.join.columns import LEFT


class CogroupEngine(WindowsOfSides):
    """A cogroup on Polars frames.

    Args:
        spec: the specification.
        schemas: the types of the columns of both sides.

    Raises:
        SpecError: as :meth:`CogroupPlan.of` does.
    """

    spec: CogroupOperator
    plan: CogroupPlan
    state: CogroupState

    def __init__(self, spec: CogroupOperator, schemas: Schemas) -> None:
        self.spec, self.plan = spec, CogroupPlan.of(spec, schemas)
        windows = WindowEngine(self.plan.windows.spec, {}, self.plan.windows).state
        self.state = CogroupState(windows=windows)
        self.changed = False
        self._waiting: dict[str, pl.DataFrame] = {}  # the partials of each side in a batch

    def header(self) -> dict[str, Any]:
        """Returns the clocks and marks of both sides, and in the field `windows` the header of these."""
        return super().header() | {WINDOWS: self._operator().header()}

    def with_header(self, header: Mapping[str, Any]) -> CogroupState:
        """Returns the state with the values of a header.

        Raises:
            StateError: if a value cannot be one of this operator's.
        """
        windows = self._operator().with_header(header_of_windows(header))
        return replace(self.state.with_header(self.plan.ports, header), windows=windows)

    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table."""
        return self._operator().horizons(of_windows(clocks))

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which a window fires or expires."""
        return self._operator().next_due()

    def output_watermark(self) -> int | None:
        """Returns the watermark of panes, which is the lower one of both sides."""
        return MAX_INSTANT if self.state.clocks.finished else self.state.clocks.watermark

    def live(self) -> pl.DataFrame:
        """Returns the live windows, with the keys of the left side."""
        return self._operator().live().rename(self.plan.names)

    def add_combined(self, partials: pl.DataFrame, port: str = LEFT) -> Output:
        """Takes partials that the port returned. They wait for :meth:`add_together`.

        So those of both sides have one evaluation (semantics 43.6).
        """
        self._waiting = {**self._waiting, port: partials}
        return self._nothing(port)

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterator[Output]:
        """Adds partials and valid rows of both sides as one batch, and moves watermarks (semantics 43.6)."""
        waiting, self._waiting = self._waiting, {}
        combined = self._combined(waiting) if waiting else []
        return chain(combined, super().add_together(valid, latest))

    def _combined(self, waiting: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds partials of both sides to their windows. Late rows are only counted."""
        operator, given, outputs = self._operator(), list[pl.DataFrame](), list[Output]()
        for side, of_side in waiting.items():
            partials, count = self.plan.ports[side].of_windows(of_side), int(of_side[ROWS].sum())
            late, partly = count, 0
            if not self.state.clocks.sides[side].ended:
                late, partly = operator.late_partials(partials)
                given.append(partials)
            counts = Counts(count, count - late, 0, late, 0, partly)
            outputs.append(replace(self._nothing(side), counts=counts))
        if given:
            both = given[0] if len(given) == 1 else self.plan.windows.combine_again(pl.concat(given))
            panes = self._settled(operator, operator.add_combined(both))
            outputs[0] = replace(outputs[0], panes=panes)
        return outputs

    @property
    def _one_by_one(self) -> bool:
        """Whether each row is a batch of its own: else the windows take the rows one by one."""
        return super()._one_by_one and self.clocks_are_own

    def _arrived(
        self, rows: Mapping[str, pl.DataFrame], fresh: Mapping[str, pl.DataFrame]
    ) -> OutputsAndPanes:
        """Adds rows that are no replays to their windows, and emits what fires."""
        given, operator = self._open(fresh), self._operator()
        found = operator.add_valid(self.plan.as_rows(given)) if given else None
        outputs, _ = self._outputs_and_applied(rows, fresh, None if found is None else found.late)
        return outputs, iter(() if found is None else [self._settled(operator, found)])

    def _advanced(self, clocks: JoinClocks) -> Iterator[pl.DataFrame]:
        """Moves the clocks at once. Returns what is emitted."""
        before, operator, panes = self.state.clocks, self._operator(), list[pl.DataFrame]()
        if clocks.finished:
            panes.append(self._settled(operator, operator.finish()))
        elif (clocks.processing_time, clocks.watermark) != (before.processing_time, before.watermark):
            found = operator.advance(clocks.processing_time, clocks.watermark)
            panes.append(self._settled(operator, found))
        self.state = replace(self.state, clocks=clocks)
        return iter(panes)

    def _settled(self, operator: WindowEngine, found: Output) -> pl.DataFrame:
        """Takes over the windows. Returns their panes, in which keys have the names of the left side."""
        self.changed |= operator.changed
        self.state = replace(self.state, windows=operator.state)
        return found.panes.rename(self.plan.names)

    def _operator(self) -> WindowEngine:
        """Returns a window operator with the windows and clocks of the state."""
        operator = WindowEngine(self.plan.windows.spec, {}, self.plan.windows)
        operator.state = replace(self.state.windows, clocks=of_windows(self.state.clocks))
        return operator
