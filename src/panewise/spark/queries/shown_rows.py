"""Which emitted rows a query writes, in the record of its checkpoint (semantics 47.22).

A query that would lose rows by another condition is refused before anything is recorded.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from panewise.errors import StateError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spec.evolution import Continuation
from panewise.spec.row_filter import RowFilter

_ROWS: Final = "rows"  # the field of the record that says which emitted rows are written


def recorded_rows(dataflow: Dataflow, rows: RowFilter) -> dict[str, Any]:
    """Returns the field of the record that says which emitted rows a query writes."""
    return {_ROWS: rows.record(dataflow.spec, _columns(dataflow))}


def check_rows(
    known: Mapping[str, Any] | None,
    change: Continuation,
    dataflow: Dataflow,
    rows: RowFilter,
    has_state: Callable[[], bool],
) -> None:
    """Refuses a query that would lose rows of the state that it continues.

    `known` is the record of the state. Those of earlier releases have no such field.

    Raises:
        StateError: if it would (semantics 47.23, 47.24). Without a state nothing is lost.
    """
    before = {} if known is None else known.get(_ROWS)
    try:
        rows.check(before, change, _columns(dataflow))
    except StateError:
        if has_state():
            raise


def _columns(dataflow: Dataflow) -> list[str]:
    return list(dataflow.unpacker("panes", all_columns=False).target.names)
