"""The aggregates of a specification, compiled into expressions over rows and partials."""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate.catalogue import parts_of
from panewise.engine.aggregate.partials import Part, rows_part
from panewise.engine.aggregate.results import result
from panewise.engine.aggregate.row_buffer import RowBuffer
from panewise.engine.aggregate.sums import chosen, leaving, leaving_of_rows
from panewise.engine.aggregate.types import result_type
from panewise.engine.kernels.small_frames import filter_rows, grouped
from panewise.spec import Aggregate

_AT = "__at"


class Aggregation:
    """Lifts rows to partials, merges partials, and computes results from partials.

    Args:
        aggregates: the aggregates of the specification.
        schema: the types of the columns.
        passing: parts that are lifted and merged like the others, but that windows do not store.
        contents: the row buffer of the windows, if they have one.
    """

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        schema: dict[str, pl.DataType],
        passing: Sequence[Part] = (),
        contents: RowBuffer | None = None,
    ) -> None:
        self.aggregates = aggregates
        needed = [rows_part()]  # the row count distinguishes a partial of no rows from one of nulls
        for index, aggregate in enumerate(aggregates):
            needed += parts_of(aggregate, index, schema)
        self.parts: list[Part] = list({part.name: part for part in needed}.values())
        self.passing = list(passing)
        self.ordered = any(a.ordered for a in aggregates)
        self.results = [result(a, i, schema) for i, a in enumerate(aggregates)]
        self.result_types = {a.name: result_type(a, schema) for a in aggregates}
        if contents is not None:
            self.parts += contents.parts
            self.ordered = True
            self.results += contents.results
            self.result_types |= contents.result_types

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The partial columns and their types."""
        return {part.name: part.dtype for part in self.parts}

    @property
    def _all_parts(self) -> list[Part]:
        return [*self.parts, *self.passing]

    def lift(self, rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        """Returns the partials of each group of rows, in the order of the first rows of the groups.

        The rows must be in arrival order.
        """
        beyond = leaving_of_rows(self.parts, rows)
        lifted = [chosen(part, beyond).lift.alias(part.name) for part in self._all_parts]
        return self._typed(grouped(rows, by, lifted))

    def singles(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the partials of each row alone, in the order of the rows, and no other columns."""
        quick = rows.select(
            part.single.cast(part.dtype).alias(part.name) for part in self.parts if part.single is not None
        )
        rest = [part.lift.alias(part.name) for part in self.parts if part.single is None]
        if rest:
            numbered = rows.with_row_index(_AT).group_by(_AT, maintain_order=True).agg(rest)
            quick = quick.hstack(
                self._typed(numbered.drop(_AT), [part for part in self.parts if part.single is None])
            )
        return quick.select(part.name for part in self.parts)

    def merging(self, partials: pl.DataFrame) -> list[pl.Expr]:
        """Returns the expressions that merge groups of these partials. A group is in arrival order."""
        beyond = leaving(self.parts, partials, partials.height)
        return [chosen(part, beyond).merge.alias(part.name) for part in self._all_parts]

    def fired(self, windows: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns all windows, and the firing ones with their results.

        `fires` is the Boolean column that marks the firing windows.
        """
        return windows, filter_rows(windows, windows[fires]).with_columns(self.results)

    def cleared(self, where: pl.Expr, fired: pl.Expr) -> list[pl.Expr]:
        """Returns the partial columns, with the partial of no rows where `where` is true.

        A part with only the rows since the last firing (`Part.passing`) is emptied where `fired` is true.
        """
        empty = [(part, fired if part.passing else where) for part in self.parts]
        return [
            pl.when(at).then(pl.lit(p.empty, dtype=p.dtype)).otherwise(pl.col(p.name)).alias(p.name)
            for p, at in empty
        ]

    def _typed(self, partials: pl.DataFrame, parts: Sequence[Part] | None = None) -> pl.DataFrame:
        """Returns the partials with the types of their parts. Polars widens some types."""
        wrong = [
            part
            for part in (self._all_parts if parts is None else parts)
            if partials.schema[part.name] != part.dtype
        ]
        return (
            partials.with_columns(pl.col(part.name).cast(part.dtype) for part in wrong) if wrong else partials
        )
