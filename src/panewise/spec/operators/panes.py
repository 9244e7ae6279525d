"""What window operators and chains have in common: the columns of their panes, and a default."""

from typing import Any, Literal

from panewise.spec.windows.kinds import counted
from panewise.spec.windows.sliding import Sliding

PANE_COLUMNS = (
    "window_start",
    "window_end",
    "timing",
    "index",
    "nonspeculative_index",
    "is_first",
    "is_last",
    "op",
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
