"""Aggregates as calls."""

from collections.abc import Iterable
from typing import Final

from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.functions import AGGREGATES
from panewise.sql.writing.words import different, unsaid

_DISTINCT: Final = {"count_distinct": "count", "sum_distinct": "sum", "avg_distinct": "avg"}


def aggregate(value: Aggregate) -> str:
    """Returns a call of an aggregate.

    Raises:
        SqlError: if SQL does not have it.
    """
    columns = [in_backticks(name) for name in (value.column, value.by) if name is not None]
    condition = "" if value.condition is None else f" FILTER (WHERE {in_backticks(value.condition)})"
    if value.fn in _DISTINCT:
        return f"{_DISTINCT[value.fn]}(DISTINCT {columns[0]})"
    known = value.fn in AGGREGATES and not value.then_by and value.nulls == "skip" and not value.distinct
    pair = value.fn in PAIRS or value.fn in ("max_by", "min_by")
    if not known or (value.by is not None and not pair):
        raise unsaid("aggregates", value.fn)
    constants = [repr(constant) for constant in (value.percentage,) if constant is not None]
    if value.fn == "approx_count_distinct":
        constants.append(repr(value.rsd))
    ignore = " IGNORE NULLS" if value.ignorenulls else ""
    return f"{value.fn}({', '.join([*(columns or ['*']), *constants])}){ignore}{condition}"


def named_aggregates(values: Iterable[Aggregate]) -> list[str]:
    """Returns aggregates as columns of a SELECT list.

    Raises:
        SqlError: if SQL does not have one, or two are equal.
    """
    aggregates = list(values)
    calls = different("aggregates", [aggregate(value) for value in aggregates])
    return [f"{call} AS {in_backticks(value.name)}" for call, value in zip(calls, aggregates, strict=True)]
