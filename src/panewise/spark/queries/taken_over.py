"""Which change of a specification `write` takes over, and when (semantics 47.9).

Spark repeats a micro-batch that has begun and is not committed. Sinks that have its rows skip those of the
repeat. But what a change emits at once would be in the repeat alone, and so be lost. So a change is refused
until the last micro-batch is committed.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from panewise.checkpoints.layout import AFTER
from panewise.engine.checkpoint import continued
from panewise.errors import StateError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.initial_state import FIELD
from panewise.spark.inputs.checks import same_name
from panewise.spark.queries.committed import NONE, has_begun, has_state, last_committed, uncommitted
from panewise.spark.queries.input_types import check_spelling, check_stored_types
from panewise.spark.queries.query_record import (
    added_clock,
    check_fed,
    check_place,
    check_reads,
    records_of,
    with_clock,
)
from panewise.spark.queries.shown_rows import check_rows
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.evolution import Continuation
from panewise.spec.row_filter import RowFilter
from panewise.state import Manifest


def _taken_over(
    session: SparkSession,
    known: Manifest,
    dataflow: Dataflow,
    checkpoint: str,
    rows: RowFilter,
    added_aggregates: AddedAggregates,
) -> tuple[Continuation, int | None]:
    """Returns `change` and `after` of :class:`ContinuedQuery`."""
    before, was_begun = _in_use(session, known, checkpoint), partial(has_begun, session, checkpoint)
    stored = partial(has_state, session, checkpoint)
    check_spelling(before.header, dataflow, same_name(next(iter(dataflow.dfs.values()))), stored)
    check_stored_types(before.header, before.spec, dataflow, stored)
    if before is not known:
        with suppress(StateError):  # the change that the newest record has may be one of no return
            change = _change(known, dataflow, added_aggregates)
            if not change.changes:
                check_rows(known.header, change, dataflow, rows, was_begun)
                return change, None
    change = _change(before, dataflow, added_aggregates)
    check_rows(before.header, change, dataflow, rows, was_begun)
    if before is known and not change.changes:
        return change, None
    return change, _last_before(session, known, change, checkpoint)


@dataclass(frozen=True)
class ContinuedQuery:
    """A query that continues its checkpoint.

    Attributes:
        dataflow: its dataflow, with the shards and the clock stream of the checkpoint.
        change: what has changed since the record that the stored states belong to.
        after: the last micro-batch before the change; None if the newest record has this specification.
        clock: what :func:`panewise.spark.queries.query_record.added_clock` returned.
    """

    dataflow: Dataflow
    change: Continuation
    after: int | None
    clock: Mapping[str, Any]


def continued_query(
    session: SparkSession,
    known: Manifest,
    dataflow: Dataflow,
    checkpoint: str,
    rows: RowFilter,
    added_aggregates: AddedAggregates = "null",
    *,
    at_end: bool,
) -> ContinuedQuery:
    """Returns how a query continues a checkpoint, of which `known` is the newest record. Nothing is written.

    `rows` says which of the emitted rows the query writes, `at_end` whether it may end its input.

    Raises:
        StateError: if it cannot, or not now.
    """
    dataflow = dataflow.with_shards_of_checkpoint(known.shards)
    change, after = _taken_over(session, known, dataflow, checkpoint, rows, added_aggregates)
    dataflow = with_clock(known.header, replace(dataflow, spec=change.spec))
    check_fed(known.header, dataflow, partial(has_state, session, checkpoint), at_end=at_end)
    check_place(session, known.header, checkpoint)
    check_reads(known.header, dataflow)
    clock = added_clock(session, known.header, dataflow, checkpoint)
    return ContinuedQuery(dataflow, change, after, clock)


def _change(record: Manifest, dataflow: Dataflow, added_aggregates: AddedAggregates) -> Continuation:
    return continued(record, dataflow.spec, len(dataflow.shards), added_aggregates)


def _in_use(session: SparkSession, known: Manifest, checkpoint: str) -> Manifest:
    """Returns the newest record with which a micro-batch was committed; the first one if none was."""
    if AFTER not in known.header:
        return known
    committed, records = last_committed(session, checkpoint), records_of(session, checkpoint)
    if known.header[AFTER] < committed:
        return known
    in_use = [record for record in records if record.header.get(AFTER, NONE - 1) < committed]
    return max(in_use, key=lambda record: record.version, default=known)


def _last_before(session: SparkSession, known: Manifest, change: Continuation, checkpoint: str) -> int:
    """Returns the last committed micro-batch.

    Raises:
        StateError: if another one has begun, or if the state of a file is not stored yet.
    """
    committed, batch = last_committed(session, checkpoint), uncommitted(session, checkpoint)
    fault = f"a changed specification ({str(change) or 'that of before'})"
    if batch is not None:
        rule = (
            f"micro-batch {batch} has begun and is not committed. Spark repeats it, and sinks may skip "
            "what the change emits (semantics 47.9)"
        )
        remedy = "start once with the specification as it was and available_now=True, and change it then"
        raise StateError(fault, rule, remedy)
    if committed == NONE and FIELD in known.header:
        rule = (
            "after an import the first micro-batch runs with the specification of the file (semantics 47.9)"
        )
        remedy = "start with the specification of the file, or with another checkpoint, and change it then"
        raise StateError(fault, rule, remedy)
    return committed
