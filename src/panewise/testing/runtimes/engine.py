"""Plays events in the engine, in-process."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeAlias

import polars as pl

from panewise.engine.checkpoint import StoredOperator, restore, save
from panewise.engine.ingest.output import Output
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.registry import operator_for
from panewise.engine.run_library import RunLibrary
from panewise.engine.store.cache import Cache
from panewise.errors import InputError
from panewise.state import MemoryRunStore
from panewise.testing.columns import Row
from panewise.testing.events import Event, Script
from panewise.testing.families import testing_parts
from panewise.testing.ingest import FLAGS, ROW, frame, schema

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the engine's output after each event.

    A restart saves the operator and continues with the restored one. With the option `stored`, every event
    loads the state from a run store and commits the changes, as on Spark.

    Raises:
        InputError: for an unknown option.
    """
    unknown = set(script.options) - {"stored"}
    if unknown:
        raise InputError(
            f"options={sorted(unknown)}", "this runtime has one option: stored", "leave them out"
        )
    columns = {port: schema(types) | FLAGS for port, types in script.types.items()}
    play_event = _stored(script, columns) if script.options.get("stored") else _in_memory(script, columns)
    outputs = []
    for event, given in zip(script.events, script.given, strict=True):
        operator, stepped = play_event(event)
        output = plain(tables_of(stepped), given, several=len(script.ports) > 1)
        outputs.append(output | ({"windows": operator.live().to_dicts()} if script.windows else {}))
    return outputs


_EventPlayer: TypeAlias = Callable[[Event], tuple[Operator, Output | None]]


def _in_memory(script: Script, columns: Schemas) -> _EventPlayer:
    """Plays all events with one operator in memory; a restart restores it from what it saved."""
    operator, checkpoint = operator_for(script.spec, columns), b""

    def play_event(event: Event) -> tuple[Operator, Output | None]:
        nonlocal operator, checkpoint
        if event.op == "checkpoint":
            checkpoint = save(operator)
            return operator, None
        if event.op == "reset":
            return operator, _reset(operator, restore(script.spec, columns, checkpoint).state)
        if event.op == "restart":
            operator = restore(script.spec, columns, save(operator))
            return operator, None
        return operator, _step(operator, script, event)

    return play_event


def _stored(script: Script, columns: Schemas) -> _EventPlayer:
    """Plays each event with an operator loaded from a run store; a restart clears the cache of runs."""
    store, cache, checkpoint = MemoryRunStore(), Cache(), MemoryRunStore()

    def load() -> StoredOperator:
        return StoredOperator.load(script.spec, columns, RunLibrary(store, cache))

    def play_event(event: Event) -> tuple[Operator, Output | None]:
        nonlocal cache, store, checkpoint
        now = load().operator.state.clocks.processing_time
        store = deepcopy(checkpoint) if event.op == "reset" else store
        cache = Cache() if event.op in ("restart", "reset") else cache
        stored = load()
        if event.op == "reset":
            before = stored.operator.state
            stored.operator.state = replace(before, clocks=replace(before.clocks, processing_time=now))
            output: Output | None = _reset(stored.operator, before)
        else:
            output = None if event.op in ("restart", "checkpoint") else _step(stored.operator, script, event)
        checkpoint = deepcopy(store) if event.op == "checkpoint" else checkpoint
        if stored.changed or stored.moved:
            stored.commit()
        return stored.operator, output

    return play_event


def _reset(operator: Any, before: Any) -> Output:
    """Returns to an earlier state. Only operators with the op "reset" have this method."""
    output: Output = operator.reset(before)
    return output


def _step(operator: Operator, script: Script, event: Event) -> Output:
    if event.op in testing_parts(script.spec).ops:
        output: Output = testing_parts(script.spec).engine(operator, event)
        return output
    match event.op:
        case "add":
            port, entry = script.entry(event)
            return operator.add(frame(entry, script.types[port], event.rows), port)
        case "finish":
            return operator.finish(event.port)
        case "clock":
            return operator.advance(processing_time=event.to)
        case _:
            return operator.advance(watermark=event.to, source=event.source)


Tables: TypeAlias = Mapping[tuple[str, str], pl.DataFrame]  # by kind and port; without empty ones


def tables_of(output: Output | None) -> Tables:
    """Returns the tables of an output, by kind and port."""
    if output is None:
        return {}
    counts = pl.DataFrame([{name: getattr(output.counts, name) for name in COUNTS}])
    frames = {"panes": output.panes, "late": output.late, "invalid": output.invalid, "counts": counts}
    return {(kind, output.port): table for kind, table in frames.items()}


def plain(tables: Tables, given: Sequence[Row], *, several: bool) -> dict[str, Any]:
    """Returns an output with dicts in place of DataFrames, and with input rows as the caller gave them.

    With `several` inputs each late or invalid row says its `input`, and counts are given by input.
    """

    def of(kind: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            (port, row) for (name, port), table in tables.items() if name == kind for row in table.to_dicts()
        ]

    def named(port: str) -> dict[str, str]:
        return {"input": port} if several else {}

    invalid = [
        {"row": dict(given[entry[ROW]]), "reason": entry["__reason"], **named(port)}
        for port, entry in of("invalid")
    ]
    counts: dict[str, dict[str, int]] = {}
    for port, line in of("counts"):
        before = counts.setdefault(port, dict.fromkeys(COUNTS, 0))
        counts[port] = {name: before[name] + line[name] for name in COUNTS}
    none = dict.fromkeys(COUNTS, 0)
    return {
        "panes": [pane for _, pane in of("panes")],
        "late": [late_entry(entry, given) | named(port) for port, entry in of("late")],
        "invalid": invalid,
        "counts": _without_zeros(counts) if several else next(iter(counts.values()), none),
    }


def _without_zeros(counts: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {port: line for port, line in counts.items() if any(line.values())}


def late_entry(entry: dict[str, Any], given: Sequence[Row]) -> dict[str, Any]:
    """Returns an entry of the late output, with the row as the caller gave it."""
    return {
        "row": dict(given[entry[ROW]]),
        "reason": entry["__reason"],
        "windows": [[window["start"], window["end"]] for window in entry["__windows"]],
        "late_by": entry["__late_by"],
        "partial": entry["__partial"],
    }
