"""Operators whose messages can wait without a visible difference (:mod:`panewise.standalone.deferral`).

Such an operator is a window operator with one input, of which all of the following are true:

- Nothing fires before the watermark reaches the end of a window: the trigger is `AfterWatermark` without
  `early`.
- Windows are tumbling, hopping without gaps between them, cumulating, or sessions with a fixed gap, all of
  event time.
- No aggregate depends on the order or the grouping of rows. Only the last bits of sums of floats do, which
  semantics 3.1 allows.
- Watermarks are given, or follow from `StreamTime(delay, per="all")`.
- Nothing else decides what becomes of a row: no position, evictor, delta, order or `max_future_skew`, neither
  `drop_by="row"` nor `evaluate="record"`.
- Keys are neither floating-point numbers nor nested values, and values that fit a column one by one also fit
  it together.
"""

from dataclasses import dataclass
from typing import Final, TypeGuard, cast

import polars as pl

from panewise.chrono import Duration
from panewise.engine.protocol import Schema
from panewise.spec import (
    AfterWatermark,
    Always,
    Cumulating,
    Hopping,
    Session,
    Specification,
    StreamTime,
    Tumbling,
    WindowOperator,
    parts,
)
from panewise.spec.aggregates.aggregate import GROWING, ORDERLESS
from panewise.spec.windows.kinds import AnyWindow

FURTHEST: Final = 2**60  # event times and lengths below it add up without leaving 64 bits
# Values of these types that fit one by one also fit together. So no value of a message that waits raises an
# error later.
_FITTING: Final = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
    *(pl.Float32, pl.Float64, pl.Decimal, pl.Boolean, pl.Date, pl.Datetime),
    *(pl.String, pl.Binary, pl.Categorical, pl.Enum),
)


@dataclass(frozen=True)
class WindowEnds:
    """Where windows end: on a grid or, with `gap`, after their last row.

    Attributes:
        step: the distance of two ends on the grid.
        origin: an end on the grid.
        gap: the gap of sessions; None for other windows.
    """

    step: int = 1
    origin: int = 0
    gap: int | None = None

    def first(self, time: int) -> int:
        """Returns the end of the first window of a row. Later rows may merge sessions, which end later then.

        >>> WindowEnds(step=10, origin=3).first(13), WindowEnds(gap=5).first(13)
        (23, 18)
        """
        if self.gap is not None:
            return time + self.gap
        return time + self.step - (time - self.origin) % self.step

    def all_open(self, time: int, watermark: int) -> bool:
        """Returns whether no window of a row is complete.

        A complete session ends at or before the watermark, so no later row belongs to it.
        """
        return time > watermark if self.gap is not None else self.first(time) > watermark


def is_deferrable(spec: Specification) -> TypeGuard[WindowOperator]:
    """Returns whether messages may wait by the rules of the family, which is that of window operators."""
    return parts(spec).deferrable(spec)


def ends_of(spec: WindowOperator, schema: Schema) -> WindowEnds | None:
    """Returns where the windows of a deferrable operator end; None if its messages cannot wait."""
    if not has_no_other_rules(spec) or spec.evaluate != "batch":
        return None
    if not isinstance(spec.trigger, AfterWatermark) or spec.trigger.early is not None:
        return None
    if any(schema[name].is_float() or schema[name].is_nested() for name in spec.keys):
        return None
    ends = ends_by_message(spec, schema)
    return ends if all(measure.fn in ORDERLESS | GROWING for measure in spec.measures) else None


def ends_by_message(spec: WindowOperator, schema: Schema) -> WindowEnds | None:
    """Returns where windows end, if it can be decided message by message which window has which row."""
    if not all(map(_is_fitting, schema.values())):
        return None
    time = [schema[name] for name in spec.time_columns]
    if len(time) != 1 or not (time[0] == pl.Int64() or _is_instant(time[0])):
        return None
    return _ends(spec.window)


def ignores_clock(spec: WindowOperator) -> bool:
    """Returns whether processing time fires nothing, if `ends_of` returned something."""
    late = spec.trigger.late if isinstance(spec.trigger, AfterWatermark) else None
    return late is None or isinstance(late, Always)


def delay_of(spec: WindowOperator) -> int | None:
    """Returns how far the watermark is behind the rows, in microseconds; None if it comes from outside."""
    watermark = spec.watermark
    by_rows = isinstance(watermark, StreamTime) and watermark.per == "all" and watermark.idle_after is None
    return watermark.delay.us if isinstance(watermark, StreamTime) and by_rows else None


def has_no_other_rules(spec: WindowOperator) -> bool:
    """Returns whether nothing but windows and the watermark decides what becomes of a valid row."""
    return (
        spec.time == "event"
        and (spec.watermark is None or delay_of(spec) is not None)
        and spec.position is None
        and spec.evictor is None
        and not spec.delta
        and not spec.order
        and spec.max_future_skew is None
        and spec.drop_by == "window"
    )


def _is_fitting(dtype: pl.DataType) -> bool:
    """Returns whether values that fit a type one by one also fit together."""
    if isinstance(dtype, (pl.List, pl.Array)):
        return _is_fitting(cast(pl.DataType, dtype.inner))
    if isinstance(dtype, pl.Struct):
        return all(_is_fitting(cast(pl.DataType, field.dtype)) for field in dtype.fields)
    return isinstance(dtype, _FITTING)


def _is_instant(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Datetime) and dtype.time_unit == "us" and dtype.time_zone is not None


def _ends(window: AnyWindow) -> WindowEnds | None:
    """Returns where windows end; None for windows of rows, with gaps, of other kinds, or of great length."""
    match window:
        case Tumbling(size=Duration(us=size)) if size < FURTHEST:
            return WindowEnds(size, window.origin)
        case Hopping(size=Duration(us=size), hop=Duration(us=hop), gaps=False) if size < FURTHEST:
            return WindowEnds(hop, window.origin + size)
        case Cumulating(size=Duration(us=size)) if size < FURTHEST:
            return WindowEnds(window.step.us, window.origin)
        case Session(gap=Duration(us=gap)) if gap < FURTHEST:
            return WindowEnds(gap=gap)
    return None
