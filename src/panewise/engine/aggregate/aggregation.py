"""A specification's aggregates compiled into expressions over rows, partials and results."""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate import overflow
from panewise.engine.aggregate.catalogue import parts_of
from panewise.engine.aggregate.partials import Part, rows_part
from panewise.engine.aggregate.results import result
from panewise.engine.aggregate.row_buffer import Contents
from panewise.engine.aggregate.types import result_type
from panewise.engine.kernels.small_frames import grouped, kept
from panewise.spec import Aggregate

_AT = "__at"


class Aggregation:
    """Lifts rows to partials, merges partials, reads results off partials.

    `passing` parts are lifted and merged like the others, but are nothing that a window keeps; `contents` are the rows that it keeps.
    """

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        schema: dict[str, pl.DataType],
        passing: Sequence[Part] = (),
        contents: Contents | None = None,
    ) -> None:
        self.aggregates = aggregates
        needed = [rows_part()]  # rows tell a partial of nothing from a partial of nulls
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
    def _told(self) -> list[Part]:
        return [*self.parts, *self.passing]

    def lift(self, rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        """Partials of each group of rows, which come in arrival order; groups in order of their first row."""
        for part in self.parts:
            if part.sums is not None and not part.dtype.is_float():
                overflow.refuse(rows, by, part.sums, part.dtype, part.sums)
        return self._typed(grouped(rows, by, [part.lift.alias(part.name) for part in self._told]))

    def singles(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The partials of each row alone, in the rows' order, and nothing else."""
        quick = rows.select(part.single.cast(part.dtype).alias(part.name) for part in self.parts if part.single is not None)
        rest = [part.lift.alias(part.name) for part in self.parts if part.single is None]
        if rest:
            numbered = rows.with_row_index(_AT).group_by(_AT, maintain_order=True).agg(rest)
            quick = quick.hstack(self._typed(numbered.drop(_AT), [part for part in self.parts if part.single is None]))
        return quick.select(part.name for part in self.parts)

    def merging(self) -> list[pl.Expr]:
        """The aggregations that merge partials of one group, in arrival order."""
        return [part.merge.alias(part.name) for part in self._told]

    def check_merge(self, partials: pl.DataFrame, by: list[str]) -> None:
        """Refuses sums of partials that leave 64 bits, or the widest decimal (semantics 24.3, 24.16)."""
        for part in self.parts:
            if part.sums is not None and not part.dtype.is_float():
                overflow.refuse(partials, by, part.name, part.dtype, part.sums)

    def fired(self, judged: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The windows, and those of them that fire with their results."""
        return judged, kept(judged, judged[fires]).with_columns(self.results)

    def cleared(self, where: pl.Expr, fired: pl.Expr) -> list[pl.Expr]:
        """The partial columns, emptied where the condition holds; what holds only what is new, after every firing."""
        empty = [(part, fired if part.passing else where) for part in self.parts]
        return [pl.when(at).then(pl.lit(p.empty, dtype=p.dtype)).otherwise(pl.col(p.name)).alias(p.name) for p, at in empty]

    def _typed(self, partials: pl.DataFrame, parts: Sequence[Part] | None = None) -> pl.DataFrame:
        wrong = [part for part in (self._told if parts is None else parts) if partials.schema[part.name] != part.dtype]
        return partials.with_columns(pl.col(part.name).cast(part.dtype) for part in wrong) if wrong else partials
