"""Lists, and aggregates of rows in an order that a column gives (semantics 24.4, 24.9 to 24.13)."""

from typing import Any

from panewise.oracle.columns import same_value, sort_key
from panewise.spec import Aggregate


def ranked(what: Aggregate, rows: list[dict[str, Any]]) -> Any:
    """The value of the row with the largest or smallest `by`, or the values of several such rows."""
    column, by = what.columns
    smallest_first = what.fn == "min_by" or what.ascending is True
    known = [row for row in rows if row.get(by) is not None]
    known.sort(key=lambda row: sort_key(row[by]), reverse=not smallest_first)  # stable, also in reverse
    values = [row.get(column) for row in known]
    if what.fn != "top_n_by":
        return values[0] if values else None
    return (distinct(values) if what.distinct else values)[: what.n]


def collected(what: Aggregate, values: list[Any]) -> list[Any]:
    """The values as a list: all, or each once, in arrival order; or sorted, of `top_n` the first n."""
    if what.fn == "collect_list":
        return values
    if what.fn == "collect_set":
        return distinct(values)
    ordered = sorted(values, key=sort_key, reverse=not what.ascending)
    return ordered if what.n is None else ordered[: what.n]


def most_frequent(values: list[Any]) -> Any:
    """The smallest of the values that come most often."""
    counted = [(sum(same_value(value, other) for other in values), value) for value in values]
    most = max(count for count, _ in counted)
    return min((value for count, value in counted if count == most), key=sort_key)


def distinct(values: list[Any]) -> list[Any]:
    """Each value once, where it comes first."""
    found: list[Any] = []
    for value in values:
        if not any(same_value(value, other) for other in found):
            found.append(value)
    return found
