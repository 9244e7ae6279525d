"""Checks that refuse fields which have no meaning with sliding windows (semantics 7.8, 8.8)."""

from typing import Any, Final

from panewise.errors import SpecError
from panewise.spec.fields import refuse_fields
from panewise.spec.triggers.composite import DEFAULT_TRIGGER, AfterWatermark, finish, walk
from panewise.spec.triggers.simple import (
    AfterEventTime,
    AfterEventTimeDelay,
    Never,
    OnDelta,
    OnPunctuation,
)
from panewise.spec.windows.size_in_rows import Rows
from panewise.spec.windows.sliding import Sliding

_OF_SINGLE_ROWS: Final = (OnPunctuation, OnDelta, AfterEventTime, AfterEventTimeDelay)


def fires_only_when_complete(trigger: Any) -> bool:
    """Returns whether the trigger neither fires a window nor needs an evaluation before it is complete.

    >>> fires_only_when_complete(AfterWatermark()), fires_only_when_complete(Never())
    (True, True)
    """
    return isinstance(trigger, Never) or (
        isinstance(trigger, AfterWatermark) and isinstance(trigger.early, Never | None)
    )


def check_sliding(spec: Any) -> None:
    """Checks the fields of an operator with sliding windows; other windows pass."""
    if not isinstance(spec.window, Sliding):
        return
    rule = "a sliding window stores sums of its rows for each event time, not the rows (semantics 7.8)"
    rows = {"evictor": (spec.evictor is not None, rule), "delta": (bool(spec.delta), rule)}
    refuse_fields(spec, rows, "leave {name} out, or use Hopping", before="Sliding, ")
    if isinstance(spec.window.size, Rows):
        _check_single(spec)
    looking = [node for node in walk(spec.trigger) if isinstance(node, _OF_SINGLE_ROWS)]
    if looking:
        rule = (
            "a sliding window contains rows that arrived before it existed, so its trigger "
            "cannot look at single rows (semantics 7.8)"
        )
        raise SpecError(f"Sliding, trigger={spec.trigger!r}", rule, f"leave {looking[0]!r} out")
    ends = finish(spec.trigger)
    if ends == "any_time" or (ends == "at_end" and spec.lateness_us != 0):
        rule = "sliding windows share their rows, so none closes while rows for it may arrive (semantics 7.8)"
        remedy = "repeat the trigger: Repeatedly(...), AfterWatermark(late=...)"
        raise SpecError(f"Sliding, trigger={spec.trigger!r}", rule, remedy)


def _check_single(spec: Any) -> None:
    """Refuses fields without effect: a window of n rows emits one pane, with the row that makes it."""
    only = {
        "trigger": DEFAULT_TRIGGER,
        "accumulation": "discarding",
        "on_time": "if_pending",
        "closing": "if_pending",
    }
    rule = (
        "a window of Sliding(rows(n)) is complete with the row that makes it, and emits one pane (semantics "
        "8.8)"
    )
    refused = {name: (getattr(spec, name) != value, rule) for name, value in only.items()}
    remedy = "leave {name} out, or use Hopping(rows(n), rows(m))"
    refuse_fields(spec, refused, remedy, before=f"{spec.window!r}, ")
