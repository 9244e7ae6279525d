"""Statistics of the rows of a run. They show whether the run may contain windows that are due."""

from collections.abc import Iterable

import polars as pl

from panewise.engine.columns import DEADLINE_SUFFIX, EVENT_DEADLINE_SUFFIX, MARK_SUFFIX, PENDING


def earliest_deadline(columns: Iterable[str]) -> pl.Expr | None:
    """Returns an expression for the earliest processing time that the triggers of a window wait for.

    It is None if no trigger of the table waits for one. `columns` are the columns of the table.
    """
    found = _instants(columns, DEADLINE_SUFFIX)
    return pl.min_horizontal(found) if found else None


def earliest_mark(columns: Iterable[str], after: int | None = None) -> pl.Expr | None:
    """Returns an expression for the earliest watermark that the triggers of a window wait for.

    Watermarks up to `after` do not count. Each column is compared with `after`, not only the earliest: one
    part of an `AfterAll` may be ready while another part waits for a later watermark.

    It is None if no trigger of the table waits for a watermark.
    """
    names, pending = list(columns), pl.col(PENDING) > 0
    found: list[pl.Expr] = [pl.when(pending).then(mark) for mark in _instants(names, MARK_SUFFIX)]
    found += _instants(names, EVENT_DEADLINE_SUFFIX)
    if after is not None:
        found = [pl.when(mark > after).then(mark) for mark in found]
    return pl.min_horizontal(found) if found else None


def _instants(columns: Iterable[str], suffix: str) -> list[pl.Expr]:
    return [pl.col(name) for name in columns if name.startswith("__trigger") and name.endswith(suffix)]
