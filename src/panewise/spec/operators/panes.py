"""What operators that emit panes have in common: the columns of panes, and a default."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.functions import max as max_
from panewise.spec.aggregates.functions import min as min_
from panewise.spec.windows.sliding import Sliding
from panewise.spec.windows.traits import counted

OP: Final = "op"  # the column that marks retractions
BOUNDS: Final = ("window_start", "window_end")
PANE_COLUMNS = (
    *BOUNDS,
    "timing",
    "index",
    "nonspeculative_index",
    "is_first",
    "is_last",
    OP,
    "processing_time",
)


def default_accumulation(window: Any) -> Literal["discarding", "accumulating"]:
    """Returns the default of `accumulation` for an operator that is not in a chain (semantics 21).

    >>> from panewise.spec import Sliding, Tumbling, rows
    >>> default_accumulation(Tumbling("1 hour")), default_accumulation(Sliding(rows(3)))
    ('accumulating', 'discarding')
    """
    # Sliding(rows(n)) emits one pane for each window, so the mode has no effect there. Existing
    # specifications and checkpoints have "discarding" for it.
    return "discarding" if isinstance(window, Sliding) and counted(window) else "accumulating"


def with_timestamp(
    aggregates: tuple[Aggregate, ...], timestamp: str | None, column: str | None
) -> tuple[Aggregate, ...]:
    """Returns the aggregates, and with "earliest" or "latest" the one of a column that computes this."""
    function = {"earliest": min_, "latest": max_}.get(timestamp or "")
    if function is None or column is None:
        return aggregates
    return (*aggregates, function(column).alias("timestamp"))


def check_names(
    keys: Iterable[str], aggregates: Iterable[Aggregate], own: Sequence[str], remedy: str, where: str = ""
) -> None:
    """Refuses columns of panes that have the same name."""
    names = [*keys, *(aggregate.name for aggregate in aggregates), *own]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        rule = f"keys, aggregates and the pane's own columns {own} have different names"
        raise SpecError(f"{where}{twice[0]!r} twice", rule, remedy)
