"""What window joins and cogroups have in common: windows that are made from the rows of both sides.

Invariant: rows are added before the watermarks move that they drive, row by row or as a batch. So no row is
late because of itself, or of rows that arrive later. Cost: a pass over the rows, and a join of the late ones
by number.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Final, TypeAlias

import polars as pl

from panewise.engine.columns import LATE_BY, MISSED_WINDOWS, NUMBER, PARTIAL, REASON, TIME
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.join.batch.join_batch import late_after_end, numbered
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.two_sides import TwoSidedOperator, highest_times
from panewise.engine.kernels.small_frames import filter_rows, vstack_frames
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.windowing import ROW_NUMBER

# The outputs of the sides without panes, and the panes.
OutputsAndPanes: TypeAlias = tuple[list[Output], Iterator[pl.DataFrame]]
RowsBySide: TypeAlias = Mapping[str, pl.DataFrame]  # by side
_LATE_COLUMNS: Final = (REASON, MISSED_WINDOWS, LATE_BY, PARTIAL)


class WindowsOfSides(TwoSidedOperator):
    """An operator with windows of the rows of both sides. These decide which rows are late."""

    @property
    def _one_by_one(self) -> bool:
        return self.spec.evaluate == "record"

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterator[Output]:
        """Adds valid rows of both sides as one batch, and moves the watermarks that rows drive (36.7)."""
        rows, total = numbered(self.plan, self.state, valid)
        add = self._each if total and self._one_by_one else self._batch
        return self._with_panes(*add(rows, highest_times(latest)))

    def _each(self, rows: Mapping[str, pl.DataFrame], highest: Mapping[str, int]) -> OutputsAndPanes:
        numbers = {side: of_side[NUMBER].to_list() for side, of_side in rows.items()}
        places = [(n, side, at) for side, of_side in numbers.items() for at, n in enumerate(of_side)]
        by_side, emitted = {side: [self._nothing[side]] for side in rows}, []
        for _, side, at in sorted(places):
            row = rows[side][at : at + 1]
            outputs, panes = self._batch({side: row}, {side: row[TIME][0]} if side in highest else {})
            by_side[side] += outputs
            emitted += [*panes]
        return [Output.merged(of_side) for of_side in by_side.values()], iter(emitted)

    def _batch(self, rows: Mapping[str, pl.DataFrame], highest: Mapping[str, int]) -> OutputsAndPanes:
        fresh, marks = {}, dict(self.state.marks)
        for side, of_side in rows.items():
            entry = self.plan.entries[side]
            fresh[side] = marks[side].without_replays(entry, of_side)
            marks[side] = marks[side].after(entry, of_side)
        count = sum(of_side.height for of_side in rows.values())
        self.state = replace(self.state, marks=marks, next_number=self.state.next_number + count)
        outputs, panes = self._arrived(rows, fresh)
        return outputs, chain(panes, self._advanced(self.state.clocks.moved_by_rows(self.spec, highest)))

    @abstractmethod
    def _arrived(
        self, rows: Mapping[str, pl.DataFrame], fresh: Mapping[str, pl.DataFrame]
    ) -> OutputsAndPanes:
        """Adds rows that are no replays to their windows, and emits what fires. `rows` are all rows."""

    def _open(self, fresh: RowsBySide) -> RowsBySide:
        return {side: of_side for side, of_side in fresh.items() if not self.state.clocks.sides[side].ended}

    def _outputs_and_applied(
        self, rows: RowsBySide, fresh: RowsBySide, all_late: pl.DataFrame | None
    ) -> tuple[list[Output], dict[str, pl.DataFrame]]:
        """Returns the late rows and counts of the sides, and their applied rows.

        `all_late` has the late rows of the sides whose input has not ended, with their `ROW_NUMBER` and the
        columns of the late output.
        """
        outputs, applied, open_sides = [], {}, self._open(fresh)
        for side, of_side in fresh.items():
            if all_late is None or side not in open_sides:
                late, applied[side] = late_after_end(self.plan, self.state, side, of_side), of_side.clear()
            else:
                late, applied[side] = split_late(of_side, all_late, self.plan.ports[side].late_schema)
            replays, partly = rows[side].height - of_side.height, int(late[PARTIAL].sum())
            counts = Counts(rows[side].height, applied[side].height, replays, late.height - partly, 0, partly)
            outputs.append(replace(self._nothing[side], late=late, counts=counts))
        return outputs, applied

    def _moved(self, clocks: JoinClocks) -> Output:
        nothing = self._nothing[LEFT]
        return replace(nothing, panes=vstack_frames([nothing.panes, *self._advanced(clocks)]))

    @abstractmethod
    def _advanced(self, clocks: JoinClocks) -> Iterator[pl.DataFrame]:
        """Moves the clocks at once. Returns what is emitted."""


def split_late(
    rows: pl.DataFrame, late: pl.DataFrame, schema: Mapping[str, pl.DataType]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the late rows of a side as its late output has them, and the rows that are applied."""
    if late.is_empty():
        return pl.DataFrame(schema=schema), rows
    own = late.select(pl.col(ROW_NUMBER).alias(NUMBER), *_LATE_COLUMNS)
    late = rows.join(own, on=NUMBER, maintain_order="left")
    missed = late.filter(~pl.col(PARTIAL))[NUMBER]
    return late.select(*schema), filter_rows(rows, ~rows[NUMBER].is_in(missed.implode()))
