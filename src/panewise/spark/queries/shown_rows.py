"""Which emitted rows a query writes, in the record of its checkpoint (semantics 47.22).

A query that would lose rows by another condition is refused before anything is recorded.
"""

from collections.abc import Callable, Mapping
from typing import Any

from panewise.checkpoints.layout import ROWS
from panewise.errors import StateError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.initial_state import FIELD
from panewise.spec.evolution import Continuation
from panewise.spec.row_filter import RowFilter


def recorded_rows(dataflow: Dataflow, rows: RowFilter) -> dict[str, Any]:
    """Returns the field of the record that says which emitted rows a query writes."""
    return {ROWS: rows.record(dataflow.spec, _columns(dataflow))}


def check_rows(
    known: Mapping[str, Any],
    change: Continuation,
    dataflow: Dataflow,
    rows: RowFilter,
    has_begun: Callable[[], bool],
) -> None:
    """Refuses a query that would lose rows of the state that it continues.

    `known` is the header of the record of the state. That of an earlier release has no such field.

    Raises:
        StateError: if it would (semantics 47.23, 47.24). Before the first micro-batch nothing is lost.
    """
    try:
        rows.check(known.get(ROWS), change, _columns(dataflow))
    except StateError:
        if FIELD in known or has_begun():
            raise


def _columns(dataflow: Dataflow) -> list[str]:
    return list(dataflow.unpacker("panes", all_columns=False).target.names)
