"""Checks what a query of a script would continue, before any query of the script starts (semantics 46.158).

`write` makes the same checks again when the query starts. Here they change nothing: they make neither a
checkpoint nor a table.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.queries.committed import has_state
from panewise.spark.queries.query_record import (
    added_clock,
    check_fed,
    check_place,
    check_reads,
    record_of,
    with_clock,
)
from panewise.spark.queries.taken_over import taken_over
from panewise.spark.sinks.paths import exists
from panewise.spark.streaming_sql.table_sinks import FileTable, TableSink
from panewise.sql.script.steps import InsertStep
from panewise.state import Manifest


def check_start(session: SparkSession, source: Any, sinks: Iterable[TableSink], step: InsertStep) -> None:
    """Checks that a query over a stream continues its checkpoint, and that its paths have no other rows.

    Raises:
        StateError: if the checkpoint is that of another query.
        SetupError: if a path has rows of another checkpoint.
    """
    checkpoint = str(step.checkpoint)
    known = record_of(session, checkpoint)
    if known is not None and not isinstance(source, DataFrame):
        at_end = step.at_end or source.at_end
        _check_continued(session, known, source.dataflow, checkpoint, at_end=at_end)
    elif known is None and not exists(session, f"{checkpoint}/metadata"):
        for sink in sinks:
            if isinstance(sink, FileTable):
                sink.check_new(session)


def _check_continued(
    session: SparkSession, known: Manifest, dataflow: Dataflow, checkpoint: str, *, at_end: bool
) -> None:
    """Checks that an operator continues a checkpoint, of which `known` is the newest record."""
    dataflow = dataflow.known_as(known.shards)
    taken = taken_over(session, known, dataflow, checkpoint)
    dataflow = with_clock(known.header, replace(dataflow, spec=taken.change.spec))
    check_fed(known.header, dataflow, partial(has_state, session, checkpoint), at_end=at_end)
    check_place(session, known.header, checkpoint)
    check_reads(known.header, dataflow)
    added_clock(session, known.header, dataflow, checkpoint)
