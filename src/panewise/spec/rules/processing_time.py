"""Checks that refuse fields without effect in windows of processing time (semantics 6.7, 6.8)."""

from typing import Any

from panewise.spec.evictors import TimeEvictor
from panewise.spec.fields import refuse_fields
from panewise.spec.windows.custom import Custom

_NO_EVENT_TIME = "with time='processing' the event time of a row is the time of its arrival"
_NEVER_LATE = "with time='processing' no row arrives after the end of its window"


def check_time(spec: Any) -> None:
    """Refuses fields that have no effect with time="processing"."""
    if spec.time == "event":
        return
    refused = {
        "event_time": (spec.event_time != "event_time", _NO_EVENT_TIME),
        "watermark": (spec.watermark is not None, "with time='processing' the watermark is processing time"),
        "max_future_skew": (spec.max_future_skew is not None, _NO_EVENT_TIME),
        "evictor": (isinstance(spec.evictor, TimeEvictor), _NO_EVENT_TIME),
        "timestamp": (spec.timestamp in ("earliest", "latest"), _NO_EVENT_TIME),
        # A window of Custom need not contain the time of the row, so rows can be late there.
        "allowed_lateness": (spec.lateness_us != 0 and not isinstance(spec.window, Custom), _NEVER_LATE),
        "drop_by": (spec.drop_by == "row", _NEVER_LATE),
    }
    refuse_fields(spec, refused, "leave {name} out, or use time='event'", before="time='processing', ")
