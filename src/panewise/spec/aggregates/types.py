"""The column types that aggregates take, and the types of their results (semantics 24.1, 24.16, 24.19)."""

from collections.abc import Iterable, Mapping

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import LISTS, PAIRS, Aggregate
from panewise.spec.column_types import BIGINT, BOOLEAN, DOUBLE, Type, check_bytes, decimal

_NUMERIC = frozenset(
    {"sum", "avg", "stddev", "variance", "stddev_pop", "var_pop", "median", "percentile"}
    | {"sum_distinct", "avg_distinct", "product", "skewness", "kurtosis"}
    | PAIRS
)
_WHOLE = frozenset({"bit_and", "bit_or", "bit_xor"})
_BOOLEAN = frozenset({"count_if", "bool_and", "bool_or"})
_SORTED = frozenset({"min", "max", "mode", "sort_list", "top_n"})
_DISTINCT = frozenset({"count_distinct", "approx_count_distinct", "collect_set"})
_COUNTS = frozenset({"count", "count_if", "count_distinct", "approx_count_distinct", "regr_count"})
_SAME = frozenset({"min", "max", "first", "last", "mode", "max_by", "min_by", "bool_and", "bool_or"}) | _WHOLE


def check_aggregates(aggregates: Iterable[Aggregate], types: Mapping[str, Type]) -> None:
    """Checks that each aggregate can use the types of its columns, if they are known."""
    for aggregate in aggregates:
        _check(aggregate, types)


def _check(aggregate: Aggregate, types: Mapping[str, Type]) -> None:
    fn, over = aggregate.fn, f"{aggregate.name!r} over"
    for column in (aggregate.by if fn in PAIRS else None, aggregate.column):
        kind = types.get(column or "")
        if kind is None:
            continue
        if fn in _NUMERIC and not kind.is_numeric:
            rule, remedy = f"{fn} takes numbers", f"cast {column} to a number, or use another aggregate"
            raise SpecError(f"{over} {column}: {kind}", rule, remedy)
        if fn in _WHOLE and not kind.is_integer:
            rule, remedy = f"{fn} takes whole numbers", f"cast {column} to bigint before the operator"
            raise SpecError(f"{over} {column}: {kind}", rule, remedy)
        if fn in _BOOLEAN and kind != BOOLEAN:
            rule, remedy = f"{fn} takes a Boolean column", "make one before the operator"
            raise SpecError(f"{over} {column}: {kind}", rule, remedy)
    passes = None if aggregate.condition is None else types.get(aggregate.condition)
    if passes is not None and passes != BOOLEAN:
        condition = f"{aggregate.name!r} with the condition {aggregate.condition}: {passes}"
        raise SpecError(condition, "a condition is a Boolean column", "make one before the operator")
    for ordering in _ordered_by(aggregate):
        if ordering in types and types[ordering].is_nested:
            rule, remedy = f"{fn} takes values that have an order", "use a column of a simple type"
            raise SpecError(f"{over} {ordering}: {types[ordering]}", rule, remedy)
    check_bytes(over, compared_by(aggregate), types)


def _ordered_by(aggregate: Aggregate) -> tuple[str, ...]:
    """Returns the columns whose values an aggregate orders."""
    if aggregate.by is not None:
        return (aggregate.by, *(order.column for order in aggregate.then_by))
    return aggregate.columns if aggregate.fn in _SORTED else ()


def compared_by(aggregate: Aggregate) -> list[str]:
    """Returns the columns whose values an aggregate compares.

    >>> from panewise import functions as F
    >>> compared_by(F.max_by("v", "t")), compared_by(F.collect_set("v")), compared_by(F.first("v"))
    (['t'], ['v'], [])
    """
    compares = aggregate.fn in _SORTED | _DISTINCT or aggregate.distinct
    names = (aggregate.column if compares else None, aggregate.by)
    return [*(name for name in names if name is not None), *(order.column for order in aggregate.then_by)]


def columns_of_booleans(aggregates: Iterable[Aggregate]) -> set[str]:
    """Returns the columns that must be Boolean."""
    columns = ((what.column if what.fn in _BOOLEAN else None, what.condition) for what in aggregates)
    return {name for names in columns for name in names if name is not None}


def result_types(aggregates: Iterable[Aggregate], types: Mapping[str, Type]) -> dict[str, Type]:
    """Returns the result types that are known, by the names of the aggregates.

    Over a column of unknown type only the types of counts and user-defined aggregates are known.
    """
    results = {aggregate.name: _result(aggregate, types) for aggregate in aggregates}
    return {name: kind for name, kind in results.items() if kind is not None}


def _result(aggregate: Aggregate, types: Mapping[str, Type]) -> Type | None:
    fn, kind = aggregate.fn.removesuffix("_distinct"), types.get(aggregate.column or "")
    if aggregate.fn in _COUNTS:
        return BIGINT
    if aggregate.user is not None:
        return Type(aggregate.user.result)
    if fn in LISTS:
        return None if kind is None else Type(f"array<{kind}>")
    if kind is None or fn in _SAME:
        return kind
    if kind.kind == "decimal" and fn in ("sum", "avg"):
        precision, scale = kind.digits
        return decimal(precision + 10, scale) if fn == "sum" else decimal(precision + 4, scale + 4)
    return BIGINT if fn == "sum" and kind.is_integer else DOUBLE
