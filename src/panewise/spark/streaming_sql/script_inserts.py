"""Checks an INSERT INTO, and later starts its query (semantics 46.45, 46.158)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from panewise.errors import SqlError
from panewise.paths import is_inside, place, without_wildcards
from panewise.spark.builders.upstream_inputs import frame_of, is_stream, session_of
from panewise.spark.inputs.ancestry import operators_upstream
from panewise.spark.inputs.plan_text import delaying, nodes_of, plan_of
from panewise.spark.queries.active_paths import ACTIVE
from panewise.spark.queries.query import WindowQuery, written_batch
from panewise.spark.queries.write_arguments import WriteOptions
from panewise.spark.queries.writer import started
from panewise.spark.results.operator_result import OperatorResult, check_outputs, kinds_of
from panewise.spark.sinks.preparation import empty
from panewise.spark.streaming_sql.script_checks import check_start
from panewise.spark.streaming_sql.script_paths import places_of, record_places
from panewise.spark.streaming_sql.sql_stages import SqlResult
from panewise.spark.streaming_sql.table_sinks import FileTable, TableSink, sink_of
from panewise.sql.script.application import NO_CHECKPOINT, no_outputs
from panewise.sql.script.steps import InsertStep, SinkStep

_OUTER: Final = re.compile(r" (LeftOuter|RightOuter|FullOuter|LeftAnti)\b")


@dataclass(frozen=True)
class WrittenTable:
    """A table that a query writes. `schema` has the columns of the rows, None if they are not known."""

    sink: TableSink
    schema: StructType | None


@dataclass(frozen=True)
class CheckedInsert:
    """An INSERT INTO that is checked, and has not started.

    Attributes:
        source: the rows, as a DataFrame or the result of an operator.
        step: the statement.
        tables: the tables that its query writes, by output. That of its rows has no name.
    """

    source: SqlResult
    step: InsertStep
    tables: Mapping[str | None, WrittenTable]

    @property
    def by_name(self) -> dict[str, WrittenTable]:
        """The tables by their names in lower case."""
        names: dict[str | None, str] = {None: self.step.statement.table}
        names.update(self.step.sink.outputs)
        return {names[output].lower(): table for output, table in self.tables.items()}

    def shares(self, path: str | None) -> bool:
        """Returns whether a path, which may have wildcards, is that of a table, or one contains the other."""
        if path is None:
            return False
        read = without_wildcards(path)
        tables = (self.step.sink, *self.step.outputs.values())
        paths = (table.statement.options.get("path") for table in tables)
        places = [place(path) for path in paths if path is not None]
        return any(is_inside(written, read) or is_inside(read, written) for written in places)

    def start(self) -> WindowQuery:
        """Starts the query. The rows of a batch are written before it returns."""
        sinks = {output: table.sink for output, table in self.tables.items()}
        if isinstance(self.source, OperatorResult):
            return _written_by_operator(self.source, sinks, self.step)
        return _written_by_spark(self.source, sinks[None], self.step)


def checked_insert(source: SqlResult, step: InsertStep) -> CheckedInsert:
    """Returns an INSERT INTO whose rows fit its tables, and whose query continues its checkpoint.

    Args:
        source: the rows, as a DataFrame or the result of an operator.
        step: the statement.

    Raises:
        SqlError: if the rows do not fit a table.
        StateError: if the checkpoint is that of another query.
    """
    streaming = is_stream(source)
    if step.outputs and isinstance(source, DataFrame):
        raise SqlError(*no_outputs(step.outputs))
    if streaming and step.checkpoint is None:  # of a view that only Spark knows
        raise SqlError(step.statement.table, *NO_CHECKPOINT)
    session = session_of(source)
    if isinstance(source, OperatorResult):
        check_outputs(source, step.outputs)
    tables = _tables(source, step)
    for table in tables.values():
        _check(session, table, step, streaming=streaming)
    if streaming and step.at_end and isinstance(source, DataFrame):
        _check_end(source)
    sinks = [table.sink for table in tables.values()]
    if streaming:
        check_start(session, source, sinks, step)
    else:
        ACTIVE.check(places_of(sinks), None)
        for sink in (sink for sink in sinks if isinstance(sink, FileTable)):
            sink.check_batch(session)
    return CheckedInsert(source, step, tables)


def _tables(source: SqlResult, step: InsertStep) -> dict[str | None, WrittenTable]:
    """Returns the tables of a query by output. That of its rows has no name."""
    # A batch has no numbers of micro-batches by which Delta could recognize what it has.
    checkpoint = step.checkpoint if is_stream(source) else None
    schemas = _schemas(source, step.outputs)
    rows = WrittenTable(sink_of(step.sink, checkpoint, step.statement.columns), schemas[None])
    tables: dict[str | None, WrittenTable] = {None: rows}
    for output, table in step.outputs.items():
        tables[output] = WrittenTable(sink_of(table, checkpoint), schemas.get(output))
    return tables


def _schemas(source: SqlResult, outputs: Mapping[str, SinkStep]) -> dict[str | None, StructType]:
    """Returns the columns of the rows of a query, and of those other outputs that are its own."""
    if isinstance(source, DataFrame):
        return {None: source.schema}
    known: dict[str | None, StructType] = {None: frame_of(replace(source, at_end=False)).schema}
    kinds = kinds_of(source)
    for output in outputs.keys() & kinds.keys():
        known[output] = source.dataflow.unpacker(kinds[output], all_columns=True).target
    return known


def _check(session: SparkSession, table: WrittenTable, step: InsertStep, *, streaming: bool) -> None:
    """Checks that rows fit a table, and can come to it."""
    sink, schema = table.sink, table.schema
    listed = sink.shape.listed or [name for name, _ in sink.shape.columns]
    if schema is not None and listed and len(schema) != len(listed):
        rule = f"the columns of a query are those of its table, in their order: {list(listed)}"
        raise SqlError(f"{len(schema)} columns {schema.names}", rule, "select as many")
    if schema is not None:
        sink.shaped(empty(session, schema))
    sink.check(session, step.statement.table, streaming=streaming)


def _written_by_operator(
    result: OperatorResult, sinks: Mapping[str | None, TableSink], step: InsertStep
) -> WindowQuery:
    """Starts the query of an operator."""
    result = replace(result, at_end=step.at_end or result.at_end)
    named = {result.OUTPUT if output is None else output: sink for output, sink in sinks.items()}
    return result.write(
        named,
        checkpoint=step.checkpoint,
        available_now=step.trigger.available_now,
        processing_time=step.trigger.processing_time,
        name=step.statement.table,
        initial_state=step.initial_state,
    )


def _written_by_spark(df: DataFrame, sink: TableSink, step: InsertStep) -> WindowQuery:
    """Starts a query of Spark's alone. The rows of a batch are written before it returns."""
    with ACTIVE.claimed(places_of([sink]), step.checkpoint if df.isStreaming else None) as claim:
        if not df.isStreaming:
            sink(df, 0)
            return written_batch(df)
        query = claim.last_as_long_as(_stream_of_spark(df, sink, step))
    return WindowQuery(query, None)


def _stream_of_spark(df: DataFrame, sink: TableSink, step: InsertStep) -> StreamingQuery:
    """Starts a query of Spark's alone over a stream."""
    session, trigger = df.sparkSession, step.trigger
    record_places(session, [sink], str(step.checkpoint))
    if isinstance(sink, FileTable) and not sink.prepared(session):
        sink.prepare(empty(session, df.schema))
    options = WriteOptions(
        step.checkpoint, trigger.available_now, trigger.processing_time, step.statement.table
    )
    return started(df, sink, options)


def _check_end(df: DataFrame) -> None:
    """Refuses to end the input of a query in which rows wait for it: Spark cannot."""
    plan = plan_of(df)
    delays = {name for name in delaying(plan) if name != "Join"}
    if "Join" in delaying(plan) and any(
        node.name == "Join" and _OUTER.match(node.rest) for node in nodes_of(plan)
    ):
        delays.add("outer join")
    if operators_upstream(df):
        delays.add("view with windows, whose rows Spark alone reads")
    if delays:
        rule = f"Spark cannot end the input of a query with its own operators: {sorted(delays)}"
        remedy = "add OPTIONS (finish 'never') to the table, or write the windows to a table of their own"
        raise SqlError("finish = at_end", rule, remedy)
