"""Windows over a join as one operator (semantics 42).

In each step the join emits rows, and its output watermark moves. The rows are a batch of the windows, and the
output watermark is their watermark.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

import polars as pl

from panewise.engine.family_parts import engine_parts
from panewise.engine.ingest.output import Output
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.nested.operator import NestedEngine, advanced
from panewise.engine.nested.state import tables_of_member
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import EvaluatedPanes, Operator, Schemas
from panewise.engine.windowed_join.plan import HEADER, WindowedJoinPlan
from panewise.families import INPUT
from panewise.spec import WindowedJoin
from panewise.spec.operators.join.columns import JOIN_TIME


class WindowedJoinEngine(NestedEngine[Operator, Operator]):
    """A join and windows over the rows that it emits, on Polars frames."""

    HEADER: ClassVar = HEADER
    spec: WindowedJoin
    plan: WindowedJoinPlan

    def __init__(self, spec: WindowedJoin, schemas: Schemas) -> None:
        plan = WindowedJoinPlan(spec, schemas)
        join = engine_parts(spec.join).operator(spec.join, schemas)
        windows = engine_parts(spec.windows).operator(spec.windows, {INPUT: plan.rows})
        tables = tables_of_member(1, "{}", windows.state) | tables_of_member(0, "join: {}", join.state)
        super().__init__(spec, plan, join, [windows], tables)
        self._no_rows = pl.DataFrame(schema=plan.join.pane_schema)

    @property
    def windows(self) -> Operator:
        """The windows over the rows of the join."""
        return self.following[0]

    def evaluate_all(self) -> Output:
        """Evaluates the join once, after a change of the specification, and then all windows."""
        output = super().evaluate_all()
        return replace(output, panes=vstack_frames([output.panes, self.windows.evaluate_all().panes]))

    def _evaluated(
        self, step: Callable[[], Iterable[Output]]
    ) -> tuple[list[Output], Iterable[EvaluatedPanes]]:
        outputs = [*step()]
        return outputs, self._evaluations([output.panes for output in outputs])

    def _evaluations(self, rows: list[pl.DataFrame]) -> Iterator[EvaluatedPanes]:
        """Yields what the windows take of a step, in the order of semantics 42.2."""
        now, before = self.first.state.clocks, self.windows.state.clocks
        clocks = Clocks(now.processing_time, before.instant_watermark, before.finished)
        emitted = vstack_frames([self._no_rows, *rows])
        yield EvaluatedPanes(clocks, emitted)
        after = replace(clocks, watermark=self.first.output_watermark(), finished=now.finished)
        yield EvaluatedPanes(after, self._no_rows)

    def _follow(self, follower: Operator, evaluation: EvaluatedPanes) -> pl.DataFrame:
        panes, rows = advanced(follower, evaluation.clocks), evaluation.panes
        if rows.height:
            rows = rows.with_columns(pl.col(JOIN_TIME).cast(self.plan.rows[JOIN_TIME]))
            panes.append(follower.add(rows).panes)
        return vstack_frames([self.no_panes, *panes])
