"""The parts of EMIT that say a trigger, an accumulation and a lateness."""

from collections.abc import Iterator
from typing import Any

from panewise.chrono import Duration
from panewise.spec import Trigger
from panewise.spec.triggers.composite import AfterWatermark, default_on_time
from panewise.spec.triggers.simple import AfterCount, AfterProcessingTime, Always, Every, Never
from panewise.sql.writing.words import length, unsaid


def emit_parts(spec: Any, accumulation: str, *, on_time: str | None = None) -> list[str]:
    """Returns the parts of EMIT of an operator.

    Args:
        spec: what has a trigger, an accumulation and an allowed lateness.
        accumulation: the accumulation without EMIT.
        on_time: when on-time panes are emitted; None if the operator has no such field.

    Raises:
        SqlError: for what EMIT cannot say.
    """
    parts, expected = _plan(spec.trigger, on_time)
    if on_time is not None and on_time != expected:
        raise unsaid("on_time", on_time)
    if spec.accumulation != accumulation:
        parts.append(spec.accumulation.upper())
    if spec.allowed_lateness == "unlimited":
        parts.append("WITH LATENESS UNLIMITED")
    elif spec.allowed_lateness != Duration(0):
        parts.append(f"WITH LATENESS {length(spec.allowed_lateness)}")
    return parts


def _plan(trigger: Trigger, on_time: str | None) -> tuple[list[str], str]:
    """Returns the parts that say a trigger, and when on-time panes are emitted with these parts."""
    if isinstance(trigger, Never):
        return ["FINAL"], "if_pending"
    if not isinstance(trigger, AfterWatermark):
        raise unsaid("trigger", trigger)
    always = isinstance(trigger.early, Always) and isinstance(trigger.late, Always)
    if always and on_time in (None, "if_pending"):
        return ["CHANGES"], "if_pending"
    return list(_rates(trigger)), default_on_time(trigger)


def _rates(trigger: AfterWatermark) -> Iterator[str]:
    if trigger.early is not None:
        yield f"EARLY {_rate(trigger.early)}"
    if trigger.late is None:
        yield "LATE NEVER"
    elif not isinstance(trigger.late, Always):
        if isinstance(trigger.late, AfterProcessingTime):
            raise unsaid("trigger", trigger)
        yield f"LATE {_rate(trigger.late)}"


def _rate(trigger: Any) -> str:
    if isinstance(trigger, Always):
        return "UPDATE"
    if isinstance(trigger, AfterCount):
        return f"EVERY {trigger.n} ROWS"
    if isinstance(trigger, Every) and trigger == Every(trigger.period):
        return f"EVERY {length(trigger.period)}"
    if isinstance(trigger, AfterProcessingTime) and trigger.align is None:
        return f"AFTER DELAY {length(trigger.delay)}"
    raise unsaid("trigger", trigger)
