"""Statistics of the rows of a run: what tells whether the run may contain rows that are due."""

from collections.abc import Iterable

import polars as pl


def earliest(columns: Iterable[str], suffix: str) -> pl.Expr | None:
    """Returns the earliest instant that the triggers of a window wait for, None if no trigger waits for one.

    Args:
        columns: the columns of the table.
        suffix: `DEADLINE_SUFFIX` for instants of processing time, `MARK_SUFFIX` for those of the watermark.
    """
    found = [pl.col(name) for name in columns if name.startswith("__trigger") and name.endswith(suffix)]
    return pl.min_horizontal(found) if found else None
