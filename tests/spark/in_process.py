"""Spark's part of the dataflow of an operator, in this process and without a JVM.

It has what Spark has: partitions of the input, a shuffle, tasks, a state store that commits or discards the
writes of a task, and timers. All else is the package's own: `Pack` and `Control` run for each partition,
`Processor` for each task, and `UnpackWithReports` between two operators. As on Spark these functions are
pickled, and each micro-batch has new ones.

What it cannot show is in docs/decisions/0056-an-in-process-dataflow.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark import TaskContext, cloudpickle
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues
from pyspark.sql.types import StructType

from panewise.engine.redistribution import Redistribution
from panewise.engine.run_library import Cache
from panewise.families import INPUT
from panewise.spark.columns.types import arrow_schema, polars_schema
from panewise.spark.dataflow.output_schemas import unpack_of
from panewise.spark.inputs.watermarks import follows_query
from panewise.spark.metrics import with_metrics
from panewise.spark.shard_numbers import even_shards
from panewise.spark.shuffle import envelope
from panewise.spark.shuffle.reports import PROGRESS
from panewise.spark.workers import microbatch, pack
from panewise.spark.workers.pack import NOW, Control, Pack
from panewise.spark.workers.processor import Processor
from panewise.spark.workers.processor_settings import Settings
from panewise.spark.workers.state_pieces import state_envelopes
from panewise.spark.workers.unpack import Unpack, UnpackWithReports
from panewise.spec import Specification
from panewise.state import Manifest
from panewise.testing.event import Event
from panewise.testing.events import Script
from panewise.testing.runtimes.spark import (
    LiveWindows,
    arrow_rows,
    check_ops,
    note_of,
    output_of,
    spark_columns,
)

Envelope = tuple[str, bytes]
Values = dict[tuple[str, tuple[Any, ...]], tuple[Any, ...]]  # by the name of the variable and its key


@dataclass
class Stored:
    """What the state store has of a shard."""

    values: Values = field(default_factory=dict)
    timers: set[int] = field(default_factory=set)


class Handle:
    """The state of the shard that a task is processing: its writes are seen by later reads of the task."""

    def __init__(self, shards: Mapping[int, Stored]) -> None:
        self.shards = {shard: Stored({**of.values}, {*of.timers}) for shard, of in shards.items()}
        self.shard = -1

    @property
    def present(self) -> Stored:
        return self.shards.setdefault(self.shard, Stored())

    def getMapState(self, name: str, key: StructType, value: StructType) -> "MapState":
        return MapState(self, name, key, value)

    def registerTimer(self, expiry: int) -> None:
        self.present.timers.add(expiry)

    def expired(self, watermark: int) -> list[tuple[int, int]]:
        """Returns the timers that the watermark has passed, with their shards."""
        timers = [(timer, shard) for shard, of in self.shards.items() for timer in of.timers]
        return sorted(pair for pair in timers if pair[0] <= watermark)


@dataclass
class MapState:
    handle: Handle
    name: str
    key: StructType
    value: StructType

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return self.handle.present.values.get((self.name, key))

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        self.key.fromInternal(key), self.value.fromInternal(value)
        self.handle.present.values[self.name, key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:
        self.handle.present.values.pop((self.name, key), None)


@dataclass(frozen=True)
class Cut:
    """How Spark cuts things. It may change no output, but for the order of rows of several shards.

    An input with a source position is an exception: its rows have to be in one partition and one chunk.

    Attributes:
        partitions: the number of partitions of each input, and of tasks.
        rows: the number of rows of an Arrow batch, and of a chunk that is packed at once; 0: all of them.
        bytes: the maximum size of an envelope, and of an Arrow batch of them; 0: that of the package.
        order: the seed of the order in which envelopes reach a shard; None: the order of the partitions.
        cold: whether each micro-batch starts with an empty cache of runs.
        repeat: whether each task runs twice from the stored state. What it emits must be equal.
    """

    partitions: int = 1
    rows: int = 0
    bytes: int = 0
    order: int | None = None
    cold: bool = False
    repeat: bool = False


@contextmanager
def _in_partition(number: int) -> Iterator[None]:
    """Runs code as that of a partition."""
    context = TaskContext()
    context._partitionId = number
    try:
        yield
    finally:
        TaskContext._taskContext = None


@dataclass
class Query:
    """An operator in a query.

    Attributes:
        spec: the specification.
        columns: the columns of each port. Those of its rows may have more: the time of the micro-batch, and
            envelopes of an operator whose rows these are.
        shards: the number of shards.
        cut: how things are cut.
        clocks, live: as in :class:`Settings`.
        late_wanted: whether the late rows are an output.
        static: the rows of static ports.
        fed: the shards of the operators whose rows are inputs, by port.
        reports: whether another operator reads the rows.
        stored: the state by shard.
        state: pieces of another state, with which the first micro-batch begins.
        least_watermark: as in :class:`Settings`.
    """

    spec: Specification
    columns: Mapping[str, StructType]
    shards: int = 1
    cut: Cut = field(default_factory=Cut)
    clocks: str = "spark"
    live: bool = False
    late_wanted: bool = True
    static: Mapping[str, pa.Table] = field(default_factory=dict)
    fed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    reports: bool = False
    stored: dict[int, Stored] = field(default_factory=dict)
    number: int = 0
    state: list[tuple[int, str, bytes]] | None = None
    least_watermark: int | None = None

    def __post_init__(self) -> None:
        inputs = {
            port: StructType([one for one in of.fields if one.name not in (NOW, PROGRESS)])
            for port, of in self.columns.items()
        }
        self.inputs = inputs
        self.schemas = {port: polars_schema(of) for port, of in inputs.items()}
        self.numbers = even_shards(self.shards)
        others = {*self.fed, *self.static}
        query_ports = (p for p in self.columns if p not in others and follows_query(self.spec, p))
        settings = Settings(
            self.spec,
            self.schemas,
            self.shards,
            self.clocks,
            self.live,
            mirror_mb=0,
            reports=self.reports,
            fed=dict(self.fed),
            static=tuple(self.static),
            query_ports=tuple(query_ports),
            imports=self.state is not None,
            least_watermark=self.least_watermark,
        )
        self.processor = cloudpickle.dumps(Processor(settings))
        self.packs = {port: cloudpickle.dumps(self._pack(port)) for port in self.columns}

    def change(self, spec: Specification, columns: Mapping[str, StructType]) -> None:
        """Continues the query with another specification, as a restart of `write` does."""
        self.spec, self.columns = spec, columns
        self.__post_init__()

    def _pack(self, port: str) -> Pack:
        more = tuple(name for name in (NOW, PROGRESS) if name in self.columns[port].names)
        strict = port in self.static
        return Pack(
            self.spec, self.schemas, self.numbers, self.late_wanted or strict, port, more=more, strict=strict
        )

    def run(
        self,
        rows: Mapping[str, pa.Table] = {},
        notes: Sequence[str] = (),
        now: int = 0,
        watermark: int = 0,
    ) -> list[Envelope]:
        """Runs a micro-batch, with both clocks in milliseconds; returns the envelopes that are emitted."""
        with pytest.MonkeyPatch.context() as patch:
            if self.cut.rows:
                patch.setattr(pack, "_CHUNK_ROWS", self.cut.rows)
            if self.cut.bytes:
                patch.setattr(envelope, "LARGEST", self.cut.bytes)
            if self.cut.cold:
                patch.setattr(microbatch, "_CACHE", Cache())
            return self._run(rows, notes, now, watermark)

    def _run(
        self, rows: Mapping[str, pa.Table], notes: Sequence[str], now: int, watermark: int
    ) -> list[Envelope]:
        shuffled = self._shuffled([*self._packed(rows), *self._noted(notes)])
        initial = self._initial() if not self.number else {}
        timers = TimerValues(now, watermark)
        self.number += 1
        emitted: list[Envelope] = []
        for task in range(self.cut.partitions):
            mine = [shard for n, shard in enumerate(self.numbers) if n % self.cut.partitions == task]
            given = {shard: shuffled.get(shard, []) for shard in mine}
            first = {shard: initial[shard] for shard in mine if shard in initial}
            made, handle = self._task(mine, given, first, timers)
            if self.cut.repeat:
                again, handle = self._task(mine, given, first, timers)
                assert _same(made, again), "a task that is repeated emits the same"
            self.stored |= handle.shards
            emitted += made
        return emitted

    def _initial(self) -> dict[int, list[Envelope]]:
        """Returns the initial state of the shards: that of another query, or the rows of static ports."""
        if self.state is None:
            return self._shuffled(self._packed(self.static)) if self.static else {}
        return self._shuffled([[envelope.batch([piece])] for piece in self.state])

    @property
    def entries(self) -> dict[int, dict[str, bytes]]:
        """The manifest and the runs of each shard."""
        return {
            shard: {key[0]: value[0] for (_, key), value in of.values.items()}
            for shard, of in self.stored.items()
            if of.values
        }

    def moved(self, shards: int, spec: Specification | None = None) -> "Query":
        """Returns a query with so many shards that continues with the state of this one.

        `spec` is the specification that it is started with.
        """
        entries = self.entries
        manifests = {shard: Manifest.decode(of["manifest"].decode()) for shard, of in entries.items()}
        plan = Redistribution.plan(spec or self.spec, self.schemas, manifests, even_shards(shards))
        return replace(
            self,
            spec=plan.spec,
            shards=shards,
            stored={},
            number=0,
            state=[*state_envelopes(plan, entries)] if manifests else None,
        )

    def _packed(self, rows: Mapping[str, pa.Table]) -> list[list[Any]]:
        """Returns the envelopes of each partition."""
        partitions: list[list[Any]] = []
        for port, table in rows.items():
            of_port: Pack = cloudpickle.loads(self.packs[port])
            size = max(1, -(-table.num_rows // self.cut.partitions))
            for n in range(self.cut.partitions):
                part = table.slice(min(n * size, table.num_rows), size)
                batches = part.to_batches(max_chunksize=self.cut.rows or None)
                with _in_partition(len(partitions)):
                    partitions.append(list(of_port(iter(batches))))
        return partitions

    def _noted(self, notes: Sequence[str]) -> list[list[Any]]:
        batch = pa.RecordBatch.from_arrays([pa.array(notes, pa.string())], ["value"])
        return [list(Control(self.numbers)(iter([batch])))]

    def _shuffled(self, partitions: list[list[Any]]) -> dict[int, list[Envelope]]:
        """Returns the envelopes of each shard."""
        found: dict[int, list[Envelope]] = {}
        for batch in (batch for of in partitions for batch in of):
            assert batch.schema.types == arrow_schema(envelope.IN).types
            for one in batch.to_pylist():
                found.setdefault(one["shard"], []).append((one["kind"], one["payload"]))
        if self.cut.order is not None:
            for envelopes in found.values():
                Random(self.cut.order).shuffle(envelopes)
        return found

    def _task(
        self,
        shards: list[int],
        given: Mapping[int, list[Envelope]],
        initial: Mapping[int, list[Envelope]],
        timers: TimerValues,
    ) -> tuple[list[Envelope], Handle]:
        """Runs a task; returns what it emits, and the state that it leaves."""
        processor: Any = cloudpickle.loads(self.processor)
        handle = Handle({shard: self.stored[shard] for shard in shards if shard in self.stored})
        emitted: list[pd.DataFrame] = []
        processor.init(handle)
        for shard in sorted(shards):
            handle.shard = shard
            for frame in _frames(shard, initial.get(shard, ())):
                processor.handleInitialState((shard,), frame, timers)
            if given[shard]:
                emitted += processor.handleInputRows((shard,), _frames(shard, given[shard]), timers)
        for timer, shard in handle.expired(timers.getCurrentWatermarkInMs()):
            handle.shard = shard
            emitted += processor.handleExpiredTimer((shard,), timers, ExpiredTimerInfo(timer))
            handle.present.timers.discard(timer)
        processor.close()
        return [one for frame in emitted for one in _envelopes(frame)], handle

    def feed(self, emitted: Sequence[Envelope]) -> pa.Table:
        """Returns what the step has emitted as the input of another operator."""
        unpack = UnpackWithReports(self.unpack)
        kinds, payloads = zip(*emitted, strict=True) if emitted else ((), ())
        batch = pa.RecordBatch.from_pydict(
            {"kind": pa.array(kinds, pa.string()), "payload": pa.array(payloads, pa.binary())}
        )
        return pa.Table.from_batches(unpack(iter([batch])), arrow_schema(unpack.target))

    @cached_property
    def unpack(self) -> Unpack:
        """The function that makes columns of the panes."""
        names = {port: {name: name for name in of.names} for port, of in self.inputs.items()}
        panes = pack.plan_for(self.spec, self.schemas).pane_schema
        return unpack_of("panes", self.spec, panes, self.inputs, names)

    @property
    def emitted_columns(self) -> StructType:
        """The columns of :meth:`feed`."""
        return UnpackWithReports(self.unpack).target


def _frames(shard: int, envelopes: Sequence[Envelope]) -> Iterator[pd.DataFrame]:
    """Yields envelopes as Spark gives them to Python, a few at a time."""
    for n in range(0, len(envelopes), 2):
        rows = [(shard, *one) for one in envelopes[n : n + 2]]
        yield pd.DataFrame(rows, columns=envelope.IN.names)


def _envelopes(frame: pd.DataFrame) -> Iterator[Envelope]:
    """Yields the envelopes of a frame that the step emits, as Spark reads it."""
    table = pa.Table.from_pandas(frame, arrow_schema(with_metrics(envelope.OUT)))
    for one in table.to_pylist():
        if one["kind"] != "metrics":
            yield one["kind"], one["payload"]


def _same(some: Sequence[Envelope], others: Sequence[Envelope]) -> bool:
    """Returns whether envelopes have the same content. Bits after the end of a boolean column may differ."""
    return [kind for kind, _ in some] == [kind for kind, _ in others] and all(
        one == other or envelope.decode(one).equals(envelope.decode(other))
        for (_, one), (_, other) in zip(some, others, strict=True)
    )


def play(script: Script, cut: Cut | None = None, moves: Mapping[int, int] = {}) -> list[dict[str, Any]]:
    """Plays a script as the runtime "spark" does; the option `shards` is the number of shards.

    `moves` has numbers of events, before which the state goes on with another number of shards.
    """
    check_ops(script)
    columns = {port: spark_columns(script, port) for port in script.ports}
    shards = script.options.get("shards", 1)
    query = Query(script.spec, columns, shards, cut or Cut(), clocks="control", live=True)
    live, clock, outputs, spec = LiveWindows(), 0, [], script.spec
    for number, (event, given) in enumerate(zip(script.events, script.added, strict=True)):
        shards = moves.get(number, shards)
        if shards != query.shards and event.op not in ("restart", "change") and query.entries:
            query, live = query.moved(shards, spec), LiveWindows()
        if event.op in ("restart", "change"):
            microbatch._CACHE = Cache()
        if event.marked is not None:
            script, spec = replace(script, spec=event.marked), event.spec or spec
            query.change(event.marked, {port: spark_columns(script, port) for port in script.ports})
        emitted = [] if event.op == "restart" else _played(query, script, event, clock)
        clock = max(clock, (event.to or 0) if event.op == "clock" else 0)
        output = output_of(emitted, given, script)
        outputs.append(output | ({"windows": live.after(emitted)} if script.windows else {}))
    return outputs


def _played(query: Query, script: Script, event: Event, clock: int) -> list[Envelope]:
    rows = {port: arrow_rows(script, port, of, clock) for port, of in event.rows.items()}
    notes = [] if len(rows) == 1 else [note_of(event)]
    return query.run(rows, notes)


def rows_of(emitted: Sequence[Envelope], kind: str = "panes", port: str = INPUT) -> pl.DataFrame | None:
    """Returns the rows of one kind, None if there are none."""
    label = envelope.labelled(kind, port)
    found = [envelope.decode(payload) for name, payload in emitted if name == label]
    return pl.concat(found) if found else None
