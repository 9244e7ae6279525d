"""Aggregates, each computed anew from the list of all its rows (semantics 24)."""

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import reduce
from operator import and_, or_, xor
from typing import Any, Final

from panewise.errors import AggregateOverflowError
from panewise.oracle.aggregate.rankings import collected, distinct, most_frequent, ranked
from panewise.oracle.aggregate.two_columns import is_of_pairs, of_pairs
from panewise.oracle.columns import digits_of, is_long, is_nan, sort_key
from panewise.spec import Aggregate
from panewise.spec.aggregates.user_values import checked_result, state_text

_DIGITS = 200  # more than any sum of decimals needs
# Aggregates without options, of values of which there is at least one.
_OF_VALUES_ALONE: Final[Mapping[str, Callable[[list[Any]], Any]]] = {
    "product": lambda values: math.prod(map(float, values)),
}


def aggregate(what: Aggregate, rows: list[dict[str, Any]], kind: str | None) -> Any:
    """Returns the aggregate of the rows.

    Args:
        what: the aggregate.
        rows: the rows, in the order of semantics 24.4.
        kind: the declared type of the aggregate's column, or None.

    Raises:
        AggregateOverflowError: if a sum or a mean does not fit its type (semantics 24.3, 24.16).
    """
    if what.column is None:
        return len(rows)
    if what.condition is not None:
        rows = [row for row in rows if row.get(what.condition) is True]
    if is_of_pairs(what):
        return of_pairs(what, rows)
    if what.by is not None:
        return ranked(what, rows)
    if what.user is not None:
        return _user(what, [[row.get(name) for name in (what.column, *what.more)] for row in rows])
    return _of_values(what, [row.get(what.column) for row in rows], kind)


def _of_values(what: Aggregate, every: list[Any], kind: str | None) -> Any:
    """Returns the aggregate of the values of one column, nulls included."""
    values = [value for value in every if value is not None]
    match what.fn:
        case "first" | "last" | "first_n" | "last_n":
            return _edge(what, values if what.ignorenulls else every)
        case "collect_list" if what.nulls == "include":
            return every
        case "count":
            return len(values)
        case "count_if":
            return sum(value is True for value in values)
        case "count_distinct" | "approx_count_distinct":
            return len(distinct(values))  # for approx_count_distinct, the exact result is within every rsd
        case "collect_list" | "collect_set" | "sort_list" | "top_n":
            return collected(what, values)
        case _:
            return _of_some(what, values, kind) if values else None


def _user(what: Aggregate, rows: list[list[Any]]) -> Any:
    assert what.user is not None
    state = what.user.init()
    state_text(what.user.name, state)
    for values in rows:
        state = what.user.accumulate(state, *values)
    state_text(what.user.name, state)
    return checked_result(what.user, what.user.finish(state))


def _edge(what: Aggregate, values: list[Any]) -> Any:
    """Returns the first or last value, null without values, or the list of the first or last n."""
    is_first, count = what.fn.startswith("first"), what.n or 1
    edge = values[:count] if is_first else values[-count:]
    return edge if what.n is not None else edge[0] if edge else None


def _of_some(what: Aggregate, values: list[Any], kind: str | None) -> Any:
    """Returns an aggregate that is null without values; `values` is not empty."""
    match what.fn:
        case "sum" | "sum_distinct":
            return _sum(what, distinct(values) if what.fn == "sum_distinct" else values, kind)
        case "avg" | "avg_distinct":
            return _avg(what, distinct(values) if what.fn == "avg_distinct" else values, kind)
        case "skewness" | "kurtosis":
            return _shape(what, [float(value) for value in values])
        case "variance" | "stddev" | "var_pop" | "stddev_pop":
            return _spread(what, values)
        case "median" | "percentile":
            return _percentile(values, 0.5 if what.percentage is None else what.percentage)
        case fn if fn in _OF_VALUES_ALONE:
            return _OF_VALUES_ALONE[fn](values)
        case _:
            return _one_of(what, values)


def _one_of(what: Aggregate, values: list[Any]) -> Any:
    """Returns an aggregate whose result is one of the values (semantics 24.1, 24.8, 24.9)."""
    match what.fn:
        case "min":
            return min(values, key=sort_key)
        case "max":
            return max(values, key=sort_key)
        case "mode":
            return most_frequent(values)
        case "bool_and":
            return all(values)
        case "bit_and" | "bit_or" | "bit_xor":
            return reduce({"bit_and": and_, "bit_or": or_, "bit_xor": xor}[what.fn], values)
        case _:
            assert what.fn == "bool_or", what.fn
            return any(values)


def _total(values: list[Any]) -> Any:
    with localcontext() as context:
        context.prec = _DIGITS
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total


def _sum(what: Aggregate, values: list[Any], kind: str | None) -> Any:
    total = _total(values)
    if isinstance(total, Decimal):
        precision, scale = _digits(values, kind)
        return _fitting("sum", what.column, total, min(38, precision + 10), scale)
    if isinstance(total, int) and not is_long(total):
        rule = "a sum of whole numbers fits in 64 bits (semantics 24.3)"
        raise AggregateOverflowError(f"{what.name}={total}", rule, "sum a double or decimal column")
    return total


def _avg(what: Aggregate, values: list[Any], kind: str | None) -> Any:
    total = _total(values)
    if not isinstance(total, Decimal):
        return float(total) / len(values)
    precision, scale = _digits(values, kind)
    _fitting("sum", what.column, total, min(38, precision + 10), scale)
    places = min(38, scale + 4)
    with localcontext() as context:
        context.prec = _DIGITS
        mean = (total / len(values)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    return _fitting("avg", what.column, mean, min(38, precision + 4), places)


def _digits(values: list[Any], kind: str | None) -> tuple[int, int]:
    """Returns precision and scale of a column of decimals.

    Without a declared type these are 38 and the largest scale of the values.
    """
    if kind is not None:
        return digits_of(kind)
    return 38, max(0, *(-int(value.as_tuple().exponent) for value in values))


def _fitting(fn: str, column: str | None, result: Decimal, precision: int, scale: int) -> Decimal:
    """Returns the result after checking that it fits decimal(precision, scale) (semantics 24.16)."""
    if result.copy_abs() < Decimal(10) ** (precision - scale):
        return result
    rule = "a sum or a mean of decimals fits its result type (semantics 24.16)"
    remedy = f"cast {column} to a decimal of fewer digits, or to double, before the operator"
    raise AggregateOverflowError(f"{fn}({column}) beyond decimal({precision},{scale})", rule, remedy)


def _spread(what: Aggregate, values: list[Any]) -> float | None:
    """Returns the variance or standard deviation, of a sample or of a population (semantics 24.1, 24.8).

    Values with a NaN or an infinity among them give NaN (semantics 24.2).
    """
    divisor = len(values) if what.fn.endswith("_pop") else len(values) - 1
    if divisor == 0:
        return None
    numbers = [float(value) for value in values]
    mean = sum(numbers) / len(numbers)
    variance = sum((number - mean) * (number - mean) for number in numbers) / divisor
    return math.sqrt(variance) if what.fn.startswith("stddev") else variance


def _shape(what: Aggregate, numbers: list[float]) -> float | None:
    """Returns the skewness or the excess kurtosis; null if all values are equal (semantics 24.22)."""
    if all(number == numbers[0] for number in numbers) and not math.isinf(numbers[0]):
        return None
    mean = sum(numbers) / len(numbers)
    second, third, fourth = (sum((number - mean) ** power for number in numbers) for power in (2, 3, 4))
    if what.fn == "skewness":
        return math.sqrt(len(numbers)) * third / math.sqrt(second * second * second)
    return len(numbers) * fourth / (second * second) - 3


def _percentile(values: list[Any], percentage: float) -> float:
    """Returns the value at position percentage*(n-1) of the sorted values, interpolated (semantics 24.1)."""
    numbers = sorted((float(value) for value in values), key=sort_key)
    place = percentage * (len(numbers) - 1)
    low, high = math.floor(place), math.ceil(place)
    below, above = numbers[low], numbers[high]
    if below == above or low == high or is_nan(below):
        return below
    return (high - place) * below + (place - low) * above
