"""Plays events in the engine, in-process."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import polars as pl

from panewise.engine.checkpoint import Stored, StoredLibrary, restore, save
from panewise.engine.policy.operator import PolicyOperator
from panewise.engine.registry import AnyOperator, operator_for
from panewise.engine.store.cache import Cache
from panewise.engine.windows.operator import State
from panewise.errors import InputError
from panewise.state import MemoryRunStore
from panewise.testing.columns import Row
from panewise.testing.events import Event, Script
from panewise.testing.ingest import FLAGS, ROW, frame, schema

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")


class _Output(Protocol):
    """The output of the engine after an event."""

    @property
    def panes(self) -> pl.DataFrame: ...
    @property
    def late(self) -> pl.DataFrame: ...
    @property
    def invalid(self) -> pl.DataFrame: ...
    @property
    def counts(self) -> Any: ...


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
    columns = schema(script.types) | FLAGS
    turn = _stored(script, columns) if script.options.get("stored") else _kept(script, columns)
    outputs = []
    for event, given in zip(script.events, script.given, strict=True):
        operator, stepped = turn(event)
        output = (
            {"panes": [], "late": [], "invalid": [], "counts": dict.fromkeys(COUNTS, 0)}
            if stepped is None
            else _plain(stepped, given)
        )
        outputs.append(output | ({"windows": operator.held().to_dicts()} if script.windows else {}))
    return outputs


_Turn: TypeAlias = Callable[[Event], tuple[AnyOperator, _Output | None]]


def _kept(script: Script, columns: dict[str, pl.DataType]) -> _Turn:
    """Plays all events with one operator in memory; a restart restores it from what it saved."""
    operator, checkpoint = operator_for(script.spec, columns), b""

    def turn(event: Event) -> tuple[AnyOperator, _Output | None]:
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

    return turn


def _stored(script: Script, columns: dict[str, pl.DataType]) -> _Turn:
    """Plays each event with an operator loaded from a run store; a restart clears the cache of runs."""
    store, cache, checkpoint = MemoryRunStore(), Cache(), MemoryRunStore()

    def load() -> Stored:
        return Stored.load(script.spec, columns, StoredLibrary(store, cache))

    def turn(event: Event) -> tuple[AnyOperator, _Output | None]:
        nonlocal cache, store, checkpoint
        now = load().operator.state.clocks.processing_time
        store = deepcopy(checkpoint) if event.op == "reset" else store
        cache = Cache() if event.op in ("restart", "reset") else cache
        stored = load()
        if event.op == "reset":
            before = stored.operator.state
            stored.operator.state = replace(before, clocks=replace(before.clocks, processing_time=now))
            output: _Output | None = _reset(stored.operator, before)
        else:
            output = None if event.op in ("restart", "checkpoint") else _step(stored.operator, script, event)
        checkpoint = deepcopy(store) if event.op == "checkpoint" else checkpoint
        if stored.changed or stored.moved:
            stored.commit()
        return stored.operator, output

    return turn


def _reset(operator: AnyOperator, before: State) -> _Output:
    assert isinstance(operator, PolicyOperator)
    return operator.reset(before)


def _step(operator: AnyOperator, script: Script, event: Event) -> _Output:
    if isinstance(operator, PolicyOperator):
        own = {"drain": operator.drain, "reset_to_initial": operator.reset_to_initial}
        if event.op in own:
            return own[event.op]()
        if event.op == "evict":
            return operator.evict(event.partition)
    match event.op:
        case "add":
            return operator.add(frame(script.first, script.types, event.rows))
        case "finish":
            return operator.finish()
        case "clock":
            return operator.advance(processing_time=event.to)
        case _:
            return operator.advance(watermark=event.to, source=event.source)


def _plain(output: _Output, given: Sequence[Row]) -> dict[str, Any]:
    """Returns the output with dicts in place of DataFrames, and with input rows as the caller gave them."""
    return {
        "panes": output.panes.to_dicts(),
        "late": [late_entry(entry, given) for entry in output.late.to_dicts()],
        "invalid": [
            {"row": dict(given[entry[ROW]]), "reason": entry["__reason"]}
            for entry in output.invalid.to_dicts()
        ],
        "counts": {name: getattr(output.counts, name) for name in COUNTS},
    }


def late_entry(entry: dict[str, Any], given: Sequence[Row]) -> dict[str, Any]:
    """Returns an entry of the late output, with the row as the caller gave it."""
    return {
        "row": dict(given[entry[ROW]]),
        "reason": entry["__reason"],
        "windows": [[window["start"], window["end"]] for window in entry["__windows"]],
        "late_by": entry["__late_by"],
        "partial": entry["__partial"],
    }
