"""Checks whether an operator can get the events of a test, one after the other."""

from collections.abc import Mapping
from typing import Any

from panewise.choices import is_choice
from panewise.errors import InputError
from panewise.families import INPUT
from panewise.spec import Entry, Inputs, Specification, StreamTime, counted, row_driven
from panewise.spec.column_values import MISFIT, ColumnType
from panewise.spec.operators.policy.events import name_of
from panewise.testing.event import Event


def check_end(events: tuple[Event, ...], own: Mapping[str, Any]) -> None:
    """Refuses the ops of a family, which are `own`, after the end of input."""
    ended = False
    for event in events:
        ended = ended or event.op == "finish"
        if event.op in own and ended:
            rule = "at the end of input all partitions are purged (semantics 10.12)"
            raise InputError(f"{event.op!r} after finish", rule, "do it before finish")


def check_policies(spec: Specification, events: tuple[Event, ...]) -> None:
    """Refuses a reset without a checkpoint, and an "evict" that does not name a partition."""
    ops = [event.op for event in events]
    if "reset" in ops and "checkpoint" not in ops[: ops.index("reset")]:
        raise InputError(
            "a reset without a checkpoint",
            "a reset returns to the last checkpoint",
            "make a checkpoint before it",
        )
    for event in events:
        if event.op == "evict":
            name_of(event.partition, spec.keys, f"an evict of {dict(event.partition)}")


def check_partitions(types: Mapping[str, Mapping[str, str]], events: tuple[Event, ...]) -> None:
    """Refuses partitions to evict whose values do not fit the types of their columns."""
    for event in events:
        for name, value in event.partition.items():
            kind = types[INPUT][name]
            if ColumnType.parse(kind).fit(value) is MISFIT:
                fault = f"an evict of {dict(event.partition)}"
                raise InputError(fault, f"{name} is of the type {kind}", "give a value of this type")


def check_watermarks(spec: Specification, events: tuple[Event, ...]) -> None:
    """Refuses watermarks of inputs that do not exist, or that make their own."""
    moves = [event for event in events if event.op == "watermark"]
    if not moves:
        return
    if len(spec.ports) > 1:
        for event in moves:
            for port in spec.ports if event.source is None else (event.source,):
                _check_outside(spec.ports[port], port)
        return
    [entry] = spec.ports.values()
    _check_outside(entry)
    names = entry.watermark.names if isinstance(entry.watermark, Inputs) else (None,)
    for event in moves:
        if not is_choice(event.source, names):
            several = f"the inputs are {list(names)}"
            rule = several if names != (None,) else "the operator has one input, without a name"
            remedy = "name the input as in watermark=Inputs([...])"
            raise InputError(f"a watermark of the input {event.source!r}", rule, remedy)


def _check_outside(entry: Entry, side: str | None = None) -> None:
    """Refuses a watermark from outside where the operator, or the `side` of two, makes its own."""
    if counted(entry.window):
        rule = "the watermark of windows of rows is the number of rows received (semantics 8.6)"
        remedy = "add rows"
    elif side is not None and entry.time == "processing":
        rule = "rows of a side without event times have no watermark (semantics 36.13)"
        remedy = "leave it out"
    elif entry.time == "processing":
        rule = "with time='processing' the watermark is processing time (semantics 6.8)"
        remedy = "give {'op': 'clock', 'to': ...}"
    elif isinstance(entry.watermark, StreamTime):
        rule, remedy = "with StreamTime rows drive the watermark (semantics 12.8, 12.10)", "add rows"
    elif row_driven(entry.watermark) is not None:
        rule = "with Inputs(column=...) rows drive the watermarks of their inputs (semantics 12.9)"
        remedy = "add rows"
    else:
        return
    which = "" if side is None else f", of {side!r}"
    raise InputError(f"a watermark from outside{which}", rule, remedy)
