"""Plays events in a streaming query on Spark; every event except a restart is one micro-batch.

Rows are read from Parquet files. Watermarks, clock readings and the end of input are read from text files of
control notes. A restart stops the query and starts it again from its checkpoint. Watermark and processing
time come from the notes alone, so that the script determines them. Everything else is as in a user's query.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from panewise.errors import InputError
from panewise.spark.dataflow import Dataflow, note
from panewise.spark.envelope import decode
from panewise.spark.pack import NOW
from panewise.spark.settings import configure
from panewise.spark.shards import even_shards
from panewise.spark.types import polars_schema, spark_schema
from panewise.testing.columns import Row
from panewise.testing.events import OF_POLICIES, Event, Script
from panewise.testing.ingest import FLAGS, ROW, frame, schema
from panewise.testing.runtimes.engine import COUNTS, late_entry


def play(script: Script) -> list[dict[str, Any]]:
    """Returns the output of the query after each event.

    The option `shards` is the number of shards, by default 1. With several shards, Spark determines the order
    of rows of different shards.

    Raises:
        InputError: for an unknown option, and for an op that Spark does not have (semantics 10.24).
    """
    unknown = set(script.options) - {"shards"}
    if unknown:
        raise InputError(
            f"options={sorted(unknown)}", "this runtime has one option: shards", "leave them out"
        )
    for event in script.events:
        if event.op in OF_POLICIES:
            rule = "on Spark state is in the query's checkpoint, and a restart is the reset (semantics 10.24)"
            raise InputError(f"op {event.op!r}", rule, "use another runtime, or restart")
    with tempfile.TemporaryDirectory(prefix="panewise-") as scratch:
        stage = _Stage(script, Path(scratch))
        with stage.running():
            return [
                stage.after(event, given) for event, given in zip(script.events, script.given, strict=True)
            ]


def _session() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2")
    return configure(builder.config("spark.ui.enabled", "false").getOrCreate(), local_checkpoints=True)


@dataclass
class _Stage:
    """A query with its directories and outputs.

    Attributes:
        script: the script that is played.
        scratch: the directory of the query's input files and its checkpoint.
        sent: the envelopes that the query emitted since the last event, each as (kind, payload).
        held: the stored windows of each shard, as the shard last reported them.
        files: the number of input files written so far.
        clock: the processing time.
        query: the running query.
    """

    script: Script
    scratch: Path
    sent: list[tuple[str, bytes]] = field(default_factory=list)
    held: dict[int, pl.DataFrame] = field(default_factory=dict)
    files: int = 0
    clock: int = 0
    query: StreamingQuery | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "notes"):
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
        session, spec = _session(), self.script.first
        instants = (*spec.time_columns, NOW)
        columns = {
            name: pl.Datetime("us", "UTC") if name in instants else dtype
            for name, dtype in self._columns().items()
        }
        rows = (
            session.readStream.schema(spark_schema(columns))
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.scratch / "rows"))
        )
        # The query needs a watermark; the one of this constant column never moves.
        watched = (
            rows.withColumn("clockless", F.timestamp_seconds(F.lit(0)))
            .withWatermark("clockless", "0 seconds")
            .drop("clockless")
        )
        plumbing = Dataflow(
            watched,
            self.script.spec,
            even_shards(self.script.options.get("shards", 1)),
            clocks="control",
            held=True,
        )
        notes = (
            session.readStream.schema("value STRING")
            .option("maxFilesPerTrigger", 1)
            .text(str(self.scratch / "notes"))
        )
        packed = plumbing.packed(late_wanted=True, all_columns=True).union(plumbing.controlled(notes))
        tagged = plumbing.stepped(packed, polars_schema(plumbing.inputs(all_columns=True)))
        writer = tagged.writeStream.foreachBatch(self._collect).option(
            "checkpointLocation", str(self.scratch / "checkpoint")
        )
        return writer.start()

    def _columns(self) -> dict[str, pl.DataType]:
        """Returns the columns of the Parquet files.

        With `max_future_skew` each row also carries the script's processing time, for its validation.
        """
        now = {} if self.script.first.max_future_skew is None else {NOW: pl.Int64()}
        return schema(self.script.types) | FLAGS | now

    def _collect(self, tagged: DataFrame, _: int) -> None:
        self.sent += [(row.kind, bytes(row.payload)) for row in tagged.collect()]

    def after(self, event: Event, given: Sequence[Row]) -> dict[str, Any]:
        """Plays one event; returns the output of the query."""
        assert self.query is not None
        self.sent.clear()
        if event.op == "restart":
            self.query.stop()
            self.query = self._start()
        else:
            self._put(event)
        self.query.processAllAvailable()
        output = self._output(given)
        return output | ({"windows": self._windows()} if self.script.windows else {})

    def _put(self, event: Event) -> None:
        """Writes the event as an input file.

        The file is written elsewhere and then renamed, so that the query never reads an incomplete file.
        """
        self.files += 1
        name = f"{self.files:06}"
        if event.op == "add":
            rows = frame(self.script.first, self.script.types, event.rows)
            now = pl.lit(self.clock, dtype=pl.Int64).alias(NOW)
            timed = rows if NOW not in self._columns() else rows.with_columns(now)
            instants = [name for name in (*self.script.first.time_columns, NOW) if name in timed.columns]
            whole = timed.with_columns(pl.col(instants).cast(pl.Datetime("us", "UTC")))
            whole.write_parquet(self.scratch / name)
            (self.scratch / name).rename(self.scratch / "rows" / f"{name}.parquet")
            return
        source = {} if event.source is None else {"input": event.source}
        self.clock = max(self.clock, (event.to or 0) if event.op == "clock" else 0)
        texts = {
            "watermark": note(watermark=event.to or 0, **source),
            "clock": note(clock=event.to or 0),
            "finish": note(finish=1),
        }
        (self.scratch / name).write_text(texts[event.op])
        (self.scratch / name).rename(self.scratch / "notes" / f"{name}.txt")

    def _frames(self, kind: str) -> list[dict[str, Any]]:
        return [
            row for sent, payload in self.sent if sent == kind for row in _counted(decode(payload)).to_dicts()
        ]

    def _output(self, given: Sequence[Row]) -> dict[str, Any]:
        lines = self._frames("counts")
        return {
            "panes": self._frames("panes"),
            "late": [late_entry(entry, given) for entry in self._frames("late")],
            "invalid": [
                {"row": dict(given[entry[ROW]]), "reason": entry["__reason"]}
                for entry in self._frames("invalid")
            ],
            "counts": {name: sum(line[name] for line in lines) for name in COUNTS},
        }

    def _windows(self) -> list[dict[str, Any]]:
        """Returns the stored windows of all shards, in the order of end, start and keys."""
        for kind, payload in self.sent:
            if kind == "held":
                told = decode(payload)
                self.held[int(told["shard"][0])] = told
        rows = [
            row
            for told in self.held.values()
            for row in told.drop("shard").to_dicts()
            if row["pending"] is not None
        ]
        keys = self.script.first.keys
        order = lambda row: [(row[n] is not None, row[n]) for n in ("window_end", "window_start", *keys)]  # noqa: E731
        return sorted(rows, key=order)


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the DataFrame with instants as microseconds, as in the other runtimes.

    On Spark event times are timestamps, and some of them are out of the range of Python's datetime.
    """
    return frame.cast(
        {name: _counted_type(dtype) for name, dtype in frame.schema.items() if _counted_type(dtype) != dtype}
    )


def _counted_type(dtype: Any) -> Any:
    match dtype:
        case pl.Datetime():
            return pl.Int64()
        case pl.List():
            return pl.List(_counted_type(dtype.inner))
        case pl.Struct():
            return pl.Struct({field.name: _counted_type(field.dtype) for field in dtype.fields})
    return dtype
