"""The rows that a window keeps where an evictor or a delta asks for them: a list of structs in the window table.

A delta alone needs the rows since the last firing. An evictor needs all that it has left; and so does the delta of windows
that merge and accumulate, as all that a merged window holds is new (semantics 21.8). Then a count tells how many of the last are new.
"""

from dataclasses import dataclass

import polars as pl

from panewise.engine.aggregate.evictors import eviction
from panewise.engine.aggregate.partials import Part
from panewise.engine.columns import NEW_ROWS, ROW_BUFFER
from panewise.spec import WindowOperator, evictor_columns, merging

Schema = dict[str, pl.DataType]


@dataclass(frozen=True)
class Contents:
    """What is kept of rows: these columns of them (`kept`); `delta` are those that panes tell of new rows."""

    spec: WindowOperator
    kept: Schema
    delta: Schema

    @property
    def lasting(self) -> bool:
        """Whether rows stay after a firing, if the mode does not drop all that a window holds."""
        return self.spec.evictor is not None or merging(self.spec.window)

    @property
    def counted(self) -> bool:
        """Whether rows that stay have to be told from new ones."""
        return bool(self.delta) and self.lasting and self.spec.accumulation != "discarding"

    @property
    def parts(self) -> list[Part]:
        """The columns of the window table."""
        rows = Part(
            ROW_BUFFER,
            pl.List(pl.Struct(self.kept)),
            pl.struct(*self.kept),
            pl.col(ROW_BUFFER).explode(empty_as_null=False),
            [],
            passing=not self.lasting,
        )
        new = Part(NEW_ROWS, pl.Int64(), pl.len().cast(pl.Int64), pl.col(NEW_ROWS).sum(), 0, passing=True)
        return [rows, new] if self.counted else [rows]

    @property
    def results(self) -> list[pl.Expr]:
        """What panes tell of the rows: the new ones, in arrival order."""
        if not self.delta:
            return []
        rows = pl.col(ROW_BUFFER).list.tail(pl.col(NEW_ROWS)) if self.counted else pl.col(ROW_BUFFER)
        told = pl.struct(pl.element().struct.field(name) for name in self.delta)
        return [(rows if list(self.delta) == list(self.kept) else rows.list.eval(told)).alias("delta")]

    @property
    def result_types(self) -> Schema:
        """The types of these."""
        return {"delta": pl.List(pl.Struct(self.delta))} if self.delta else {}

    @property
    def left(self) -> pl.Expr:
        """The rows that the evictor leaves."""
        assert self.spec.evictor is not None
        return eviction(self.spec.evictor, pl.col(ROW_BUFFER), self.spec.event_time, self.kept).alias(ROW_BUFFER)


def contents_of(spec: WindowOperator, schema: Schema) -> Contents | None:
    """What an operator's windows keep of rows; None if nothing asks for any.

    Raises:
        SpecError: if the evictor's column has a type that it cannot use.
    """
    if spec.evictor is None and spec.delta is False:
        return None
    told = [name for name in schema if not name.startswith("__")] if spec.delta is True else spec.delta or ()
    needed: list[str] = []
    if spec.evictor is not None:
        needed = [*spec.time_columns, *evictor_columns(spec.evictor), *(name for what in spec.measures for name in what.columns)]
    names = dict.fromkeys((*told, *needed)) or list(schema)[:1]  # rows without columns could not be counted
    kept = {name: schema[name] for name in names}
    contents = Contents(spec, kept, {name: schema[name] for name in told})
    if spec.evictor is not None:
        eviction(spec.evictor, pl.col(ROW_BUFFER), spec.event_time, kept)
    return contents
