"""ORDER BY, LIMIT and OFFSET of a whole input in process (semantics 46.172)."""

from collections.abc import Sequence

import polars as pl

from panewise.errors import SqlError
from panewise.sql.stages import Ordering, TailStage
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_nodes import Rejected, SqlNode, StepInput
from panewise.standalone.streaming_sql.sql_typed import refusal


class TailNode(SqlNode):
    """The sorted rows of a whole input, or some of them. Equal rows keep their order."""

    def __init__(self, stage: TailStage, source: SqlNode) -> None:
        self.source, self.parts = source, [source]
        self.schema, self.event_time = source.schema, source.event_time
        self._limit, self._offset, self._ordering = stage.limit, stage.offset, stage.ordering
        scope = Scope(source.schema, stage.alias)
        self._by = [_expression(term, scope, list(source.schema)) for term in stage.ordering]

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows."""
        rows = self.source.step(event, rejected)
        self.watermark = self.source.watermark
        if self._by:
            descending = [term.descending for term in self._ordering]
            last = [term.nulls_last for term in self._ordering]
            rows = rows.sort(self._by, descending=descending, nulls_last=last, maintain_order=True)
        return rows.slice(self._offset, self._limit)


def _expression(term: Ordering, scope: Scope, names: Sequence[str]) -> pl.Expr:
    """Returns what rows are sorted by.

    Raises:
        SqlError: if it is no expression over the columns of the query.
    """
    if term.place is not None:
        if not 1 <= term.place <= len(names):
            rule = f"a number in ORDER BY is the place of a column, from 1 to {len(names)}"
            raise SqlError(f"ORDER BY {term.place}", rule, "correct it")
        return pl.col(names[term.place - 1])
    value = scope.typed(term.text)
    if value.dtype.is_nested():
        raise refusal(f"ORDER BY {term.written} of {value.dtype}", "in process rows are not ordered by lists")
    return value.expr + 0.0 if value.is_float else value.expr
