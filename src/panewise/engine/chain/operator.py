"""The operator of a chain: a window operator and the stages that follow it (semantics 30.3).

In each evaluation the panes of the window operator pass through all stages. So a stage fires at most once
in an evaluation, with all panes that the stage before it emitted in that evaluation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from panewise.engine.chain import stage
from panewise.engine.chain.plan import ChainPlan
from panewise.engine.chain.state import ChainState
from panewise.engine.columns import ORDER
from panewise.engine.ingest.output import Output
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.run import MemoryLibrary
from panewise.engine.store.stored_table import sealed_if_long
from panewise.engine.windows.operator import WindowEngine
from panewise.families import INPUT
from panewise.spec import Chain


class ChainEngine(WindowEngine):
    """A window operator and the stages that follow it, as one operator.

    Args:
        chain: the specification.
        schema: types of the input columns, as for :class:`WindowEngine`.

    Raises:
        SpecError: if a column is missing, or has a type that the chain cannot use.
    """

    state: ChainState

    def __init__(self, chain: Chain, schema: Mapping[str, pl.DataType]) -> None:
        plan = ChainPlan(chain, schema)
        super().__init__(chain.first, schema, plan)
        self.spec, self.stages = chain, plan.stages
        tables = tuple(stage.nothing(one, (MemoryLibrary(), MemoryLibrary())) for one in plan.stages)
        self.state = ChainState(
            windows=self.state.windows, clocks=self.state.clocks, slices=self.state.slices, stages=tables
        )

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds partials, as :meth:`WindowEngine.add_combined` does."""
        output = super().add_combined(partials)
        return replace(output, panes=self._through([output.panes]))

    def _evaluated(self, rows: pl.DataFrame) -> Output:
        """Applies rows. With `evaluate="record"` the panes of each row pass through the stages alone."""
        if self.plan.spec.evaluate == "batch":
            output = self._batch(rows)
            return replace(output, panes=self._through([output.panes]))
        output = self._each(rows)
        cut = (
            output.panes.partition_by(ORDER, maintain_order=True, include_key=False)
            if output.panes.height
            else []
        )
        return replace(output, panes=self._through(cut))

    def _tick(self, clocks: Clocks) -> Output:
        """Moves the clocks, and passes the panes through the stages. Then the tables of the stages expire."""
        output = super()._tick(clocks)
        through = self._through([output.panes])
        horizon = clocks.horizon(self.plan.spec)
        stages = tuple(
            (contributions.expired(horizon), windows.expired(horizon))
            for contributions, windows in self.state.stages
        )
        self.state = replace(self.state, stages=stages)
        return replace(output, panes=through)

    def _through(self, evaluations: Iterable[pl.DataFrame]) -> pl.DataFrame:
        """Returns the panes of the last stage, given those of the window operator for each evaluation."""
        emitted = [self._evaluation(panes) for panes in evaluations if not panes.is_empty()]
        return pl.concat(emitted) if emitted else pl.DataFrame(schema=self.plan.pane_schema)

    def _evaluation(self, panes: pl.DataFrame) -> pl.DataFrame:
        """Passes the panes of one evaluation through all stages. Returns the panes of the last one."""
        stages = list(self.state.stages)
        for number, plan in enumerate(self.stages):
            panes, tables = stage.process(plan, stages[number], panes, self.state.clocks)
            contributions, windows = (sealed_if_long(table) for table in tables)
            stages[number] = (contributions, windows)
        self.state = replace(self.state, stages=tuple(stages))
        return panes
