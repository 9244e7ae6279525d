"""The row buffer of windows with an evictor or a delta: a list of structs in the window table.

A delta alone needs only the rows since the last firing. Two kinds of windows store more rows:

- With an evictor all rows that it has not evicted are stored.
- The delta of windows that merge and accumulate needs all rows, because all rows of a merged window are new
  in it (semantics 21.8).

In both cases a count says how many of the last rows are new. A firing costs as much as the rows stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.columns import NEW_ROWS, ROW_BUFFER, user_columns
from panewise.engine.kernels.column_types import Dtypes
from panewise.spec import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    WindowOperator,
    evictor_columns,
    merging,
)


@dataclass(frozen=True)
class RowBuffer:
    """The row buffer of windows. `stored` are the stored columns, `delta` those of the deltas of panes."""

    spec: WindowOperator
    stored: Dtypes
    delta: Dtypes

    @property
    def lasting(self) -> bool:
        """Whether rows stay stored after a firing, unless the mode is discarding."""
        return self.spec.evictor is not None or merging(self.spec.window)

    @property
    def counts_new_rows(self) -> bool:
        """Whether the number of new rows is stored, to distinguish them from rows that stayed."""
        return bool(self.delta) and self.lasting and self.spec.accumulation != "discarding"

    @property
    def partials(self) -> list[PartialColumn]:
        """The columns that the window table has for the row buffer."""
        dtype, merge = pl.List(pl.Struct(self.stored)), pl.col(ROW_BUFFER).explode(empty_as_null=False)
        lift, since_firing = pl.struct(*self.stored), not self.lasting
        rows = PartialColumn(ROW_BUFFER, dtype, lift, merge, [], since_firing=since_firing)
        new = PartialColumn(
            NEW_ROWS, pl.Int64(), pl.len().cast(pl.Int64), pl.col(NEW_ROWS).sum(), 0, since_firing=True
        )
        return [rows, new] if self.counts_new_rows else [rows]

    @property
    def results(self) -> list[pl.Expr]:
        """The expression for the delta of panes, if they have one: the new rows, in arrival order."""
        if not self.delta:
            return []
        rows = pl.col(ROW_BUFFER).list.tail(pl.col(NEW_ROWS)) if self.counts_new_rows else pl.col(ROW_BUFFER)
        fields = pl.struct(pl.element().struct.field(name) for name in self.delta)
        return [(rows if list(self.delta) == list(self.stored) else rows.list.eval(fields)).alias("delta")]

    @property
    def result_types(self) -> Dtypes:
        """The types of :attr:`results`."""
        return {"delta": pl.List(pl.Struct(self.delta))} if self.delta else {}

    @property
    def left(self) -> pl.Expr:
        """The rows that remain after the evictor."""
        assert self.spec.evictor is not None
        return eviction(self.spec.evictor, pl.col(ROW_BUFFER), self.spec.event_time, self.stored).alias(
            ROW_BUFFER
        )


def contents_of(spec: WindowOperator, schema: Dtypes) -> RowBuffer | None:
    """Returns the row buffer of the windows of an operator, None if they need none."""
    if spec.evictor is None and spec.delta is False:
        return None
    delta = list(user_columns(schema)) if spec.delta is True else spec.delta or ()
    needed: list[str] = []
    if spec.evictor is not None:
        needed = [
            *spec.time_columns,
            *evictor_columns(spec.evictor),
            *(name for what in spec.measures for name in what.columns),
        ]
    names = dict.fromkeys((*delta, *needed)) or list(schema)[:1]  # structs need a field
    stored = {name: schema[name] for name in names}
    contents = RowBuffer(spec, stored, {name: schema[name] for name in delta})
    if spec.evictor is not None:
        eviction(spec.evictor, pl.col(ROW_BUFFER), spec.event_time, stored)
    return contents


_FURTHEST = 2**64  # more than the difference of any two 64-bit integers


def eviction(
    evictor: Evictor, rows: pl.Expr, event_time: str | None, schema: Mapping[str, pl.DataType]
) -> pl.Expr:
    """Returns the rows that the evictor leaves. `rows` are lists of structs in arrival order."""
    match evictor:
        case CountEvictor():
            return rows.list.tail(evictor.n)
        case TimeEvictor():
            assert event_time is not None, "refused without one"
            time = _whole(event_time, schema[event_time])
            stays = time > time.max() - evictor.duration.us
        case DeltaEvictor():
            stays = _near_the_last(evictor, schema[evictor.column])
    return rows.list.eval(pl.element().filter(stays))


def _field(name: str) -> pl.Expr:
    return pl.element().struct.field(name)


def _whole(name: str, dtype: pl.DataType) -> pl.Expr:
    """Returns a field of whole numbers or instants as Int128, so that differences cannot overflow."""
    return (_field(name).dt.epoch("us") if dtype.is_temporal() else _field(name)).cast(pl.Int128)


def _near_the_last(evictor: DeltaEvictor, dtype: pl.DataType) -> pl.Expr:
    """Returns whether each row stays: its value is less than the threshold below the last value.

    Rows without a value (null, NaN) stay. A row with an infinite value stays if the last value is the same
    infinity: their difference is NaN.
    """
    if dtype.is_float():
        value = _field(evictor.column).cast(pl.Float64)
        distance = value.drop_nulls().drop_nans().last() - value
        return (distance.is_nan() | (distance < evictor.threshold)).fill_null(True)
    value, threshold = _whole(evictor.column, dtype), min(int(evictor.threshold), _FURTHEST)
    return (value.drop_nulls().last() - value < pl.lit(threshold, dtype=pl.Int128)).fill_null(True)
