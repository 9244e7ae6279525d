"""Checks what a query of a script would continue, before any query of the script starts (semantics 46.158).

For queries with an operator `write` makes the same checks again. Here they change nothing: they make neither
a checkpoint nor a table.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from panewise.checkpoints.layout import SINKS
from panewise.engine.exported_state import exported_states
from panewise.errors import StateError
from panewise.paths import check_apart, check_unread
from panewise.spark.dataflow.initial_state import check_reached, check_without_spark, known_state
from panewise.spark.inputs.delta_sources import delta_sources
from panewise.spark.inputs.plan_text import file_sources, plan_of
from panewise.spark.queries.active_paths import ACTIVE
from panewise.spark.queries.query_checkpoint import state_owners
from panewise.spark.queries.query_record import check_unused, record_of
from panewise.spark.queries.taken_over import continued_query
from panewise.spark.queries.writer import whole_rows
from panewise.spark.results.operator_result import OperatorResult, kinds_of
from panewise.spark.sinks.paths import exists
from panewise.spark.sinks.preparation import check_changed
from panewise.spark.streaming_sql.script_paths import check_places, places_of
from panewise.spark.streaming_sql.sql_stages import SqlResult
from panewise.spark.streaming_sql.table_sinks import FileTable, TableSink
from panewise.sql.script.steps import InsertStep, written_paths


def check_start(
    session: SparkSession, source: SqlResult, sinks: Sequence[TableSink], step: InsertStep
) -> None:
    """Checks that a query over a stream continues its checkpoint, and that its paths have no other rows.

    Raises:
        StateError: if the checkpoint is that of another query.
        SpecError: if a path has rows of another checkpoint, or is where the query reads.
    """
    checkpoint = str(step.checkpoint)
    ACTIVE.check(places_of(sinks), checkpoint)
    known = record_of(session, checkpoint)
    if not isinstance(source, DataFrame):
        _check_state(session, source, step)
    if known is not None and not isinstance(source, DataFrame):
        at_end = step.at_end or source.at_end
        continued_query(session, known, source.dataflow, checkpoint, source.shown, at_end=at_end)
        if SINKS in known.header:
            check_changed(session, sinks, known.header[SINKS])
    elif known is not None:
        rule = "a query that Spark alone runs does not continue the state of an operator (semantics 47.27)"
        remedy = "give another directory, or put the query back"
        raise StateError(f"the checkpoint {checkpoint}", rule, remedy)
    elif not isinstance(source, DataFrame) or not exists(session, f"{checkpoint}/metadata"):
        check_unused(session, checkpoint)
        _check_apart(source, step)
        for sink in sinks:
            if isinstance(sink, FileTable):
                sink.check_new(session)
    else:
        check_places(session, sinks, checkpoint)


def _check_apart(source: SqlResult, step: InsertStep) -> None:
    """Checks that a query does not write where it reads.

    Raises:
        SpecError: if it does.
    """
    inputs = [source] if isinstance(source, DataFrame) else source.dataflow.dfs.values()
    written = written_paths(step.sink, step.outputs, step.checkpoint)
    check_apart(written, [path for df in inputs for path in file_sources(plan_of(df))])
    check_unread(written, directories=[path for df in inputs for path in delta_sources(df)])


def _check_state(session: SparkSession, result: OperatorResult, step: InsertStep) -> None:
    """Checks the file with which the query of an operator begins, or its checkpoint began.

    Raises:
        StateError: if it is damaged, or has another state.
    """
    checkpoint, file, dataflow = str(step.checkpoint), step.initial_state, result.dataflow
    known = record_of(session, checkpoint)
    check_reached(file, len(dataflow.operators) - 1, dataflow.dfs.values())
    if known is not None:
        known_state(known.header, checkpoint, file)
    elif file is not None:
        check_without_spark(file, dataflow.dfs.values())
        kinds = kinds_of(result)
        own = [kinds[output] for output in step.outputs if output in kinds]
        exported_states(file, state_owners(dataflow, dataflow.schemas(all_columns=whole_rows(own))))
