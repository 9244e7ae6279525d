"""A side of a join: what is read of one of its inputs (semantics 36). Values only."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import (
    check_columns,
    check_once,
    not_negative,
    refuse_fields,
    set_fields,
    several,
    skew_of,
)
from panewise.spec.operators.row_operator import InputFields
from panewise.spec.source_position import Position, check_position
from panewise.spec.watermarks import FixedLag, StreamTime


@dataclass(frozen=True, kw_only=True)
class Side(InputFields):
    """One of the two inputs of a join: its key columns, its clock, its arrival order and its validation.

    Args:
        keys: the key columns. The first is compared with the first of the other side, and so on. Without keys
            all rows have equal keys.
        event_time: the column of the event time. None: rows have no event time, so there is no watermark and
            no row is late. That requires a match by arrival (`Latest`, or `LastRows` by arrival), and None on
            both sides. For processing time, a column with the time of arrival and the watermark FixedLag(0).
        order: columns that define the arrival order of the rows of a batch. Default: the event time; without
            one, the order of the input.
        position: the columns of the source position, by which replays are recognised.
        null_keys: whether a row with a null key is valid. It has no partner in any case. Default: True.
        max_future_skew: how far event time may be ahead of processing time. Default: no limit.
            An int is in microseconds.
        watermark: where the watermark of the side comes from: None (from outside; on Spark from its rows,
            with the delay of `withWatermark`), StreamTime(delay, per="all") or FixedLag.
        allowed_lateness: how far a row may be behind the watermark of its side. Default: 0.
            An int is in microseconds.
        prefix: begins the names of the side's columns in emitted rows, except those of key columns that have
            one name on both sides. Only without `select`. Default: none.

    Raises:
        SpecError: if a value breaks a rule; the message says which.

    >>> Side(keys=["order_id"], event_time="shipped_at", prefix="shipment_").columns_read
    ('order_id', 'shipped_at')

    Source: semantics 36; S1 case 2, Kafka Streams' grace.
    """

    keys: tuple[str, ...] = ()
    event_time: str | None = "event_time"
    order: tuple[str, ...] = ()
    position: Position | None = None
    null_keys: bool = True
    max_future_skew: Duration | None = None
    watermark: StreamTime | FixedLag | None = None
    allowed_lateness: Duration = Duration(0)  # noqa: RUF009 - a frozen value
    prefix: str = ""

    def __init__(
        self,
        *,
        keys: Iterable[str] = (),
        event_time: str | None = "event_time",
        order: Iterable[str] = (),
        position: Position | None = None,
        null_keys: bool = True,
        max_future_skew: DurationLike | None = None,
        watermark: StreamTime | FixedLag | None = None,
        allowed_lateness: DurationLike = 0,
        prefix: str = "",
    ) -> None:
        set_fields(
            self,
            keys=several("keys", keys),
            event_time=event_time,
            order=several("order", order),
            position=position,
            null_keys=null_keys,
            max_future_skew=skew_of(max_future_skew),
            watermark=watermark,
            allowed_lateness=not_negative(allowed_lateness, "allowed_lateness"),
            prefix=prefix,
        )
        check_choice("null_keys", null_keys, (True, False))
        if not isinstance(prefix, str):
            raise SpecError(f"prefix={prefix!r}", "a prefix is a text", "give one such as 'left_'")
        _check_names(self)
        _check_watermark(self)
        _check_without_event_time(self)


def _check_names(side: Side) -> None:
    check_columns((*side.keys, *side.time_columns, *side.order))
    check_once(side.keys)
    check_position(side.position, side.order)
    if not side.keys and not side.null_keys:
        raise SpecError(
            "null_keys=False without keys",
            "null_keys says what becomes of null in a key, and there are no keys",
            "leave null_keys out",
        )


def _check_watermark(side: Side) -> None:
    watermark: Any = side.watermark
    if watermark is None or isinstance(watermark, FixedLag):
        return
    if not isinstance(watermark, StreamTime) or watermark.per != "all":
        rule = "the watermark of a side comes from outside, or is FixedLag or StreamTime(per='all')"
        remedy = "give one such as StreamTime('10 seconds', per='all'), or leave it out"
        raise SpecError(f"watermark={watermark!r}", rule, remedy)


def _check_without_event_time(side: Side) -> None:
    """Refuses fields that need event times, if there are none (semantics 36.13)."""
    if side.event_time is None:
        unset = {"max_future_skew": None, "watermark": None, "allowed_lateness": Duration(0)}
        refused = {
            name: (getattr(side, name) != value, f"{name} needs event times (semantics 36.13)")
            for name, value in unset.items()
        }
        remedy = "leave {name} out, or name the event time"
        refuse_fields(side, refused, remedy, before="event_time=None, ", after=" of a side")
