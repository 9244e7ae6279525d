"""Runs a script of SQL in a session: one query for each INSERT INTO (semantics 46.40)."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.errors import PanewiseError, SqlError
from panewise.spark.builders.upstream_inputs import frame_of
from panewise.spark.queries.query import Done, WindowQuery
from panewise.spark.results.operator_result import OperatorResult, kinds_of, output_of
from panewise.spark.session.failures import QueryError
from panewise.spark.session.settings import PARTITIONS, configure
from panewise.spark.session.standard_error import log_to
from panewise.spark.sinks.base import Sink
from panewise.spark.streaming_sql.streaming_sql import in_session
from panewise.spark.streaming_sql.table_sinks import READABLE, FileSink, sink_of
from panewise.spark.streaming_sql.table_sources import source_of
from panewise.sql.application import (
    OWN_SETTINGS,
    Application,
    InsertStep,
    SettingStep,
    ShowStep,
    SinkStep,
    SourceStep,
    SparkStep,
    Step,
    ViewStep,
    no_outputs,
)
from panewise.sql.recognize import tables_named
from panewise.sql.syntax import TextSpan


@dataclass
class ScriptRun:
    """A script that runs.

    Args:
        session: the session.
        application: the checked script.
        wait: is called with the queries that run, and returns when they have ended. It is called before rows
            are printed.

    Attributes:
        queries: the queries by the name of their table.
    """

    session: SparkSession
    application: Application
    wait: Callable[[Mapping[str, WindowQuery]], None]
    queries: dict[str, WindowQuery] = field(default_factory=dict)
    _results: dict[str, Any] = field(default_factory=dict)
    _sinks: dict[str, tuple[Sink, StructType | None]] = field(default_factory=dict)

    def start(self) -> None:
        """Runs all statements, in their order. Queries over streams go on afterwards.

        Raises:
            SqlError: if Spark or an operator refuses a statement, or a checkpoint is that of another query.
                The error names the place in the script.
            QueryError: if a query fails while another statement waits for its rows.
        """
        for step in self.application.steps:
            self._checked(step.statement.span, partial(self._step, step))

    def stop(self) -> None:
        """Stops the queries. A later run of the script continues from their checkpoints."""
        for query in self.queries.values():
            query.stop()

    def _checked(self, span: TextSpan, work: Callable[[], None]) -> None:
        """Calls `work`; its errors get their place in the script."""
        script = self.application.script
        try:
            work()
        except SqlError as error:
            raise script.placed(error, span) from error
        except PanewiseError as error:
            raise script.placed(SqlError(error.given, error.rule, error.remedy), span) from error
        except QueryError:
            raise
        except PySparkException as error:
            said = str(error).strip().split("\n", 1)[0]
            refused = SqlError(said, "a statement is one that Spark runs", "correct it")
            raise script.placed(refused, span) from error

    def _step(self, step: Step) -> None:
        match step:
            case SettingStep(statement):
                if statement.key.lower() not in OWN_SETTINGS:
                    self._set(statement.key, statement.value)
            case SourceStep(statement):
                source_of(self.session, step).createOrReplaceTempView(statement.name)
            case ViewStep(statement):
                self._name(statement.name, self._query(statement.query))
            case InsertStep():
                self._insert(step)
            case ShowStep(statement):
                self._rows(statement.query).show(truncate=False)
            case SparkStep(statement):
                self.session.sql(self.application.script.characters(statement.span))
            case SinkStep():
                pass

    def _set(self, key: str, value: str) -> None:
        """Makes a setting. Those that a session has from its start have been given to its builder."""
        if self.session.conf.get(key, None) != value:
            self.session.conf.set(key, value)

    def _name(self, name: str, source: Any) -> None:
        if isinstance(source, DataFrame):
            source.createOrReplaceTempView(name)
        else:
            self._results[name] = source

    def _query(self, span: TextSpan) -> Any:
        """Returns the DataFrame or the result of a query, once the tables that it reads are written."""
        text = self.application.script.query(span)
        names = tables_named(text).keys()
        if written := names & self._sinks.keys():
            self.wait(self.queries)
            for name in written:
                sink, schema = self._sinks[name]
                self._read(name, sink, schema)
        tables = {name: source for name, source in self._results.items() if name.lower() in names}
        return in_session(self.session, text, tables)

    def _read(self, name: str, sink: Any, schema: StructType | None) -> None:
        if not isinstance(sink, READABLE):
            rule = "a table of this format is only written"
            raise SqlError(name, rule, "write its rows to files or to memory, too")
        sink.read(self.session, schema).createOrReplaceTempView(name)

    def _rows(self, span: TextSpan) -> DataFrame:
        return frame_of(self._query(span))

    def _insert(self, step: InsertStep) -> None:
        source = self._query(step.statement.query)
        tables: dict[str | None, SinkStep] = {None: step.sink}
        tables.update(step.outputs)
        if step.outputs and isinstance(source, DataFrame):
            raise SqlError(*no_outputs(step.outputs))
        # A batch has no numbers of micro-batches by which Delta could recognize what it has.
        batch = isinstance(source, DataFrame) and not source.isStreaming
        application = None if batch else step.checkpoint
        sinks = {output: sink_of(table, application) for output, table in tables.items()}
        schemas = _schemas(source, [*step.outputs])
        for output, table in tables.items():
            _check_width(table, schemas.get(output))
        name = step.statement.table.lower()
        if isinstance(source, DataFrame):
            self.queries[name] = _written(source, sinks[None], step)
        else:
            self.queries[name] = _started(source, sinks, step)
        for output, table in tables.items():
            self._sinks[table.statement.name.lower()] = sinks[output], schemas.get(output)


def _schemas(source: Any, outputs: list[str]) -> dict[str | None, StructType | None]:
    """Returns the columns of the rows of a query, and of its other outputs that are its own."""
    if isinstance(source, DataFrame):
        return {None: source.schema}
    open_ended = replace(source, at_end=False) if isinstance(source, OperatorResult) else source
    known: dict[str | None, StructType | None] = {None: frame_of(open_ended).schema}
    kinds = kinds_of(open_ended)
    for output in outputs:
        if output in kinds:
            known[output] = output_of(open_ended, kinds[output]).schema
    return known


def _check_width(table: SinkStep, schema: StructType | None) -> None:
    wanted = table.statement.columns
    if wanted is not None and schema is not None and len(wanted) != len(schema):
        names = [column.name for column in wanted]
        rule = f"the columns of a query are those of its table, in their order: {names}"
        raise SqlError(f"{len(schema)} columns {schema.names}", rule, "select as many")


def _started(result: Any, sinks: Mapping[str | None, Sink], step: InsertStep) -> WindowQuery:
    """Starts the query of an operator."""
    result = replace(result, at_end=step.at_end)
    named = {result.OUTPUT if output is None else output: sink for output, sink in sinks.items()}
    query: WindowQuery = result.write(
        named,
        checkpoint=step.checkpoint,
        available_now=step.trigger.available_now,
        processing_time=step.trigger.processing_time,
        name=step.statement.table,
    )
    return query


def _written(df: DataFrame, sink: Sink, step: InsertStep) -> WindowQuery:
    """Starts a query of Spark's alone. The rows of a batch are written before it returns."""
    if not df.isStreaming:
        sink(df, 0)
        return WindowQuery(Done(df), None)  # type: ignore[arg-type]
    if isinstance(sink, FileSink) and not sink.prepared(df.sparkSession):
        sink.prepare(df.sparkSession.createDataFrame([], df.schema))
    writer = df.writeStream.foreachBatch(sink).queryName(step.statement.table)
    writer = writer.option("checkpointLocation", str(step.checkpoint))
    trigger = step.trigger
    if trigger.available_now:
        writer = writer.trigger(availableNow=True)
    elif trigger.processing_time is not None:
        writer = writer.trigger(processingTime=trigger.processing_time)
    return WindowQuery(writer.start(), None)


def script_session(
    application: Application, conf: Mapping[str, str], log: str | None = None
) -> tuple[SparkSession, bool]:
    """Returns the session of this process or a new one, prepared for operators, and whether it is new.

    Args:
        application: the script. A new session gets the settings of Spark that it makes.
        conf: further settings, which take precedence.
        log: a file to which a new session writes its log; None: standard error.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active, False
    steps = (step.statement for step in application.steps if isinstance(step, SettingStep))
    settings = {setting.key: setting.value for setting in steps if setting.key.startswith("spark.")} | {
        **conf
    }
    defaults = {} if "spark.remote" in settings else {"spark.master": "local[*]"}
    builder = SparkSession.builder.appName("panewise sql")
    for key, value in {**defaults, "spark.ui.showConsoleProgress": "false", **settings}.items():
        builder = builder.config(key, value)
    with nullcontext() if log is None else log_to(Path(log)):
        session = builder.getOrCreate()
    if PARTITIONS not in settings and settings.get("spark.master", "local").startswith("local"):
        cores = None if "spark.remote" in settings else session.sparkContext.defaultParallelism
        return configure(session, shuffle_partitions=cores), True
    return configure(session), True
