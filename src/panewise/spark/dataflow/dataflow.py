"""The dataflow of an operator, as a Spark plan: pack, shuffle, step, unpack."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import polars as pl
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.chrono import Duration
from panewise.engine.protocol import Schemas
from panewise.engine.registry import plan_for
from panewise.errors import SpecError
from panewise.spark.activity import SETTING, ActivitySettings
from panewise.spark.columns.schemas import column_names, schema_of
from panewise.spark.columns.types import polars_schema
from panewise.spark.dataflow.feeds import Feed, renamed_inputs, with_names
from panewise.spark.dataflow.initial_state import InitialState
from panewise.spark.dataflow.output_schemas import unpack_of, with_own_names
from panewise.spark.inputs.ancestry import label_of, operators_upstream, warn_of_late_rows
from panewise.spark.inputs.checks import check_column_types, check_distinct, check_free, own_columns, setting
from panewise.spark.inputs.clock_stream import clock_stream
from panewise.spark.inputs.watermarks import follows_query
from panewise.spark.metrics import observed, with_metrics, without_metrics
from panewise.spark.session.settings import CACHE, METRICS, MIRROR, PARTITIONS, STATE
from panewise.spark.session.worker_pool import one_worker_pool
from panewise.spark.shard_numbers import even_shards
from panewise.spark.shuffle import envelope
from panewise.spark.shuffle.reports import KIND, PROGRESS
from panewise.spark.workers.pack import NOW, Control, Pack, note
from panewise.spark.workers.processor import Processor
from panewise.spark.workers.processor_settings import Settings
from panewise.spark.workers.unpack import Unpack, UnpackWithReports
from panewise.spark.workers.whole_batch import whole_batch
from panewise.spec import Specification, parts
from panewise.spec.conditions.text import in_backticks
from panewise.spec.reserved_names import inner_names, renamed


@dataclass(frozen=True)
class Dataflow:
    """The dataflow of a specification over DataFrames.

    In `dfs` and `spec` no column of the user has a name that begins with `__`, as such names are for the
    columns that operators add (:mod:`panewise.spec.reserved_names`). The outputs have the user's names.

    Attributes:
        dfs: the input of each port.
        spec: the specification.
        shards: the numbers of the shards.
        clocks: as in :class:`Settings`.
        live: as in :class:`Settings`.
        default_shards: whether the number of shards is the default.
        clock: how often a clock stream wakes the shards. Default: there is no clock stream.
        clock_last: whether the clock stream is the last source of the query, as it was added later.
        output_names: by port as in :class:`panewise.spark.inputs.names.Input`. Default: all columns under
            their own names.
        metrics: the name of the observed metrics, empty for none.
        inner_name_of: by the user's names that begin with `__`, their names in `dfs` and `spec`.
        fed: the operators whose rows are inputs, by port.
        controls: the directory of control notes that end the input, None if there is none.
        initial_state: the state of another query with which this one began, None if it began without one.
    """

    dfs: Mapping[str, DataFrame]
    spec: Specification
    shards: list[int]
    clocks: str = "spark"
    live: bool = False
    default_shards: bool = False
    clock: Duration | None = None
    output_names: Mapping[str, Mapping[str, str]] | None = None
    metrics: str = ""
    inner_name_of: Mapping[str, str] = field(default_factory=dict)
    fed: "Mapping[str, Feed[Dataflow]]" = field(default_factory=dict)
    controls: str | None = None
    initial_state: InitialState | None = None
    clock_last: bool = False

    @classmethod
    def from_inputs(
        cls,
        dfs: Mapping[str, DataFrame],
        spec: Specification,
        shards: int | None,
        clock: Duration | None = None,
        output_names: Mapping[str, Mapping[str, str]] | None = None,
        fed: "Mapping[str, Feed[Dataflow]] | None" = None,
    ) -> "Dataflow":
        """Returns the dataflow of a specification over inputs, both with the user's names.

        By default there is a shard for each shuffle partition, or one if all keys are combined.
        """
        feeds = fed or {}
        columns = {port: own_columns(df) if port in feeds else column_names(df) for port, df in dfs.items()}
        inner = inner_names([name for names in columns.values() for name in names], spec)
        check_free(inner)
        if inner:
            dfs, feeds = renamed_inputs(dfs, feeds, inner)
            spec = renamed(spec, inner)
            output_names = with_names(output_names, inner)
        df = next(iter(dfs.values()))
        return cls(
            dfs,
            spec,
            _shard_numbers(df, spec, shards),
            default_shards=shards is None,
            clock=clock,
            output_names=output_names,
            metrics=setting(df, METRICS, "panewise"),
            inner_name_of=inner,
            fed=feeds,
        )

    def with_spec(self, spec: Specification) -> "Dataflow":
        """Returns the dataflow of another specification, with the user's names, over the same inputs."""
        restored = {own: name for name, own in self.inner_name_of.items()}
        dfs, fed = renamed_inputs(self.dfs, self.fed, restored) if restored else (self.dfs, self.fed)
        check_column_types(dfs, spec)
        shards = None if self.default_shards else len(self.shards)
        names = with_names(self.output_names, restored)
        return Dataflow.from_inputs(dfs, spec, shards, self.clock, names, fed)

    @property
    def operators(self) -> "list[Dataflow]":
        """This operator and those before it, in the order in which Spark numbers them."""
        feeds = [self.fed[port] for port in self.dfs if port in self.fed]
        return [self, *(operator for feed in feeds for operator in feed.first.operators)]

    def starting_with(self, state: InitialState | None) -> "Dataflow":
        """Returns the dataflow that begins with a state."""
        return replace(self, initial_state=state)

    def writing(self, outputs: dict[int, dict[str, str]], controls: str | None) -> "Dataflow":
        """Returns the dataflow whose inputs also carry outputs of earlier operators (semantics 42.9).

        The earlier operators begin with their parts of the initial state, if this one has one.

        Args:
            outputs: the argument `written` of :meth:`as_input` for each earlier operator, by the `id` of its
                dataflow. An entry is removed when it is used, so that a result that is an input twice is
                written once.
            controls: as in the class, for this operator and, if it is given, all earlier ones.
        """
        dfs, fed, initial = {**self.dfs}, {**self.fed}, self.initial_state
        place = 1 if initial is None else initial.place + 1
        for port in (port for port in self.dfs if port in self.fed):
            feed = self.fed[port]
            written = outputs.pop(id(feed.first), {})
            if written or outputs or controls is not None or initial is not None:
                own = None if initial is None else replace(initial, place=place)
                first = feed.first.starting_with(own).writing(outputs, controls)
                fed[port] = replace(feed, first=first)
                dfs[port] = fed_rows(fed[port], written)
            place += len(feed.first.operators)
        return replace(self, dfs=dfs, fed=fed, controls=controls)

    @property
    def df(self) -> DataFrame:
        """The input of the first port."""
        return next(iter(self.dfs.values()))

    @property
    def static(self) -> tuple[str, ...]:
        """The ports whose inputs are batch DataFrames next to a stream (semantics 36.8)."""
        return tuple(port for port, df in self.dfs.items() if self.df.isStreaming and not df.isStreaming)

    @property
    def _query_ports(self) -> tuple[str, ...]:
        """The ports whose watermark is that of the query."""
        others = {*self.fed, *self.static}
        return tuple(port for port in self.dfs if port not in others and follows_query(self.spec, port))

    def with_shards_of_checkpoint(self, shards: int) -> "Dataflow":
        """Returns the dataflow with the number of shards of a checkpoint, unless a number was given."""
        return replace(self, shards=even_shards(shards)) if self.default_shards else self

    def _columns(self, port: str, *, all_columns: bool) -> tuple[str, ...]:
        """Returns the columns that enter the operator: all if they are needed, else those that are read.

        There is at least one column, because rows without columns would be lost.
        """
        df, entry = self.dfs[port], self.spec.ports[port]
        if all_columns or entry.whole_rows:
            return tuple(name for name in own_columns(df) if name != NOW)
        return entry.columns_read or tuple(own_columns(df)[:1])

    def packed(self, *, late_wanted: bool, all_columns: bool) -> DataFrame:
        """Returns the inputs, and the clock stream if there is one, as envelopes.

        Args:
            late_wanted: whether the late rows are an output. Rows are then not pre-aggregated.
            all_columns: whether whole rows are needed. Otherwise only the columns that the operator reads are
                read.
        """
        if late_wanted:
            for port in {*self.dfs} - {*self.fed}:
                warn_of_late_rows(self.dfs[port], "the late rows of a stream")
        schemas = self.schemas(all_columns=all_columns)
        packed = [
            self._packed(port, schemas, late_wanted=late_wanted, all_columns=all_columns)
            for port in self.dfs
            if port not in self.static
        ]
        more = [self._clock_stream(), self._notes()]
        packed += [stream for stream in (reversed(more) if self.clock_last else more) if stream is not None]
        return reduce(DataFrame.union, packed)

    def _clock_stream(self) -> DataFrame | None:
        if self.clock is None:
            return None
        return self.controlled(clock_stream(self.df.sparkSession, self.clock))

    def _notes(self) -> DataFrame | None:
        if self.controls is None:
            return None
        return self.controlled(self.df.sparkSession.readStream.schema("value STRING").text(self.controls))

    def _packed(
        self, port: str, schemas: dict[str, dict[str, pl.DataType]], *, late_wanted: bool, all_columns: bool
    ) -> DataFrame:
        """Returns the input of a port as envelopes."""
        whole, entry = self.dfs[port], self.spec.ports[port]
        columns = self._columns(port, all_columns=all_columns)
        more = [PROGRESS] if port in self.fed else []
        if entry.max_future_skew is not None:
            more = [NOW, *more]
            whole = whole if NOW in column_names(whole) else whole.withColumn(NOW, F.current_timestamp())
        wanted = [*columns, *more]
        df = whole if wanted == column_names(whole) else whole.selectExpr(*map(in_backticks, wanted))
        plain = all(name.isidentifier() for name in wanted)
        # mapInArrow takes a dot in a name for a field of a struct.
        df = df if plain else df.toDF(*(f"column_{n}" for n in range(len(wanted))))
        label = label_of(whole, entry, list(self.dfs).index(port), len(self.dfs), fed=port in self.fed)
        strict = port in self.static
        pack = Pack(self.spec, schemas, self.shards, late_wanted, port, not plain, tuple(more), label, strict)
        return df.mapInArrow(pack, envelope.IN)

    def controlled(self, notes: DataFrame) -> DataFrame:
        """Returns control notes (one STRING column of JSON) as envelopes."""
        return notes.mapInArrow(Control(self.shards), envelope.IN)

    def as_input(self, others: int, written: Mapping[str, str]) -> DataFrame:
        """Returns the emitted rows of a stream and envelopes, for a second operator.

        The envelopes are the reports of the shards, and outputs that the query writes.

        Args:
            others: the number of operators upstream of other inputs of the second one, as the metrics of all
                operators of a query have different names.
            written: the kinds of outputs of this operator that the query writes, with their numbered kinds.
        """
        kinds = set(map(envelope.kind_of, written))
        whole_rows, late_wanted = bool({"late", "invalid"} & kinds), "late" in kinds
        packed = self.packed(late_wanted=late_wanted, all_columns=whole_rows)
        unpack = UnpackWithReports(self.unpacker("panes", all_columns=whole_rows), written)
        schemas = self.schemas(all_columns=whole_rows)
        stepped = self.stepped(packed, schemas, reports=True, others=others)
        carried = F.col("kind").contains("/")
        wanted = stepped.where(F.col("kind").isin("panes", KIND, *written) | carried)
        return wanted.select("kind", "payload").mapInArrow(unpack, unpack.target)

    def stepped(
        self,
        packed: DataFrame,
        schemas: dict[str, dict[str, pl.DataType]],
        direct: Unpack | None = None,
        *,
        reports: bool = False,
        others: int = 0,
        selected: bool = False,
    ) -> DataFrame:
        """Returns the output of the operator for these envelopes.

        The output is envelopes or, on a stream with `direct`, the real columns of one kind of output. On a
        stream the metrics are observed here. Envelopes keep the metrics column, and so do real
        columns that are `selected` later.
        """
        if not packed.isStreaming:
            if parts(self.spec).one_shard(self.spec) is not None:
                # Only an operator in one shard may emit something without rows. It gets the end of input.
                ends = packed.sparkSession.createDataFrame([(note(finish=1),)], "note STRING")
                packed = packed.union(self.controlled(ends))
            run = whole_batch(self.spec, schemas, time.time_ns() // 1000)
            return packed.groupBy("shard").applyInArrow(run, envelope.OUT)
        settings = self._settings(packed, schemas, direct, reports=reports)
        target = envelope.OUT if direct is None else direct.target
        shards, initial = envelope.used_once(packed).groupBy("shard"), self._initial(schemas)
        with one_worker_pool(packed.sparkSession):
            stepped = shards.transformWithStateInPandas(
                Processor(settings), with_metrics(target), "Append", "EventTime", initial
            )
        stepped = observed(stepped, self._metrics_name(others), activity=settings.activity is not None)
        return stepped if direct is None else without_metrics(stepped, drop=not selected)

    def _settings(
        self,
        packed: DataFrame,
        schemas: dict[str, dict[str, pl.DataType]],
        direct: Unpack | None,
        *,
        reports: bool,
    ) -> Settings:
        """Returns the settings of the processor."""
        return Settings(
            self.spec,
            schemas,
            len(self.shards),
            clocks=self.clocks,
            live=self.live,
            direct=direct,
            cache_mb=int(setting(packed, CACHE, "1024")),
            mirror_mb=int(setting(packed, MIRROR, "4096")),
            state_mb=int(setting(packed, STATE, "0")),
            reports=reports,
            fed={port: tuple(feed.first.shards) for port, feed in self.fed.items()},
            static=self.static,
            query_ports=self._query_ports,
            imports=self.initial_state is not None,
            least_watermark=None if self.initial_state is None else self.initial_state.watermark,
            activity=self._activity(setting(packed, SETTING, ""), schemas),
        )

    def _initial(self, schemas: dict[str, dict[str, pl.DataType]]) -> GroupedData | None:
        """Returns the initial state of the shards, None if there is none.

        It is the state of another query, which has the rows of its static sides, or the rows of static sides.
        """
        if self.initial_state is not None:
            return self.initial_state.rows(self.df.sparkSession).groupBy("shard")
        packed = [self._packed(port, schemas, late_wanted=True, all_columns=False) for port in self.static]
        if not packed:
            return None
        return reduce(DataFrame.union, packed).where(F.col("kind").startswith("rows")).groupBy("shard")

    def _activity(self, keys: str, schemas: Schemas) -> ActivitySettings | None:
        """Returns how the steps read their activity; None without a journal, or without metrics."""
        if not keys or not self.metrics:
            return None
        panes = plan_for(self.spec, schemas).pane_schema
        return ActivitySettings.for_spec(self.spec, int(keys), len(self.shards), panes)

    def _metrics_name(self, others: int = 0) -> str:
        """Returns the name of the metrics.

        That of the second operator of a query ends in _2, because Spark refuses equal names.
        """
        upstream = others + sum(map(operators_upstream, self.dfs.values())) if self.metrics else 0
        return f"{self.metrics}_{upstream + 1}" if upstream else self.metrics

    def unpacker(self, kind: str, *, all_columns: bool) -> Unpack:
        """Returns the function that turns one kind of envelopes into real columns."""
        inputs = self.inputs(all_columns=all_columns)
        panes = plan_for(self.spec, self.schemas(all_columns=all_columns)).pane_schema
        output_names = {
            port: {name: name for name in columns.names}
            if self.output_names is None
            else {own: name for own, name in self.output_names[port].items() if own in columns.names}
            for port, columns in inputs.items()
        }
        unpack = unpack_of(kind, self.spec, panes, inputs, output_names)
        unpack = with_own_names(unpack, self.inner_name_of, self.spec, inputs)
        check_distinct(self.df, unpack.target.names)
        return unpack

    def inputs(self, *, all_columns: bool) -> dict[str, StructType]:
        """Returns the columns of the rows that enter the operator, by port."""
        return {
            port: StructType([schema_of(df)[name] for name in self._columns(port, all_columns=all_columns)])
            for port, df in self.dfs.items()
        }

    def schemas(self, *, all_columns: bool) -> dict[str, dict[str, pl.DataType]]:
        """Returns the same columns with their types in the engine."""
        inputs = self.inputs(all_columns=all_columns)
        return {port: polars_schema(schema) for port, schema in inputs.items()}


def fed_rows(feed: Feed[Dataflow], written: Mapping[str, str]) -> DataFrame:
    """Returns an input. `written` are the outputs that the query writes, each with its numbered kind."""
    return feed.shape(feed.first.as_input(feed.others, written))


def _shard_numbers(df: DataFrame, spec: Specification, shards: int | None) -> list[int]:
    """Returns the numbers of the given number of shards, or of the default number."""
    one_shard = parts(spec).one_shard(spec)
    if one_shard is not None and shards is not None and shards > 1:
        raise SpecError(f"shards={shards}", *one_shard)
    default = int(setting(df, PARTITIONS, "200")) if one_shard is None else 1
    return even_shards(default if shards is None else shards)
