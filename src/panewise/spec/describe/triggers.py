"""Describes in words when a trigger fires."""

from typing import Literal

from panewise.spec.triggers.composite import (
    AfterAll,
    AfterAny,
    AfterEach,
    AfterWatermark,
    OrFinally,
    Repeatedly,
    Trigger,
    parts_of_trigger,
)
from panewise.spec.triggers.simple import (
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    Always,
    Every,
    OnDelta,
    OnPunctuation,
)


def when(trigger: Trigger, evaluate: Literal["batch", "record"]) -> str:
    """Returns a clause that completes the sentence "A pane is emitted ...".

    >>> when(OrFinally(Repeatedly(AfterAny(AfterCount(9), AfterProcessingTime(5))), OnPunctuation("over")),
    ...     "batch")
    'whenever 9 rows or more have arrived since the last firing or processing time has advanced by
    5 microseconds since the first new row; for the last time when a row whose over is true has arrived'
    """
    return (
        _composite(trigger, evaluate)
        if parts_of_trigger(trigger) or isinstance(trigger, AfterWatermark)
        else _leaf(trigger, evaluate)
    )


def _leaf(trigger: Trigger, evaluate: Literal["batch", "record"]) -> str:
    match trigger:
        case AfterCount(n=n):
            clause = (
                f"when {'a row has' if n == 1 else f'{n} rows or more have'} arrived since the last firing"
            )
        case OnPunctuation():
            clause = f"when a row whose {trigger.column} is true has arrived"
        case OnDelta():
            clause = (
                f"when {trigger.column} differs by more than {trigger.amount} from its value at the last "
                "such firing"
            )
        case Always():
            clause = f"for each {'row' if evaluate == 'record' else 'batch with rows'}"
        case _:
            clause = _leaf_of_time(trigger)
    return clause


def _leaf_of_time(trigger: Trigger) -> str:
    match trigger:
        case AfterProcessingTime():
            clause = _delayed(trigger)
        case AfterSilence():
            clause = f"when processing time has advanced by {trigger.duration} since the last row"
        case Every():
            clause = _periodic(trigger)
        case AfterEventTime():
            clause = f"when the watermark passes a multiple of {trigger.period}, if rows are pending"
        case AfterEventTimeDelay():
            clause = f"when the watermark has reached the event time of the first new row{_plus(trigger)}"
        case _:
            clause = "never"
    return clause


def _periodic(trigger: Every) -> str:
    if not trigger.aligned:
        return (
            f"at multiples of {trigger.period} of processing time after the last firing (at first: "
            "after the first row), if rows are pending"
        )
    phase = f"{trigger.offset} after the" if trigger.offset.us else "at"
    return f"{phase} multiples of {trigger.period} of processing time, if rows are pending"


def _delayed(trigger: AfterProcessingTime) -> str:
    passed = f"when processing time has advanced by {trigger.delay} since the first new row"
    return passed if trigger.align is None else f"{passed}, and then at the next multiple of {trigger.align}"


def _plus(trigger: AfterEventTimeDelay) -> str:
    return f" plus {trigger.delay}" if trigger.delay.us else ""


def _composite(trigger: Trigger, evaluate: Literal["batch", "record"]) -> str:
    match trigger:
        case Repeatedly():
            inner = when(trigger.trigger, evaluate)
            return (
                f"whenever {inner.removeprefix('when ')}"
                if inner.startswith("when ")
                else f"repeatedly: {inner}"
            )
        case AfterAny():
            return _connected([when(part, evaluate) for part in trigger.triggers], "or")
        case AfterAll():
            return _connected([when(part, evaluate) for part in trigger.triggers], "and")
        case AfterEach():
            return f"first {', then '.join(when(part, evaluate) for part in trigger.triggers)}"
        case OrFinally():
            return f"{when(trigger.main, evaluate)}; for the last time {when(trigger.until, evaluate)}"
        case AfterWatermark():
            sides = [("before that", trigger.early), ("after that", trigger.late)]
            rest = [f"{side} {when(part, evaluate)}" for side, part in sides if part is not None]
            return "; ".join(["when the watermark reaches the end", *rest])
    raise AssertionError(trigger)


def _connected(clauses: list[str], word: str) -> str:
    """Joins clauses with a word. If all begin with "when", the result has it only once."""
    if all(clause.startswith("when ") for clause in clauses):
        return "when " + f" {word} ".join(clause.removeprefix("when ") for clause in clauses)
    return f" {word} ".join(clauses)
