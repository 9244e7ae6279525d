"""Plays events in a streaming query on Spark; every event except a restart is one micro-batch.

Rows are read from Parquet files. Watermarks, clock readings and the end of input are read from text files of
control notes. A restart stops the query and starts it again from its checkpoint, a change with another
specification and an empty note. Watermark and processing time come from the notes alone, so that the script
determines them. Everything else is as in a user's query.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from panewise.errors import InputError
from panewise.spark.columns.types import spark_schema, spark_type
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.session.settings import configure
from panewise.spark.shard_numbers import even_shards
from panewise.spark.shuffle.envelope import decode, kind_of, port_of
from panewise.spark.workers.pack import NOW, note
from panewise.spark.workers.unpack import ArrowColumns
from panewise.spec.column_values import ColumnType
from panewise.testing.columns import Row
from panewise.testing.event import Batch, Event
from panewise.testing.events import Script
from panewise.testing.families import parts_for_tests
from panewise.testing.ingest import FLAGS, frame, schema
from panewise.testing.runtimes import check_options
from panewise.testing.runtimes.engine import dicts, plain


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the output of the query after each event.

    The option `shards` is the number of shards, by default 1. With several shards, Spark determines the order
    of rows of different shards.
    """
    check_options(script, "shards")
    check_ops(script)
    with tempfile.TemporaryDirectory(prefix="panewise-") as scratch:
        stage = _Stage(script, Path(scratch))
        with stage.running():
            return [
                stage.after(event, batch) for event, batch in zip(script.events, script.added, strict=True)
            ]


def check_ops(script: Script) -> None:
    """Refuses events that Spark does not have."""
    own = parts_for_tests(script.spec)
    for event in script.events:
        if event.op in own.ops:
            raise InputError(f"op {event.op!r}", *own.on_spark)


def spark_columns(script: Script, port: str) -> StructType:
    """Returns the columns of a port as Spark reads them, with maps as maps."""
    instants = (*script.ports[port].time_columns, NOW)
    columns = spark_schema(
        {
            name: pl.Datetime("us", "UTC") if name in instants else dtype
            for name, dtype in _columns(script, port).items()
        }
    )
    for column in columns.fields:
        text = script.types[port].get(column.name, "")
        if "map<" in text:
            column.dataType = spark_type(ColumnType.parse(text))
    return columns


def _columns(script: Script, port: str) -> dict[str, pl.DataType]:
    """Returns the columns of a port.

    With `max_future_skew` each row also carries the script's processing time, for its validation.
    """
    now = {} if script.ports[port].max_future_skew is None else {NOW: pl.Int64()}
    return schema(script.types[port]) | FLAGS | now


def arrow_rows(script: Script, port: str, rows: Sequence[Row], clock: int) -> pa.Table:
    """Returns rows of a port as Spark reads them; `clock` is the processing time."""
    entry, columns = script.ports[port], _columns(script, port)
    timed = frame(entry, script.types[port], rows)
    if NOW in columns:
        timed = timed.with_columns(pl.lit(clock, dtype=pl.Int64).alias(NOW))
    instants = [name for name in (*entry.time_columns, NOW) if name in timed.columns]
    typed = timed.with_columns(pl.col(instants).cast(pl.Datetime("us", "UTC")))
    names = spark_columns(script, port)
    in_arrow = ArrowColumns.from_spark(names)
    return pa.Table.from_batches(in_arrow.batches(typed.select(names.names)), in_arrow.schema)


def note_of(event: Event) -> str:
    """Returns the control note of an event."""
    source = {} if event.source is None else {"input": event.source}
    texts = {
        "watermark": note(watermark=event.to or 0, **source),
        "clock": note(clock=event.to or 0),
        "finish": note(finish=event.port or 1),
        "add": note(),
        "change": note(),
    }
    return texts[event.op]


def output_of(emitted: Iterable[tuple[str, bytes]], batch: Batch, script: Script) -> dict[str, Any]:
    """Returns the output that envelopes contain, each given as (kind, payload)."""
    tables = [
        (kind_of(label), port_of(label), decode(payload))
        for label, payload in emitted
        if kind_of(label) in ("panes", "late", "invalid", "counts")
    ]
    return plain(tables, batch, script)


@dataclass
class LiveWindows:
    """The stored windows of each shard, as the shard last reported them."""

    by_shard: dict[int, pl.DataFrame] = field(default_factory=dict)

    def after(self, emitted: Iterable[tuple[str, bytes]]) -> list[dict[str, Any]]:
        """Reads the reports among envelopes; returns the windows in the order of end, start and keys."""
        for kind, payload in emitted:
            if kind == "live":
                windows = decode(payload)
                self.by_shard[int(windows["shard"][0])] = windows
        rows = [
            row
            for windows in self.by_shard.values()
            for row in dicts(windows.drop("shard"))
            if row["pending"] is not None
        ]
        fixed = ("window_start", "window_end", "pending", "closed")

        def order(row: dict[str, Any]) -> list[tuple[bool, Any]]:
            keys = (name for name in row if name not in fixed)
            return [(row[name] is not None, row[name]) for name in ("window_end", "window_start", *keys)]

        return sorted(rows, key=order)


def _session() -> SparkSession:
    """Returns the running session or a local one, whose workers run the Python of the test."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    return configure(builder.config("spark.ui.enabled", "false").getOrCreate(), local_checkpoints=True)


@dataclass
class _Stage:
    """A query with its directories and outputs.

    Attributes:
        emitted: the envelopes that the query emitted since the last event, each as (kind, payload).
        next_batch: files for the next micro-batch, with the places where the query reads them.
    """

    script: Script
    scratch: Path
    emitted: list[tuple[str, bytes]] = field(default_factory=list)
    live: LiveWindows = field(default_factory=LiveWindows)
    files: int = 0
    clock: int = 0
    next_batch: list[tuple[Path, Path]] = field(default_factory=list)
    query: StreamingQuery | None = None

    def __post_init__(self) -> None:
        for name in (*self.script.ports, "notes"):
            (self.scratch / name).mkdir()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Runs the query for the time of the context."""
        self.query = self._start()
        try:
            yield
        finally:
            self.query.stop()

    def _start(self) -> StreamingQuery:
        session = _session()
        dataflow = Dataflow(
            {port: self._rows(session, port) for port in self.script.ports},
            self.script.spec,
            even_shards(self.script.options.get("shards", 1)),
            clocks="control",
            live=True,
        )
        notes = (
            session.readStream.schema("value STRING")
            .option("maxFilesPerTrigger", 1)
            .text(str(self.scratch / "notes"))
        )
        packed = dataflow.packed(late_wanted=True, all_columns=True).union(dataflow.controlled(notes))
        tagged = dataflow.stepped(packed, dataflow.schemas(all_columns=True))
        writer = tagged.writeStream.foreachBatch(self._collect).option(
            "checkpointLocation", str(self.scratch / "checkpoint")
        )
        return writer.start()

    def _rows(self, session: SparkSession, port: str) -> DataFrame:
        """Returns the rows of a port as a stream. Every query needs a watermark; this one never moves."""
        reader = session.readStream.schema(spark_columns(self.script, port)).option("maxFilesPerTrigger", 1)
        rows = reader.parquet(str(self.scratch / port))
        constant = rows.withColumn("clockless", F.timestamp_seconds(F.lit(0)))
        return constant.withWatermark("clockless", "0 seconds").drop("clockless")

    def _collect(self, tagged: DataFrame, _: int) -> None:
        self.emitted += [(row.kind, bytes(row.payload)) for row in tagged.collect()]
        while self.next_batch:
            written, place = self.next_batch.pop()
            written.rename(place)

    def after(self, event: Event, batch: Batch) -> dict[str, Any]:
        """Plays one event; returns the output of the query."""
        assert self.query is not None
        self.emitted.clear()
        if event.op in ("restart", "change"):
            self.query.stop()
            if event.marked is not None:
                self.script = replace(self.script, spec=event.marked)
            self.query = self._start()
        if event.op != "restart":
            self._put(event)
        self.query.processAllAvailable()
        output = output_of(self.emitted, batch, self.script)
        return output | ({"windows": self.live.after(self.emitted)} if self.script.windows else {})

    def _put(self, event: Event) -> None:
        """Writes the event as an input file, or as one for each input that it has rows of.

        A file is written elsewhere and then renamed, so that the query never reads an incomplete file. Files
        of several inputs are renamed while the query runs a micro-batch with an empty note. So the next
        micro-batch finds all of them.
        """
        self.files += 1
        name = f"{self.files:06}"
        for port, rows in event.rows.items():
            written = self.scratch / f"{name}-{port}"
            pq.write_table(arrow_rows(self.script, port, rows, self.clock), written)
            self.next_batch.append((written, self.scratch / port / f"{name}.parquet"))
        if len(event.rows) == 1:
            written, place = self.next_batch.pop()
            written.rename(place)
            return
        self.clock = max(self.clock, (event.to or 0) if event.op == "clock" else 0)
        (self.scratch / name).write_text(note_of(event))
        (self.scratch / name).rename(self.scratch / "notes" / f"{name}.txt")
