"""Which emitted rows a query writes, in the record of its checkpoint (semantics 47.22).

A query that would lose rows by another condition is refused before anything is recorded.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from panewise.checkpoints.layout import ROWS
from panewise.errors import StateError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.initial_state import FIELD
from panewise.spec.evolution import Continuation
from panewise.spec.row_filter import RowFilter, changed_conditions

_LOG: Final = logging.getLogger("panewise.evolution")


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


def log_conditions(checkpoint: str, known: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    """Says in one line of the log that a checkpoint is continued with other conditions."""
    if ROWS in known and ROWS in header:
        changed = changed_conditions(known[ROWS], header[ROWS])
        if changed is not None:
            _LOG.warning("the checkpoint %s is continued with changed conditions (%s)", checkpoint, changed)


def _columns(dataflow: Dataflow) -> list[str]:
    return list(dataflow.unpacker("panes", all_columns=False).target.names)
