"""The sides of a cogroup: their clocks, replays, numbers of rows and late rows. The windows follow them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Self

import polars as pl

from panewise.engine.cogroup.plan import CogroupPlan
from panewise.engine.columns import PARTIAL
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.two_sides import JoinState
from panewise.engine.join.windows_of_sides import OutputsAndPanes, RowsBySide, WindowsOfSides, split_late
from panewise.engine.protocol import EvaluatedPanes
from panewise.spec import CogroupOperator
from panewise.spec.operators.join.columns import LEFT


class CogroupSides(WindowsOfSides):
    """The first operator of a cogroup. It emits the rows of both sides as rows of the windows."""

    spec: CogroupOperator
    plan: CogroupPlan
    state: JoinState

    def __init__(self, plan: CogroupPlan) -> None:
        super().__init__(plan.spec, plan, JoinState({}))
        self._partials: dict[str, pl.DataFrame] = {}  # of each side in a batch
        self._evaluations: list[EvaluatedPanes] = []  # of the present step, like both below
        self._fresh: list[RowsBySide] = []  # the rows that are no replays
        self._late: list[pl.DataFrame] = []  # late rows, with the columns of the windows' input

    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns nothing, as there are no tables."""
        return {}

    def next_due(self) -> int | None:
        """Returns None: nothing is due before the windows are."""
        return None

    def output_watermark(self) -> int | None:
        """Returns the lower watermark of both sides."""
        return self.state.clocks.watermark

    def live(self) -> pl.DataFrame:
        """Returns nothing, as the windows are those of the operator that follows."""
        return pl.DataFrame()

    @property
    def combined_input(self) -> Self:
        """The operations on partials: the operator itself has them."""
        return self

    def add_combined(self, partials: pl.DataFrame, port: str = LEFT) -> Output:
        """Takes partials for the next `add_together`: both sides have one evaluation (semantics 43.6)."""
        self._partials = {**self._partials, port: partials}
        return self._nothing[port]

    def take_partials(self) -> dict[str, pl.DataFrame]:
        """Returns the partials of the sides. They are no longer stored."""
        partials, self._partials = self._partials, {}
        return partials

    def evaluated(self, step: Callable[[], Iterable[Output]]) -> tuple[list[Output], list[EvaluatedPanes]]:
        """Does a step; returns its outputs, as if no row was late for the windows, and its evaluations."""
        self._evaluations, self._fresh, self._late = [], [], []
        return [*step()], self._evaluations

    def add_late(self, rows: pl.DataFrame) -> None:
        """Adds rows of the present step that are late for the windows, with the columns of their input."""
        self._late.append(rows)

    def with_late(self, output: Output) -> Output:
        """Returns the output of a side of the present step with its rows that are late for the windows."""
        side, late = output.port, [rows_late for rows_late in self._late if rows_late.height]
        fresh = [rows[side] for rows in self._fresh if side in rows]
        if not late or not fresh:
            return output
        late_rows, _ = split_late(pl.concat(fresh), pl.concat(late), self.plan.ports[side].late_schema)
        partly = int(late_rows[PARTIAL].sum())
        whole = late_rows.height - partly
        counts = output.counts + Counts(applied=-whole, late=whole, partially_late=partly)
        return replace(output, late=pl.concat([output.late, late_rows]), counts=counts)

    @property
    def _one_by_one(self) -> bool:
        """Whether each row is a batch of its own. Otherwise the windows evaluate batches row by row."""
        return super()._one_by_one and self.clocks_are_own

    def _arrived(self, rows: RowsBySide, fresh: RowsBySide) -> OutputsAndPanes:
        open_sides = self._open(fresh)
        if open_sides:
            self._fresh.append(open_sides)
            self._evaluations.append(
                EvaluatedPanes(of_windows(self.state.clocks), self.plan.as_rows(open_sides))
            )
        outputs, _ = self._outputs_and_applied(rows, fresh, pl.DataFrame())
        return outputs, iter(())

    def _advanced(self, clocks: JoinClocks) -> Iterator[pl.DataFrame]:
        self.state = replace(self.state, clocks=clocks)
        self._evaluations.append(EvaluatedPanes(of_windows(clocks), pl.DataFrame()))
        return iter(())
