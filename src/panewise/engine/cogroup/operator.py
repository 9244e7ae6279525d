"""The operator of cogroups (semantics 43).

A window operator of the rows of both sides does what windows do, and decides which rows are late. The
operator of the sides, before it, numbers the rows, has the clocks, and splits late rows and counts by side.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

import polars as pl

from panewise.engine.cogroup.plan import HEADER, CogroupPlan
from panewise.engine.cogroup.sides import CogroupSides
from panewise.engine.columns import ROWS
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.nested.operator import NestedEngine, advanced
from panewise.engine.nested.state import tables_of_member
from panewise.engine.protocol import EvaluatedPanes, Schemas
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import CogroupOperator
from panewise.spec.operators.join.columns import LEFT


class CogroupEngine(NestedEngine[CogroupSides, WindowEngine]):
    """A cogroup on Polars frames."""

    HEADER: ClassVar = HEADER
    plan: CogroupPlan

    def __init__(self, spec: CogroupOperator, schemas: Schemas) -> None:
        plan = CogroupPlan(spec, schemas)
        windows = WindowEngine(plan.windows.spec, {}, plan.windows)
        super().__init__(spec, plan, CogroupSides(plan), [windows], tables_of_member(1, "{}", windows.state))

    @property
    def windows(self) -> WindowEngine:
        """The window operator of the rows of both sides."""
        return self.following[0]

    def live(self) -> pl.DataFrame:
        """Returns the live windows, with the keys of the left side."""
        return super().live().rename(self.plan.names)

    def evaluate_all(self) -> Output:
        """Evaluates all windows once, after a change of the specification."""
        panes = self.windows.evaluate_all().panes.rename(self.plan.names)
        return replace(self._nothing(LEFT), panes=panes)

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> list[Output]:
        """Adds partials and valid rows of both sides as one batch, and moves watermarks (semantics 43.6)."""
        return [*self._combined(), *super().add_together(valid, latest)]

    def _combined(self) -> list[Output]:
        """Adds partials of both sides to their windows. Late rows are only counted."""
        in_time, outputs = list[pl.DataFrame](), list[Output]()
        for side, of_side in self.first.take_partials().items():
            partials, count = self.plan.ports[side].of_windows(of_side), int(of_side[ROWS].sum())
            late, partly = count, 0
            if not self.first.state.has_ended(side):
                late, partly = self.windows.late_partials(partials)
                in_time.append(partials)
            counts = Counts(count, count - late, 0, late, 0, partly)
            outputs.append(replace(self._nothing(side), counts=counts))
        if in_time:
            both = in_time[0] if len(in_time) == 1 else self.plan.windows.combine_again(pl.concat(in_time))
            panes = self.windows.add_combined(both).panes.rename(self.plan.names)
            outputs[0] = replace(outputs[0], panes=panes)
        return outputs

    def _step(self, step: Callable[[], Iterable[Output]]) -> list[Output]:
        return [self.first.with_late(output) for output in super()._step(step)]

    def _evaluated(self, step: Callable[[], Iterable[Output]]) -> tuple[list[Output], list[EvaluatedPanes]]:
        return self.first.evaluated(step)

    def _follow(self, follower: WindowEngine, evaluation: EvaluatedPanes) -> pl.DataFrame:
        panes = advanced(follower, evaluation.clocks)
        if evaluation.panes.height:
            output = follower.add_valid(evaluation.panes)
            self.first.add_late(output.late)
            panes.append(output.panes)
        named = (frame.rename(self.plan.names) for frame in panes if frame.height)
        return vstack_frames([self.no_panes, *named])
