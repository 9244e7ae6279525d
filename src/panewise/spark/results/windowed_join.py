"""The outputs of windows over joins."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from panewise.spark.results.panes_of_sides import PanesOfSides
from panewise.spec import Aggregate, WindowedJoin


@dataclass(frozen=True, repr=False)
class WindowedJoinResult(PanesOfSides):
    """The outputs of windows over a join.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.
    """

    spec: WindowedJoin

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "WindowedJoinResult":
        """Returns the outputs with one more stage, whose rows are these panes (semantics 30).

        Raises:
            SpecError: if the stage breaks a rule.
        """
        spec = self.spec.then(keys=keys, aggregates=aggregates)
        return replace(self, spec=spec, dataflow=self.dataflow.with_spec(spec))
