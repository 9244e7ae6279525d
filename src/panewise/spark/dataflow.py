"""The dataflow of an operator, as a Spark plan: pack, shuffle, step, unpack."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.chrono import Duration
from panewise.engine.ingest.output import Output
from panewise.engine.registry import operator_for
from panewise.errors import SpecError
from panewise.spark import envelope
from panewise.spark.ancestry import label_of, operators_behind
from panewise.spark.checks import setting
from panewise.spark.clock_stream import clock_stream
from panewise.spark.metrics import observed, with_metrics, without_metrics
from panewise.spark.names import quoted
from panewise.spark.own_names import with_own_names
from panewise.spark.pack import NOW, Control, Pack
from panewise.spark.processor import Processor, Settings
from panewise.spark.settings import CACHE, METRICS, MIRROR, PARTITIONS
from panewise.spark.shards import even_shards
from panewise.spark.step import ShardBatch, envelopes, step
from panewise.spark.types import polars_schema
from panewise.spark.unpack import Unpack, target_schema, written
from panewise.spark.worker import short_errors
from panewise.spec import (
    Chain,
    Specification,
    StreamWindow,
    WindowOperator,
    counted,
    first_of,
    merging,
    row_driven,
    takes_whole_rows,
)

KINDS = ("panes", "late", "invalid", "counts")


@dataclass(frozen=True)
class Dataflow:
    """The dataflow of a specification over a DataFrame.

    Attributes:
        df: the input.
        spec: the specification.
        shards: the numbers of the shards.
        clocks: as in :class:`Settings`.
        held: as in :class:`Settings`.
        default_shards: whether the number of shards is the default.
        clock: how often a clock stream wakes the shards. Default: there is no clock stream.
        shown: as in :class:`panewise.spark.names.Input`. Default: all columns under their own names.
        metrics: the name of the observed metrics, empty for none.
        inner: the user's names that begin with `__`, with their names in `df` and `spec`.
    """

    df: DataFrame
    spec: Specification
    shards: list[int]
    clocks: str = "spark"
    held: bool = False
    default_shards: bool = False
    clock: Duration | None = None
    shown: Mapping[str, str] | None = None
    metrics: str = ""
    inner: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        df: DataFrame,
        spec: Specification,
        shards: int | None,
        clock: Duration | None = None,
        shown: Mapping[str, str] | None = None,
    ) -> "Dataflow":
        """Returns the dataflow, with numbers for its shards.

        By default there is a shard for each shuffle partition, or one if rows or panes of all keys meet.

        Raises:
            SpecError: if rows or panes of all keys meet, and `shards` is above 1.
        """
        partitions = int(setting(df, PARTITIONS, "200"))
        meeting = _meeting(spec)
        if meeting is not None:
            partitions = 1
            if shards is not None and shards > 1:
                raise SpecError(f"shards={shards}", *meeting)
        numbers = even_shards(partitions if shards is None else shards)
        metrics = setting(df, METRICS, "panewise")
        return cls(
            df, spec, numbers, default_shards=shards is None, clock=clock, shown=shown, metrics=metrics
        )

    def known_as(self, shards: int) -> "Dataflow":
        """Returns the dataflow with the number of shards of a checkpoint, unless a number was given."""
        return replace(self, shards=even_shards(shards)) if self.default_shards else self

    def _read(self, *, all_columns: bool) -> DataFrame:
        """Returns the input: whole rows if they are needed, else only the columns that the operator reads.

        It has at least one column, because rows without columns would be lost.
        """
        whole = all_columns or takes_whole_rows(self.spec)
        return (
            self.df.drop(NOW)
            if whole
            else self.df.select(*map(quoted, self.spec.columns_read or self.df.columns[:1]))
        )

    def packed(self, *, late_wanted: bool, all_columns: bool) -> DataFrame:
        """Returns the input, and the clock stream if there is one, as envelopes.

        Args:
            late_wanted: whether the late rows are an output. Rows are then not pre-aggregated.
            all_columns: whether whole rows are needed. Otherwise only the columns that the operator reads are
                read.
        """
        df = self._read(all_columns=all_columns)
        schema = polars_schema(df.schema)
        first = first_of(self.spec)
        if first.max_future_skew is not None:
            timed = self.df if NOW in self.df.columns else self.df.withColumn(NOW, F.current_timestamp())
            df = timed.select(*map(quoted, df.columns), NOW)
        by = self.spec.shared_keys if isinstance(self.spec, Chain) else ()
        plain = all(name.isidentifier() for name in df.columns)
        # mapInArrow takes a dot in a name for a field of a struct.
        df = df if plain else df.toDF(*(f"column_{n}" for n in range(len(df.columns))))
        pack = Pack(
            first, schema, self.shards, late_wanted, by, by_place=not plain, label=label_of(self.df, first)
        )
        packed = df.mapInArrow(pack, envelope.IN)
        return (
            packed
            if self.clock is None
            else packed.union(self.controlled(clock_stream(df.sparkSession, self.clock)))
        )

    def controlled(self, notes: DataFrame) -> DataFrame:
        """Returns control notes (one STRING column of JSON) as envelopes."""
        return notes.mapInArrow(Control(self.shards), envelope.IN)

    def stepped(
        self, packed: DataFrame, schema: dict[str, pl.DataType], direct: Unpack | None = None
    ) -> DataFrame:
        """Returns the output of the operator for these envelopes.

        The output is envelopes or, on a stream with `direct`, the real columns of one kind of output. On a
        stream the metrics are observed here. Envelopes keep the metrics column.
        """
        if not packed.isStreaming:
            # Without partition_by there is one partition, even if there are no rows (semantics 10.12).
            if isinstance(self.spec, StreamWindow) and not self.spec.partition_by:
                packed = packed.union(
                    self.controlled(packed.sparkSession.createDataFrame([(note(finish=1),)], "note STRING"))
                )
            return packed.groupBy("shard").applyInArrow(
                _whole_batch(self.spec, schema, time.time_ns() // 1000), envelope.OUT
            )
        cache, mirror = (
            int(setting(packed, name, default)) for name, default in ((CACHE, "1024"), (MIRROR, "4096"))
        )
        settings = Settings(
            self.spec, schema, len(self.shards), self.clocks, self.held, direct, cache, mirror
        )
        target = envelope.OUT if direct is None else direct.target
        stepped = packed.groupBy("shard").transformWithStateInPandas(
            Processor(settings), with_metrics(target), "Append", "EventTime"
        )
        stepped = observed(stepped, self._metrics_name())
        return stepped if direct is None else without_metrics(stepped)

    def _metrics_name(self) -> str:
        """Returns the name of the metrics.

        That of the second operator of a query ends in _2, because Spark refuses equal names.
        """
        behind = operators_behind(self.df) if self.metrics else 0
        return f"{self.metrics}_{behind + 1}" if behind else self.metrics

    def unpacker(self, kind: str, *, all_columns: bool) -> Unpack:
        """Returns the function that turns one kind of envelopes into real columns."""
        inputs = self.inputs(all_columns=all_columns)
        panes = operator_for(self.spec, polars_schema(inputs)).pane_schema
        known = {name: name for name in inputs.names} if self.shown is None else self.shown
        shown = {own: name for own, name in known.items() if own in inputs.names}
        target = target_schema(kind, self.spec, panes, inputs, shown)
        if kind == "panes":
            shown = dict(zip(written(self.spec, panes, inputs, shown), target.names, strict=True))
        return with_own_names(Unpack(kind, target, shown), self.inner)

    def inputs(self, *, all_columns: bool) -> StructType:
        """Returns the schema of the rows that enter the operator."""
        return self._read(all_columns=all_columns).schema


def _meeting(spec: Specification) -> tuple[str, str] | None:
    """Returns why only one shard is possible, and a remedy; None if several are possible."""
    first = first_of(spec)
    if (
        isinstance(first, WindowOperator)
        and row_driven(first.watermark) is not None
        and first.evaluate == "record"
    ):
        rule = (
            "a row that tells the watermark of its input is followed by the next of all keys, which "
            "meet in one shard (semantics 12.9)"
        )
        return rule, "leave shards out, or use evaluate='batch'"
    if isinstance(spec, Chain) and not spec.shared_keys:
        rule = "all panes of a chain without a key that every stage keeps meet in one shard (semantics 30.11)"
        return rule, "leave shards out, or keep a key of the operator through all stages"
    if counted(first.window) and merging(first.window):
        rule = (
            "a session that ends after n rows of other keys counts the rows of all keys, which meet "
            "in one shard (semantics 9.7)"
        )
        return rule, "leave shards out, or use a session that time ends"
    if isinstance(spec, StreamWindow) and spec.one_place is not None:
        return (
            f"{spec.one_place}: what concerns all partitions is in one shard (semantics 10.25)",
            "leave shards out",
        )
    return None


def unpacked(tagged: DataFrame, unpack: Unpack) -> DataFrame:
    """Returns one kind of output in real columns."""
    return tagged.where(F.col("kind") == unpack.kind).select("payload").mapInArrow(unpack, unpack.target)


def _whole_batch(
    spec: Specification, schema: dict[str, pl.DataType], now: int
) -> Callable[[Any, pa.Table], pa.Table]:
    """Returns the function that runs a shard of a batch DataFrame.

    All rows arrive in one batch at the processing time `now`, and then the input ends.
    """

    def run(key: Any, table: pa.Table) -> pa.Table:
        with short_errors():
            return of_shard(key, table)

    def of_shard(key: Any, table: pa.Table) -> pa.Table:
        shard_batch = ShardBatch.read(
            zip(table.column("kind").to_pylist(), table.column("payload").to_pylist(), strict=True)
        )
        shard_batch.control["finish"] = 1
        output = Output.joined(list(step(operator_for(spec, schema), shard_batch, now, None)))
        sent = list(envelopes(output, int(key[0].as_py()), now, None))
        kinds, payloads = zip(*sent, strict=True) if sent else ((), ())
        return pa.table({"kind": pa.array(kinds, pa.string()), "payload": pa.array(payloads, pa.binary())})

    return run


def note(**values: int | str) -> str:
    """Returns a control note as JSON. With several inputs, a watermark comes with the name of its `input`."""
    return json.dumps(values)
