"""Deduplications as the first row by ROW_NUMBER."""

from typing import Final

from panewise.chrono import Duration
from panewise.spec import DeduplicateOperator
from panewise.spec.conditions.text import in_backticks
from panewise.sql.writing.words import check_fields, options_of, unsaid

_ORDERS: Final = {
    ("arrival", "at_once"): "",
    ("event_time", "retracting"): "",
    ("event_time", "complete"): "FINAL",
}


def deduplication(spec: DeduplicateOperator, table: str) -> str:
    """Returns a deduplication. If it has an event time, the text gives its table a watermark without a delay.

    Raises:
        SqlError: for what SQL cannot say.
    """
    check_fields(spec, {"keep": "first", "watermark": None})
    emit = _ORDERS.get((spec.by, spec.emit))
    if emit is None:
        raise unsaid("emit", spec.emit)
    timed = spec.event_time is not None and spec.event_time.lower() in map(str.lower, spec.keys)
    if spec.within != (Duration(1) if timed else "unlimited"):
        raise unsaid("within", spec.within)
    time = None if spec.event_time is None else in_backticks(spec.event_time)
    watermark = "" if time is None else f" WATERMARK {time} DELAY OF INTERVAL '0 seconds'"
    order = "PROCTIME()" if spec.by == "arrival" else time
    number = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(map(in_backticks, spec.keys))} ORDER BY {order})"
    lines = [
        "SELECT *",
        "FROM (",
        f"  SELECT *, {number} AS `place`",
        f"  FROM {table}{options_of(spec, spec.order, nulls=True)}{watermark}",
        ")",
        "WHERE `place` = 1",
    ]
    return "\n".join([*lines, *([f"EMIT {emit}"] if emit else [])])
