"""Statistics of the rows of a run. They show whether the run may contain windows that are due."""

from collections.abc import Iterable

import polars as pl


def earliest(columns: Iterable[str], suffix: str) -> pl.Expr | None:
    """Returns an expression for the earliest instant that the triggers of a window wait for.

    It is None if no trigger of the table waits for such an instant.

    Args:
        columns: the columns of the table.
        suffix: `DEADLINE_SUFFIX` for instants of processing time, `MARK_SUFFIX` for those of the watermark.
    """
    found = [pl.col(name) for name in columns if name.startswith("__trigger") and name.endswith(suffix)]
    return pl.min_horizontal(found) if found else None
