"""Plays events in the engine, in this process."""

from collections.abc import Sequence
from typing import Any, Protocol

import polars as pl

from panewise.engine import Operator
from panewise.engine.persistence import restore, save
from panewise.errors import InputError
from panewise.testing.columns import Row
from panewise.testing.events import Event, Script
from panewise.testing.ingest import FLAGS, ROW, frame, schema

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")


class _Output(Protocol):
    """What the engine gives after an event."""

    @property
    def panes(self) -> pl.DataFrame: ...
    @property
    def late(self) -> pl.DataFrame: ...
    @property
    def invalid(self) -> pl.DataFrame: ...
    @property
    def counts(self) -> Any: ...


def play(script: Script) -> list[dict[str, Any]]:
    """The engine's output after each event. A restart saves the operator and goes on with what is read back."""
    if script.options:
        raise InputError(f"options={sorted(script.options)}", "the engine has no options", "leave them out")
    columns = schema(script.types) | FLAGS
    operator, outputs = Operator(script.spec, columns), []
    for event, given in zip(script.events, script.given, strict=True):
        if event.op == "restart":
            operator = restore(script.spec, columns, save(operator))
            output = {"panes": [], "late": [], "invalid": [], "counts": dict.fromkeys(COUNTS, 0)}
        else:
            output = _plain(_step(operator, script, event), given)
        outputs.append(output | ({"windows": operator.held().to_dicts()} if script.windows else {}))
    return outputs


def _step(operator: Operator, script: Script, event: Event) -> _Output:
    match event.op:
        case "add":
            return operator.add(frame(script.spec, script.types, event.rows))
        case "finish":
            return operator.finish()
        case "clock":
            return operator.advance(processing_time=event.to)
        case _:
            return operator.advance(watermark=event.to)


def _plain(output: _Output, given: Sequence[Row]) -> dict[str, Any]:
    """Frames as dicts, with the rows as the caller gave them."""
    return {
        "panes": output.panes.to_dicts(),
        "late": [late_entry(entry, given) for entry in output.late.to_dicts()],
        "invalid": [{"row": dict(given[entry[ROW]]), "reason": entry["__reason"]} for entry in output.invalid.to_dicts()],
        "counts": {name: getattr(output.counts, name) for name in COUNTS},
    }


def late_entry(entry: dict[str, Any], given: Sequence[Row]) -> dict[str, Any]:
    """A row of the late output, with the row as the caller gave it."""
    return {
        "row": dict(given[entry[ROW]]),
        "reason": entry["__reason"],
        "windows": [[window["start"], window["end"]] for window in entry["__windows"]],
        "late_by": entry["__late_by"],
        "partial": entry["__partial"],
    }
