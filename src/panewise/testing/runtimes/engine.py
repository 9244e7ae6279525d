"""Plays events in the engine, in-process."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

import polars as pl

from panewise.engine.checkpoint import StoredOperator
from panewise.engine.columns import ROW
from panewise.engine.ingest.output import Output
from panewise.engine.kernels.column_types import whole_instants
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.registry import operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.saved_operator import restore, save
from panewise.errors import InputError
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.state import MemoryRunStore
from panewise.testing.columns import Row
from panewise.testing.event import Batch, Event
from panewise.testing.events import Script
from panewise.testing.families import parts_for_tests
from panewise.testing.ingest import FLAGS, frame, schema
from panewise.testing.runtimes import Counts, check_options, without_zeros

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")


AS_NULL: AddedAggregates = "null"
_RETURNS = ("reset", "reset_to_initial")  # ops that return to an earlier state


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the engine's output after each event.

    A restart saves the operator and continues with the restored one. With the option `stored`, every event
    loads the state from a run store and commits the changes, as on Spark.
    """
    check_options(script, "stored")
    columns = {port: schema(types) | FLAGS for port, types in script.types.items()}
    play_event = _stored(script, columns) if script.options.get("stored") else _in_memory(script, columns)
    outputs = []
    for event, batch in zip(script.events, script.added, strict=True):
        operator, stepped = play_event(event)
        output = plain(tables_of(stepped), batch, script)
        outputs.append(output | ({"windows": dicts(operator.live())} if script.windows else {}))
    return outputs


_Outputs: TypeAlias = Sequence[Output]
_EventPlayer: TypeAlias = Callable[[Event], tuple[Operator, _Outputs]]


def _in_memory(script: Script, columns: Schemas) -> _EventPlayer:
    """Plays all events with one operator in memory; a restart restores it from what it saved."""
    operator, checkpoint, spec = operator_for(script.spec, columns), b"", script.spec

    def play_event(event: Event) -> tuple[Operator, _Outputs]:
        nonlocal operator, checkpoint, spec
        if event.spec is not None:
            spec = event.spec
            operator = restore(spec, columns, save(operator), event.added_aggregates)
            return operator, [operator.evaluate_all()]
        if event.op == "checkpoint":
            checkpoint = save(operator)
            return operator, ()
        if event.op in _RETURNS:
            now = operator.state.clocks.processing_time
            returns = event.op == "reset"
            operator = restore(spec, columns, checkpoint) if returns else operator_for(spec, columns)
            return operator, _returned(operator, event.op, now)
        if event.op == "restart":
            operator = restore(spec, columns, save(operator))
            return operator, ()
        return operator, _step(operator, script, event)

    return play_event


def _stored(script: Script, columns: Schemas) -> _EventPlayer:
    """Plays each event with an operator loaded from a run store; a restart clears the cache of runs."""
    store, cache, checkpoint = MemoryRunStore(), Cache(), MemoryRunStore()
    spec, added = script.spec, AS_NULL

    def load() -> StoredOperator:
        return StoredOperator.load(spec, columns, RunLibrary(store, cache), added_aggregates=added)

    def play_event(event: Event) -> tuple[Operator, _Outputs]:
        nonlocal cache, store, checkpoint, spec, added
        if event.spec is not None:
            spec, added = event.spec, event.added_aggregates
        now = load().operator.state.clocks.processing_time
        if event.op in _RETURNS:
            store = deepcopy(checkpoint) if event.op == "reset" else MemoryRunStore()
        cache = Cache() if event.op in ("restart", *_RETURNS) else cache
        stored = load()
        if event.op in _RETURNS:
            outputs = _returned(stored.operator, event.op, now)
        elif event.op == "change":
            outputs = list(stored.evaluated())
        else:
            outputs = () if event.op in ("restart", "checkpoint") else _step(stored.operator, script, event)
        checkpoint = deepcopy(store) if event.op == "checkpoint" else checkpoint
        if stored.changed or stored.moved:
            stored.commit()
        return stored.operator, outputs

    return play_event


def _returned(operator: Operator, op: str, now: int) -> _Outputs:
    """Continues at a processing time with an operator that has an earlier state, or has taken no step.

    This is what the life cycle of a standalone operator does.
    """
    if op == "reset":
        return [operator.advance(processing_time=now)]
    operator.replace_state(operator.with_header({**operator.header(), "processing_time": now}))
    return ()


def _step(operator: Operator, script: Script, event: Event) -> _Outputs:
    if event.op in parts_for_tests(script.spec).ops:
        return [parts_for_tests(script.spec).engine(operator, event.op, event.partition)]
    match event.op:
        case "add":
            return _added(operator, script, event)
        case "finish":
            return [operator.finish(event.port)]
        case "clock":
            return [operator.advance(processing_time=event.to)]
        case _:
            return [operator.advance(watermark=event.to, source=event.source)]


def _added(operator: Operator, script: Script, event: Event) -> _Outputs:
    """Adds the rows of one input, or the rows of several as one batch."""
    for port in event.rows:
        if operator.state.has_ended(port):
            rule = "nothing is added after the end of input"
            raise InputError(f"rows of {port!r} after finish", rule, "add the rows before finish")
    ports = operator.spec.ports
    frames = {port: frame(ports[port], script.types[port], rows) for port, rows in event.rows.items()}
    return operator.add_batch(frames)


Tables: TypeAlias = Sequence[tuple[str, str, pl.DataFrame]]  # kind, port and rows, in the order of emission


def tables_of(outputs: _Outputs) -> Tables:
    """Returns the tables of outputs."""
    tables: list[tuple[str, str, pl.DataFrame]] = []
    for output in outputs:
        counts = pl.DataFrame([{name: getattr(output.counts, name) for name in COUNTS}])
        frames = {"panes": output.panes, "late": output.late, "invalid": output.invalid, "counts": counts}
        tables += [(kind, output.port, table) for kind, table in frames.items()]
    return tables


def plain(tables: Tables, batch: Batch, script: Script) -> dict[str, Any]:
    """Returns an output with dicts in place of DataFrames, and with input rows as the caller gave them.

    With several inputs each late or invalid row names its input, and counts are by input. The inputs come one
    after another.
    """
    field, ports = script.port_field, list(script.ports)

    def entries(kind: str) -> list[tuple[str, dict[str, Any]]]:
        rows = [(port, row) for name, port, table in tables if name == kind for row in dicts(table)]
        return sorted(rows, key=lambda pair: ports.index(pair[0])) if kind != "panes" else rows

    def named(port: str) -> dict[str, str]:
        return {field: port} if field else {}

    invalid = [
        {"row": dict(batch[port][entry[ROW]]), "reason": entry["__reason"], **named(port)}
        for port, entry in entries("invalid")
    ]
    counts: Counts = {}
    for port, line in entries("counts"):
        before = counts.setdefault(port, dict.fromkeys(COUNTS, 0))
        counts[port] = {name: before[name] + line[name] for name in COUNTS}
    none = dict.fromkeys(COUNTS, 0)
    return {
        "panes": [pane for _, pane in entries("panes")],
        "late": [late_entry(entry, batch[port]) | named(port) for port, entry in entries("late")],
        "invalid": invalid,
        "counts": without_zeros(counts) if field else next(iter(counts.values()), none),
    }


def dicts(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the rows as dicts, with instants as whole numbers of microseconds.

    On Spark event times are timestamps, and some of them are out of the range of Python's datetime.
    """
    types = {name: whole_instants(dtype) for name, dtype in table.schema.items()}
    return table.cast(types).to_dicts()  # type: ignore[arg-type]


def late_entry(entry: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """Returns an entry of the late output, with the row as the caller gave it."""
    return {
        "row": dict(rows[entry[ROW]]),
        "reason": entry["__reason"],
        "windows": [[window["start"], window["end"]] for window in entry["__windows"]],
        "late_by": entry["__late_by"],
        "partial": entry["__partial"],
    }
