"""Which joins say something about time, rows or windows."""

from typing import Any

from panewise.sql.joins.stream_matches import stream_windows
from panewise.sql.parsing.syntax import Derived, Expr, Join, NamedTable


def system_time(join: Join) -> Expr | None:
    """Returns the time of FOR SYSTEM_TIME AS OF after the right table, None if there is none."""
    right = join.right
    return right.system_time if isinstance(right, (NamedTable, Derived)) else None


def is_join(source: Any) -> bool:
    """Returns whether a source is a join that says something about time, rows or windows of rows."""
    if not isinstance(source, Join):
        return False
    clauses = source.match_condition, source.within, source.last, system_time(source), stream_windows(source)
    return any(clause is not None for clause in clauses) or source.kind.count("ASOF") > 0


def is_as_of(join: Join) -> bool:
    """Returns whether each left row of a join has at most one partner, by an order of time."""
    return "ASOF" in join.kind or join.match_condition is not None
