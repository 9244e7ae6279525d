"""The aggregates of a specification, compiled into expressions over rows and partials.

Each sum has a plain and an exact implementation. A cheap bound, the largest absolute value times the number
of rows, shows for nearly every batch that its sums fit. Invariant: the plain one is used only where no sum
can leave the range of its type and all carries are 0.
"""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from typing import Literal, Self

import polars as pl

from panewise.engine.aggregate.added_later import (
    completeness_of,
    copies_of,
    reading_copies,
    unless_incomplete,
)
from panewise.engine.aggregate.catalogue import partials_of
from panewise.engine.aggregate.partials import Fitting, PartialColumn, rows_partial
from panewise.engine.aggregate.results import result
from panewise.engine.aggregate.row_buffer import RowBuffer
from panewise.engine.aggregate.sums import DIGITS
from panewise.engine.aggregate.types import result_type
from panewise.engine.columns import CARRY, ROWS
from panewise.engine.kernels.small_frames import filter_rows, greatest, grouped, with_values
from panewise.spec import Aggregate

_AT, _AGAIN = "__at", "__again"


class Aggregation:
    """Lifts rows to partials, merges partials, and computes results from partials.

    Args:
        aggregates: the aggregates of the specification.
        schema: the types of the columns.
        transient: partials that are lifted and merged like the others, but that windows do not store.
        contents: the row buffer of the windows, if they have one.
    """

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        schema: dict[str, pl.DataType],
        transient: Sequence[PartialColumn] = (),
        contents: RowBuffer | None = None,
    ) -> None:
        self.aggregates = aggregates
        copies = [pair for i, a in enumerate(aggregates) for pair in copies_of(a, i).items()]
        self._copies = [(pl.lit(True) if of is None else pl.col(of)).alias(name) for name, of in copies]
        schema = schema | {name: pl.Boolean() if of is None else schema[of] for name, of in copies}
        aggregates = tuple(reading_copies(aggregate, index) for index, aggregate in enumerate(aggregates))
        needed = [rows_partial()]  # the row count distinguishes a partial of no rows from one of nulls
        for index, aggregate in enumerate(aggregates):
            needed += [*partials_of(aggregate, index, schema), *completeness_of(aggregate, index)]
        self.partials: list[PartialColumn] = list({column.name: column for column in needed}.values())
        self.transient = list(transient)
        # Building expressions takes as long as computing them for few rows.
        self._expressions = dict[tuple[str, frozenset[str]], list[pl.Expr]]()
        self.ordered = any(a.ordered for a in aggregates)
        self.results = [unless_incomplete(a, i, result_of(a, i, schema)) for i, a in enumerate(aggregates)]
        self.result_types = {a.name: result_type(a, schema) for a in aggregates}
        if contents is not None:
            self.partials += contents.partials
            self.ordered = True
            self.results += contents.results
            self.result_types |= contents.result_types

    def with_partials(self, columns: list[PartialColumn], results: list[pl.Expr]) -> Self:
        """Returns a copy with other partial columns, and other expressions of the results."""
        other = copy(self)
        other.partials, other.results, other._expressions = columns, results, {}
        return other

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The partial columns and their types."""
        return {column.name: column.dtype for column in self.partials}

    @property
    def _all_columns(self) -> list[PartialColumn]:
        return [*self.partials, *self.transient]

    def lift(self, rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        """Returns the partials of each group of rows, in the order of the first rows of the groups.

        The rows must be in arrival order.
        """
        rows = rows.with_columns(self._copies) if self._copies else rows
        beyond = columns_that_may_leave(self.partials, rows)
        return self._typed(grouped(rows, by, self._chosen("lift", beyond)), self._all_columns)

    def singles(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the partials of each row alone, in the order of the rows, and no other columns."""
        rows = rows.with_columns(self._copies) if self._copies else rows
        columns = [(part, part.single) for part in self.partials]
        quick = rows.select(
            value.cast(part.dtype).alias(part.name) for part, value in columns if value is not None
        )
        rest = [part for part, value in columns if value is None]
        if rest:
            numbered = rows.with_row_index(_AT).group_by(_AT, maintain_order=True)
            lifted = numbered.agg(part.lift.alias(part.name) for part in rest)
            quick = quick.hstack(self._typed(lifted.drop(_AT), rest))
        return quick.select(part.name for part in self.partials)

    def merging(self, partials: pl.DataFrame) -> list[pl.Expr]:
        """Returns the expressions that merge groups of these partials. A group is in arrival order."""
        beyond = columns_that_need_carries(self.partials, partials, partials.height)
        return self._chosen("merge", beyond)

    def _chosen(self, which: Literal["lift", "merge"], beyond: set[str]) -> list[pl.Expr]:
        """Returns the expressions of :func:`exact_or_fitting`, each under the name of its partial."""
        key = which, frozenset(beyond)
        if key not in self._expressions:
            columns = ((column.name, exact_or_fitting(column, beyond)) for column in self._all_columns)
            self._expressions[key] = [
                (column.lift if which == "lift" else column.merge).alias(name) for name, column in columns
            ]
        return self._expressions[key]

    def fired(self, windows: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns all windows, and the firing ones with their results.

        `fires` is the Boolean column that marks the firing windows.
        """
        return windows, with_values(filter_rows(windows, windows[fires]), self.results)

    def cleared(self, where: pl.Expr, fired: pl.Expr) -> list[pl.Expr]:
        """Returns the partial columns, with the partial of no rows where `where` is true.

        Those of rows since the last firing (`PartialColumn.since_firing`) are emptied where `fired` is true.
        """
        empty = [(column, fired if column.since_firing else where) for column in self.partials]
        return [
            pl.when(at).then(pl.lit(p.empty, dtype=p.dtype)).otherwise(pl.col(p.name)).alias(p.name)
            for p, at in empty
        ]

    def _typed(self, partials: pl.DataFrame, columns: Sequence[PartialColumn]) -> pl.DataFrame:
        """Returns the partials with the types of their parts. Polars widens some types."""
        wrong = [column for column in columns if partials.schema[column.name] != column.dtype]
        return partials.with_columns(pl.col(p.name).cast(p.dtype) for p in wrong) if wrong else partials


def results_of_lists(aggregation: Aggregation, windows: pl.DataFrame, column: str, *by: str) -> pl.DataFrame:
    """Returns the aggregates of the rows in a list of structs of each window; of no rows if it is empty.

    The rows are taken in the order of the columns `by`.
    """
    # A constant second key. If rows are grouped by one sorted column, Polars 2.1 returns 0 for the variance
    # of a single NaN. If they are grouped by two columns, it returns NaN.
    keys = [_AT, _AGAIN]
    numbered = windows.select(column).with_row_index(_AT).with_columns(pl.lit(0).alias(_AGAIN))
    rows = numbered.filter(pl.col(column).list.len() > 0).explode(column).unnest(column)
    partials = aggregation.lift(rows.sort(_AT, *by) if by else rows, keys)
    results = numbered.select(_AT).join(partials, on=_AT, how="left", maintain_order="left")
    none = pl.col(ROWS).is_null()
    return results.with_columns(aggregation.cleared(none, none)).select(aggregation.results)


def result_of(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> pl.Expr:
    """Returns the expression for the result of the `index`-th aggregate, under its name.

    Sums and means of distinct values are aggregated when they are computed: partials of them cannot be
    merged, as two sets may share values.
    """
    column, fn = aggregate.column, aggregate.fn.removesuffix("_distinct")
    if column is None or fn not in ("sum", "avg") or fn == aggregate.fn:
        return result(aggregate, index, schema)
    plain = Aggregation((replace(aggregate, fn=fn),), schema)

    def of_sets(sets: pl.Series) -> pl.Series:
        rows = sets.alias(column).to_frame().with_row_index(_AT).explode(column, empty_as_null=True)
        return plain.lift(rows, [_AT]).select(plain.results).to_series()

    computed = pl.col(f"__set:{column}").map_batches(of_sets, return_dtype=result_type(aggregate, schema))
    return computed.alias(aggregate.name)


def fits(values: pl.Series, count: int, limit: int) -> bool:
    """Returns whether sums of up to `count` of the values are within the limit, by the cheap bound."""
    dtype = values.dtype
    if isinstance(dtype, pl.Decimal) and 10 ** (dtype.precision or DIGITS) * count < limit:
        return True
    return greatest(values) * count < limit


def columns_that_may_leave(columns: Sequence[PartialColumn], rows: pl.DataFrame) -> set[str]:
    """Returns the input columns whose sums, over any of the rows, may leave the range of their type."""
    return {
        column.sums
        for column in columns
        if column.sums is not None
        and not _is_carry(column)
        and not fits(rows[column.sums], rows.height, column.limit)
    }


def columns_that_need_carries(
    columns: Sequence[PartialColumn], partials: pl.DataFrame, count: int
) -> set[str]:
    """Returns the input columns whose sums need carries when up to `count` of the partials are merged.

    A sum needs a carry if it may leave the range of its type, or if a partial has left it already.
    """
    return {
        column.sums
        for column in columns
        if column.sums is not None
        and (
            greatest(partials[column.name]) > 0
            if _is_carry(column)
            else not fits(partials[column.name], count, column.limit)
        )
    }


def exact_or_fitting(column: PartialColumn, may_leave: Collection[str]) -> PartialColumn | Fitting:
    """Returns the object whose `lift` and `merge` are used: `fitting`, or the partial itself.

    `may_leave` has the columns whose sums may leave the range of their type. Their partials need the exact
    expressions, which the partial itself has.
    """
    return column if column.fitting is None or column.sums in may_leave else column.fitting


def _is_carry(column: PartialColumn) -> bool:
    return column.name.startswith(CARRY)
