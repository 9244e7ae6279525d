"""Evictors as expressions over lists of rows (semantics 11.2 to 11.4)."""

from collections.abc import Mapping

import polars as pl

from panewise.spec import CountEvictor, DeltaEvictor, Evictor, TimeEvictor

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
