"""The operator of a chain: a window operator and the stages that follow it (semantics 30.3).

In each evaluation the panes of the window operator pass through all stages. So a stage fires at most once
in an evaluation, with all panes that the stage before it emitted in that evaluation.
"""

from collections.abc import Callable, Iterable, Mapping

import polars as pl

from panewise.engine.chain.plan import ChainPlan
from panewise.engine.chain.stage import StageEngine
from panewise.engine.ingest.output import Output
from panewise.engine.nested.operator import NestedEngine
from panewise.engine.nested.state import tables_of_member
from panewise.engine.protocol import EvaluatedPanes
from panewise.engine.windows.operator import WindowEngine
from panewise.engine.windows.state import WINDOWS
from panewise.spec import Chain


class ChainEngine(NestedEngine[WindowEngine, StageEngine]):
    """A window operator and the stages that follow it, as one operator."""

    def __init__(self, chain: Chain, schema: Mapping[str, pl.DataType]) -> None:
        plan = ChainPlan(chain, schema)
        first, stages = WindowEngine(chain.first, schema, plan.first), list(map(StageEngine, plan.stages))
        tables = {WINDOWS: (0, WINDOWS)}  # the other tables of the window operator are the last ones
        for number, stage in enumerate(stages, 1):
            tables |= tables_of_member(number, f"{{}} of stage {number}", stage.state)
        super().__init__(chain, plan, first, stages, tables | tables_of_member(0, "{}", first.state))

    @property
    def windows(self) -> WindowEngine:
        """The window operator. The panes of all stages have the ends of its panes."""
        return self.first

    def _evaluated(self, step: Callable[[], Iterable[Output]]) -> tuple[list[Output], list[EvaluatedPanes]]:
        outputs, evaluations = self.first.evaluated(lambda: [*step()])
        return outputs, evaluations

    def _follow(self, follower: StageEngine, evaluation: EvaluatedPanes) -> pl.DataFrame:
        return follower.take(evaluation)
