"""Windows of rows: the default of their event time, and the fields that they refuse (semantics 8.5, 8.6)."""

from collections.abc import Collection
from typing import Any, Final

from panewise.spec.evictors import TimeEvictor
from panewise.spec.fields import refuse_fields, silently_replaced
from panewise.spec.triggers.composite import walk
from panewise.spec.triggers.simple import AfterEventTime, AfterEventTimeDelay
from panewise.spec.windows.traits import counted

_DEFAULT: Final = "event_time"
_BY_ROWS = (
    "the number of rows received completes windows of rows, and no row arrives after the end of its window"
)
_NO_INSTANT = "a window of rows ends with a row, not at an instant"
_NOT_NAMED = "windows of rows have an event time only if a column is named"


def with_event_time(spec: Any, columns: Collection[str]) -> Any:
    """Returns the specification for an input with these columns (semantics 8.5).

    With windows of rows, a column `event_time` of the input becomes the event time, unless the specification
    names an event time, order columns or a position.

    >>> from panewise import Tumbling, WindowOperator, functions as F, rows
    >>> spec = WindowOperator(window=Tumbling(rows(3)), aggregates=[F.count()])
    >>> with_event_time(spec, ["v"]).event_time, with_event_time(spec, ["v", "event_time"]).event_time
    (None, 'event_time')
    """
    named = spec.event_time is not None or spec.order or spec.position is not None
    if not counted(spec.window) or named or _DEFAULT not in columns:
        return spec
    return silently_replaced(spec, event_time=_DEFAULT)


def check_counted(spec: Any) -> None:
    """Refuses fields that have no effect or no meaning with windows of rows."""
    if not counted(spec.window):
        return
    shown = f", {spec.window!r}"
    timed = {"time": (spec.time != "event", "rows are numbered in arrival order, whatever the time")}
    refuse_fields(spec, timed, "name no event_time if there is none", after=shown)
    by_rows = {
        "watermark": (spec.watermark is not None, _BY_ROWS),
        "allowed_lateness": (spec.lateness_us != 0, _BY_ROWS),
        "drop_by": (spec.drop_by == "row", _BY_ROWS),
    }
    refuse_fields(spec, by_rows, after=shown)
    stamped = {"timestamp": (spec.timestamp in ("end", "window_time"), _NO_INSTANT)}
    refuse_fields(spec, stamped, "read window_end, or give 'earliest' or 'latest'", after=shown)
    by_time = any(isinstance(part, AfterEventTime | AfterEventTimeDelay) for part in walk(spec.trigger))
    refuse_fields(spec, {"trigger": (by_time, _NO_INSTANT)}, "use AfterCount, or Every", after=shown)
    nameless = spec.event_time is None
    needs = {
        "timestamp": (nameless and spec.timestamp in ("earliest", "latest"), _NOT_NAMED),
        "evictor": (nameless and isinstance(spec.evictor, TimeEvictor), _NOT_NAMED),
        "max_future_skew": (nameless and spec.max_future_skew is not None, _NOT_NAMED),
    }
    refuse_fields(spec, needs, "give event_time='...', or leave {name} out", after=shown)
