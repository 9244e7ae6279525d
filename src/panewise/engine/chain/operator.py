"""The operator of a chain: a window operator and the stages that follow it (semantics 30.3).

In each evaluation the panes of the window operator pass through all stages. So a stage fires at most once
in an evaluation, with all panes that the stage before it emitted in that evaluation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from panewise.engine.aggregate.types import types_of
from panewise.engine.chain import stage
from panewise.engine.chain.plan import StagePlan
from panewise.engine.columns import ORDER
from panewise.engine.ingest.output import Output
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.run import MemoryLibrary
from panewise.engine.windows.operator import NEWEST_ROWS, Operator
from panewise.spec import Chain
from panewise.spec.type_checks import check_types

_TABLES = 2  # tables of each stage


class ChainOperator(Operator):
    """A window operator and the stages that follow it, as one operator.

    Args:
        chain: the specification.
        schema: types of the input columns, as for :class:`Operator`.

    Raises:
        SpecError: if a column is missing, or has a type that the chain cannot use.
    """

    def __init__(self, chain: Chain, schema: Mapping[str, pl.DataType]) -> None:
        super().__init__(chain.first, schema)
        check_types(chain, types_of(schema))
        self.spec, self.stages = chain, list[StagePlan]()
        before, panes = list(chain.first.keys), self.plan.pane_schema
        for specified in chain.stages:
            plan = StagePlan(chain, specified, before, panes)
            self.stages.append(plan)
            before, panes = plan.keys, plan.pane_schema
        tables = (
            table for plan in self.stages for table in stage.nothing(plan, (MemoryLibrary(), MemoryLibrary()))
        )
        self.state = replace(self.state, following=tuple(tables))

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of the emitted panes, which are those of the last stage."""
        return self.stages[-1].pane_schema

    def add_combined(self, partials: pl.DataFrame) -> Output:
        """Adds partials, as :meth:`Operator.add_combined` does."""
        output = super().add_combined(partials)
        return replace(output, panes=self._through([output.panes]))

    def _evaluated(self, rows: pl.DataFrame) -> Output:
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
        output = super()._tick(clocks)
        through = self._through([output.panes])
        horizon = clocks.horizon(self.plan.spec)
        self.state = replace(
            self.state, following=tuple(table.expired(horizon) for table in self.state.following)
        )
        return replace(output, panes=through)

    def _through(self, evaluations: Iterable[pl.DataFrame]) -> pl.DataFrame:
        """Returns the panes of the last stage, given those of the window operator for each evaluation."""
        sent = [self._evaluation(panes) for panes in evaluations if not panes.is_empty()]
        return pl.concat(sent) if sent else pl.DataFrame(schema=self.pane_schema)

    def _evaluation(self, panes: pl.DataFrame) -> pl.DataFrame:
        tables = list(self.state.following)
        for number, plan in enumerate(self.stages):
            mine = slice(number * _TABLES, (number + 1) * _TABLES)
            contributions, windows = tables[mine]
            panes, after = stage.taken(plan, (contributions, windows), panes, self.state.clocks)
            tables[mine] = (table.sealed() if table.newest.height > NEWEST_ROWS else table for table in after)
        self.state = replace(self.state, following=tuple(tables))
        return panes
