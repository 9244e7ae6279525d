"""The windows of a join as a window operator of the rows of both sides (semantics 37.11).

The operator decides which rows are late, and when windows merge, fire and expire. A row has its place among
all rows of the join as its number.
"""

from collections.abc import Sequence
from typing import Final

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.functions import count
from panewise.spec.fields import silently
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.windows import WindowOperator

# The columns of the rows: the event time, and the place among all rows.
ROW_TIME: Final = "row:time"
ROW_NUMBER: Final = "row:number"


def row_key(place: int) -> str:
    """Returns the name of a key column of the rows, by its place among the keys of the join."""
    return f"row:key:{place}"


def row_keys(keys: Sequence[str]) -> dict[str, str]:
    """Returns the keys of a side by the names that the key columns of the rows have.

    >>> row_keys(["user", "day"])
    {'row:key:0': 'user', 'row:key:1': 'day'}
    """
    return {row_key(place): key for place, key in enumerate(keys)}


def window_operator(spec: JoinOperator, aggregate: Aggregate | None = None) -> WindowOperator:
    """Returns the window operator of a join with `SameWindow`.

    Its panes have the value of `aggregate` for the rows so far. A pane is retracted when the next one of its
    window is emitted, or when the window merges. A window emits a last pane when it expires.

    Args:
        spec: the join.
        aggregate: what a pane contains, an aggregate of `ROW_NUMBER`. None: it does not matter.
    """
    match = spec.match
    assert isinstance(match, SameWindow)
    with silently():
        return WindowOperator(
            window=match.window,
            trigger=match.trigger,
            accumulation="retracting",
            allowed_lateness=match.allowed_lateness,
            drop_by=match.drop_by,
            aggregates=[aggregate or count()],
            keys=[*row_keys(spec.keys)],
            event_time=ROW_TIME,
            order=[ROW_NUMBER],
            closing="always",
        )
