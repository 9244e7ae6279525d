"""Plays events in the oracle."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from panewise.errors import InputError, SpecWarning
from panewise.oracle import PolicyInterpreter, interpreter
from panewise.oracle.chain.interpreter import AnyInterpreter
from panewise.oracle.outputs import COUNTS
from panewise.spec import Chain, Custom, FrameOperator, Specification
from panewise.spec.windows.custom import EachRow
from panewise.testing.events import Event, Script
from panewise.testing.ingest import ROW, schema


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the oracle's output after each event.

    A restart does nothing, because it must change no output (semantics 33).

    Raises:
        InputError: for any option.
    """
    if script.options:
        raise InputError(f"options={sorted(script.options)}", "the oracle has no options", "leave them out")
    oracle = interpreter(_by_row(script), dict(script.types))
    outputs = []
    for event, given in zip(script.events, script.given, strict=True):
        output = _step(oracle, event)
        for entry in (*output["late"], *output["invalid"]):
            entry["row"] = dict(given[entry["row"][ROW]])
        outputs.append(output | ({"windows": oracle.windows()} if script.windows else {}))
    return outputs


def _by_row(script: Script) -> Specification:
    """Returns the specification with a window function of single rows, which the oracle can call."""
    first, window = script.first, script.first.window
    if (
        isinstance(first, FrameOperator)
        or not isinstance(window, Custom)
        or isinstance(window.function, EachRow)
    ):
        return script.spec
    types = {"event_time": pl.Int64(), **schema({name: script.types[name] for name in window.columns})}
    with warnings.catch_warnings():  # the user's specification warned when it was built
        warnings.simplefilter("ignore", SpecWarning)
        changed = replace(first, window=replace(window, function=EachRow(_OfFrames(window, types))))
        return replace(script.spec, first=changed) if isinstance(script.spec, Chain) else changed


@dataclass(frozen=True)
class _OfFrames:
    """Calls a window function of DataFrames with a single row."""

    window: Custom
    types: dict[str, pl.DataType]

    def __call__(self, row: dict[str, Any]) -> Any:
        given = self.window.function(pl.DataFrame([row], schema=self.types))
        [one] = given.to_list() if isinstance(given, pl.Series) else given
        return (
            [tuple(pair.values()) if isinstance(pair, dict) else pair for pair in one]
            if isinstance(one, list)
            else one
        )


def _step(oracle: AnyInterpreter, event: Event) -> dict[str, Any]:
    if isinstance(oracle, PolicyInterpreter):
        own = {
            "drain": oracle.drain,
            "checkpoint": oracle.checkpoint,
            "reset": oracle.reset,
            "reset_to_initial": oracle.reset_to_initial,
        }
        if event.op in own:
            return own[event.op]()
        if event.op == "evict":
            return oracle.evict(dict(event.partition))
    match event:
        case Event("add"):
            return oracle.add([{**row, ROW: number} for number, row in enumerate(event.rows)])
        case Event("watermark", to=int(to), source=source) if not isinstance(oracle, PolicyInterpreter):
            return oracle.watermark(to, source)
        case Event("clock", to=int(to)):
            return oracle.clock(to)
        case Event("finish"):
            return oracle.finish()
        case _:
            return {"panes": [], "late": [], "invalid": [], "counts": dict.fromkeys(COUNTS, 0)}
