"""The rows that an evictor keeps in a window (semantics 11.1 to 11.4)."""

from typing import Any

from panewise.oracle.columns import is_nan
from panewise.spec import CountEvictor, DeltaEvictor, Evictor, TimeEvictor

_Rows = list[dict[str, Any]]


def remaining(evictor: Evictor, rows: _Rows, event_time: str) -> _Rows:
    """Returns the rows that are not evicted; takes and returns rows in arrival order."""
    match evictor:
        case CountEvictor():
            return rows[-evictor.n :]
        case TimeEvictor():
            latest = max((row[event_time] for row in rows), default=0)
            return [row for row in rows if row[event_time] > latest - evictor.duration.us]
        case DeltaEvictor():
            return _near_the_last(evictor, rows)


def _near_the_last(evictor: DeltaEvictor, rows: _Rows) -> _Rows:
    values = [row[evictor.column] for row in rows if _has_value(row[evictor.column])]
    return [
        row
        for row in rows
        if not _has_value(row[evictor.column]) or not values[-1] - row[evictor.column] >= evictor.threshold
    ]


def _has_value(value: Any) -> bool:
    return value is not None and not is_nan(value)
