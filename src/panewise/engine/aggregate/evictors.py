"""Evictors as expressions over lists of rows (semantics 11.2 to 11.4)."""

from collections.abc import Mapping

import polars as pl

from panewise.spec import CountEvictor, DeltaEvictor, Evictor, TimeEvictor

_FURTHEST = 2**64  # no two whole numbers of 64 bits are so far apart


def eviction(evictor: Evictor, rows: pl.Expr, event_time: str | None, schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """The rows that stay, of lists of structs in arrival order."""
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
    """A column of whole numbers or instants, with room for differences."""
    return (_field(name).dt.epoch("us") if dtype.is_temporal() else _field(name)).cast(pl.Int128)


def _near_the_last(evictor: DeltaEvictor, dtype: pl.DataType) -> pl.Expr:
    """Rows without a value stay, and so do those that are at no distance of a number from the last one."""
    if dtype.is_float():
        value = _field(evictor.column).cast(pl.Float64)
        distance = value.drop_nulls().drop_nans().last() - value
        return (distance.is_nan() | (distance < evictor.threshold)).fill_null(True)
    value, threshold = _whole(evictor.column, dtype), min(int(evictor.threshold), _FURTHEST)
    return (value.drop_nulls().last() - value < pl.lit(threshold, dtype=pl.Int128)).fill_null(True)
