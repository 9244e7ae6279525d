"""Plays events in the oracle."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from panewise.engine.columns import ROW
from panewise.families import INPUT
from panewise.oracle import interpreter
from panewise.oracle.outputs import COUNTS
from panewise.spec import Custom, Specification
from panewise.spec.fields import silently
from panewise.spec.windows.custom import EachRow
from panewise.testing.event import Event
from panewise.testing.events import Script
from panewise.testing.families import parts_for_tests
from panewise.testing.ingest import schema
from panewise.testing.runtimes import check_options, without_zeros


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the oracle's output after each event.

    A restart does nothing, because it must change no output (semantics 33).
    """
    check_options(script)
    field = script.port_field
    types: Any = script.types if field else dict(script.types[INPUT])
    oracle = interpreter(_by_row(script, script.spec), types)
    outputs = []
    for event, batch in zip(script.events, script.added, strict=True):
        output = _step(oracle, event, script)
        for entry in (*output["late"], *output["invalid"]):
            entry["row"] = dict(batch[entry[field] if field else INPUT][entry["row"][ROW]])
        if field:
            output["counts"] = without_zeros(output["counts"])
        if script.windows:
            output["windows"] = oracle.windows()
        if script.progress:
            output["progress"] = oracle.progress()
        outputs.append(output)
    return outputs


def _by_row(script: Script, spec: Specification) -> Specification:
    """Returns a specification with a window function of single rows, which the oracle can call."""
    own = parts_for_tests(spec)
    windowed = own.windowed(spec)
    window = None if windowed is None else windowed.window
    if not isinstance(window, Custom) or isinstance(window.function, EachRow):
        return spec
    known = next(iter(script.types.values()))  # of two sides both have these columns
    types = {"event_time": pl.Int64(), **schema({name: known[name] for name in window.columns})}
    with silently():
        changed = replace(windowed, window=replace(window, function=EachRow(_OfFrames(window, types))))
        by_row: Specification = own.with_windowed(spec, changed)
        return by_row


@dataclass(frozen=True)
class _OfFrames:
    """Calls a window function of DataFrames with a single row."""

    window: Custom
    types: dict[str, pl.DataType]

    def __call__(self, row: dict[str, Any]) -> Any:
        returned = self.window.function(pl.DataFrame([row], schema=self.types))
        [windows] = returned.to_list() if isinstance(returned, pl.Series) else returned
        return (
            [tuple(pair.values()) if isinstance(pair, dict) else pair for pair in windows]
            if isinstance(windows, list)
            else windows
        )


def _step(oracle: Any, event: Event, script: Script) -> dict[str, Any]:
    own = parts_for_tests(script.spec)
    output: dict[str, Any]
    match event:
        case Event(op) if op in own.ops:
            output = own.oracle(oracle, event.op, event.partition)
        case Event("add"):
            output = _added(oracle, event, script)
        case Event("watermark", to=int(to), source=source):
            output = oracle.watermark(to, source)
        case Event("clock", to=int(to)):
            output = oracle.clock(to)
        case Event("change") if event.marked is not None:
            output = oracle.change(_by_row(script, event.marked))
        case Event("finish"):
            output = oracle.finish() if event.port is None else oracle.finish(event.port)
        case _:
            counts: dict[str, Any] = {} if script.port_field else dict.fromkeys(COUNTS, 0)
            output = {"panes": [], "late": [], "invalid": [], "counts": counts}
    return output


def _added(oracle: Any, event: Event, script: Script) -> dict[str, Any]:
    """Adds the rows of one input, or the rows of several as one batch."""
    batch = {
        port: [{**row, ROW: number} for number, row in enumerate(rows)] for port, rows in event.rows.items()
    }
    output: dict[str, Any]
    if len(batch) > 1:
        output = oracle.add_batch(batch)
    else:
        [(port, rows)] = batch.items()
        output = oracle.add(rows, port) if script.port_field else oracle.add(rows)
    return output
