"""Aggregates that are lists, or that rank rows or values (semantics 24.4, 24.9 to 24.13)."""

from functools import partial
from typing import Any

from panewise.oracle.columns import same_value, sort_key
from panewise.spec import Aggregate


def ranked(what: Aggregate, rows: list[dict[str, Any]]) -> Any:
    """Returns `max_by` or `min_by` of the rows, or the list of `top_n_by` (semantics 24.10, 24.12)."""
    known = [row for row in rows if row.get(what.by or "") is not None]
    # The sort is stable, also in reverse: rows that are equal keep their order (semantics 24.10). So sorting
    # by the last column first leaves the rows in the order of all columns (semantics 24.26).
    for name, smallest_first in reversed(_directions(what)):
        known.sort(key=partial(_rank, name), reverse=not smallest_first)
    values = [row.get(what.column or "") for row in known]
    if what.fn != "top_n_by":
        return values[0] if values else None
    return (distinct(values) if what.distinct else values)[: what.n]


def _directions(what: Aggregate) -> list[tuple[str, bool]]:
    """Returns the columns that rank the rows, each with whether the smallest value comes first."""
    first = what.fn == "min_by" or what.ascending is True
    return [(what.by or "", first), *((order.column, order.ascending) for order in what.then_by)]


def _rank(name: str, row: dict[str, Any]) -> Any:
    return sort_key(row.get(name))


def collected(what: Aggregate, values: list[Any]) -> list[Any]:
    """Returns `collect_list`, `collect_set`, `sort_list` or `top_n` of values (semantics 24.4, 24.11, 24.13).

    The values are not null and in the order of semantics 24.4.
    """
    if what.fn == "collect_list":
        return values
    if what.fn == "collect_set":
        return distinct(values)
    ordered = sorted(values, key=sort_key, reverse=not what.ascending)
    return ordered if what.n is None else ordered[: what.n]


def most_frequent(values: list[Any]) -> Any:
    """Returns the smallest of the most frequent values (semantics 24.9)."""
    counted = [(sum(same_value(value, other) for other in values), value) for value in values]
    most = max(count for count, _ in counted)
    return min((value for count, value in counted if count == most), key=sort_key)


def distinct(values: list[Any]) -> list[Any]:
    """Returns each value once, in the order of their first occurrences."""
    different: list[Any] = []
    for value in values:
        if not any(same_value(value, other) for other in different):
            different.append(value)
    return different
