"""The plans of a chain and of its stages, compiled for the types of the panes that stages receive."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import END, INDEX, NONSPECULATIVE, START
from panewise.engine.kernels.small_frames import BuiltOnce, output_key
from panewise.engine.tables.run import Shape
from panewise.engine.windowing.panes import PaneFormat
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.window_table import live_columns
from panewise.spec import Chain, Stage, closed_at_end
from panewise.spec.type_checks import check_types

TABLES: Final = ("contributions", "windows")  # of a stage
OP = "op"
PLACE = (START, END)


class StagePlan:
    """The compiled stage.

    A stage has two tables. `contributions` contains the panes that the stage stores, identified by the
    keys of the stage before and the bounds of the window. `windows` contains the windows of the stage,
    identified by its own keys and the bounds. Contributions are hashed by `cell`: the keys that both stages
    have, and the bounds. So one look-up by hash finds all contributions of a window.

    Args:
        chain: the specification of the chain.
        stage: the specification of the stage.
        before: the keys of the stage (or operator) before.
        panes: the columns of the panes of the stage (or operator) before.
    """

    def __init__(
        self, chain: Chain, stage: Stage, before: list[str], panes: Mapping[str, pl.DataType]
    ) -> None:
        self.spec, self.keys, self.before = chain.first, list(stage.keys), before
        self.once = BuiltOnce()
        measures = chain.measures(stage)
        self.aggregation = Aggregation(measures, dict(panes))
        self.identity, self.origin = [*self.keys, *PLACE], [*before, *PLACE]
        self.cell = [*(key for key in self.keys if key in before), *PLACE]
        self.retracting = chain.first.accumulation == "retracting"
        self.stores_contributions = chain.first.accumulation != "discarding"
        self.compares = self.retracting or chain.first.only_updated
        bounds = dict.fromkeys(PLACE, pl.Int64())
        read = dict.fromkeys(
            [*before, *self.keys, *(column for measure in measures for column in measure.columns)]
        )
        self.contributions = Shape({**{name: panes[name] for name in read}, **bounds}, self.origin, self.cell)
        keys, results = {key: panes[key] for key in self.keys}, self.aggregation.result_types
        numbers = dict.fromkeys((INDEX, NONSPECULATIVE), pl.Int64())
        table = {**keys, **bounds, **numbers, **(live_columns(results) if self.compares else {})}
        self.windows = Shape(table, self.identity, self.identity)
        self.panes = PaneFormat(self.spec, keys, results)
        self.pane_schema = self.panes.schema
        self.no_panes = pl.DataFrame(schema=self.pane_schema)

    def rows(self, panes: pl.DataFrame) -> pl.DataFrame:
        """Returns panes as rows of the stage (semantics 30.1).

        As a key -0.0 becomes 0.0. A global window gets the least and the greatest instant as its bounds.
        """
        return panes.with_columns(self.once("rows", self._as_rows))

    def _as_rows(self) -> list[pl.Expr]:
        end = pl.col("window_end") + 1 if closed_at_end(self.spec.window) else pl.col("window_end")
        return [
            *(output_key(key, self.windows.schema[key]) for key in self.keys),
            pl.col("window_start").fill_null(MIN_INSTANT).alias(START),
            end.fill_null(MAX_INSTANT).alias(END),
        ]


class ChainPlan:
    """The plan of the window operator, and the plans of the stages."""

    def __init__(self, chain: Chain, schema: Mapping[str, pl.DataType]) -> None:
        self.first = WindowPlan(chain.first, schema)
        check_types(chain, types_of(schema))
        self.ports, self.stages = self.first.ports, list[StagePlan]()
        before, panes = list(chain.first.keys), self.first.pane_schema
        for specified in chain.stages:
            plan = StagePlan(chain, specified, before, panes)
            self.stages.append(plan)
            before, panes = plan.keys, plan.pane_schema
        self.pane_schema = panes
