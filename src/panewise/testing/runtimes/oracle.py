"""Plays events in the oracle."""

from typing import Any

from panewise.errors import InputError
from panewise.oracle import Interpreter
from panewise.oracle.interpreter import COUNTS
from panewise.testing.events import Event, Script
from panewise.testing.ingest import ROW


def play(script: Script) -> list[dict[str, Any]]:
    """The oracle's output after each event. It keeps no state outside of itself, so that a restart changes nothing."""
    if script.options:
        raise InputError(f"options={sorted(script.options)}", "the oracle has no options", "leave them out")
    oracle = Interpreter(script.spec, dict(script.types))
    outputs = []
    for event, given in zip(script.events, script.given, strict=True):
        output = _step(oracle, event)
        for entry in (*output["late"], *output["invalid"]):
            entry["row"] = dict(given[entry["row"][ROW]])
        outputs.append(output | ({"windows": oracle.windows()} if script.windows else {}))
    return outputs


def _step(oracle: Interpreter, event: Event) -> dict[str, Any]:
    match event:
        case Event("add"):
            return oracle.add([{**row, ROW: number} for number, row in enumerate(event.rows)])
        case Event("watermark", to=int(to)):
            return oracle.watermark(to)
        case Event("clock", to=int(to)):
            return oracle.clock(to)
        case Event("finish"):
            return oracle.finish()
        case _:
            return {"panes": [], "late": [], "invalid": [], "counts": dict.fromkeys(COUNTS, 0)}
