"""What a pane holds: every aggregate computed from scratch over a list of rows (semantics 24)."""

import math
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from panewise.errors import AggregateOverflowError
from panewise.oracle.columns import decimal_scale, is_long, is_nan, same_value, sort_key
from panewise.spec import Aggregate

_DIGITS = 200  # more than any sum of decimals needs


def aggregate(what: Aggregate, rows: list[dict[str, Any]], kind: str | None) -> Any:
    """The aggregate of the rows, given in arrival order; `kind` is the declared type of the column, if any."""
    if what.column is None:
        return len(rows)
    every = [row.get(what.column) for row in rows]
    if what.user is not None:
        return _user(what, every)
    values = [value for value in every if value is not None]
    match what.fn:
        case "first" | "last":
            candidates = values if what.ignorenulls else every
            return (candidates[0] if what.fn == "first" else candidates[-1]) if candidates else None
        case "count":
            return len(values)
        case "collect_list":
            return values
        case "collect_set":
            return _distinct(values)
        case "approx_count_distinct":
            return len(_distinct(values))  # exact is always near enough
        case _:
            return _number(what, values, kind) if values else None


def _user(what: Aggregate, values: list[Any]) -> Any:
    assert what.user is not None
    state = what.user.init()
    for value in values:
        state = what.user.accumulate(state, value)
    return what.user.finish(state)


def _number(what: Aggregate, values: list[Any], kind: str | None) -> Any:
    match what.fn:
        case "sum":
            return _sum(what, values)
        case "avg":
            return _avg(values, kind)
        case "min":
            return min(values, key=sort_key)
        case "max":
            return max(values, key=sort_key)
        case "variance":
            return _variance(values)
        case "stddev":
            variance = _variance(values)
            return None if variance is None else math.sqrt(variance)
        case "median":
            return _percentile(values, 0.5)
        case _:
            assert what.percentage is not None, what.fn
            return _percentile(values, what.percentage)


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(same_value(value, other) for other in found):
            found.append(value)
    return found


def _total(values: list[Any]) -> Any:
    with localcontext() as context:
        context.prec = _DIGITS
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total


def _sum(what: Aggregate, values: list[Any]) -> Any:
    total = _total(values)
    if isinstance(total, int) and not is_long(total):
        rule = "a sum of whole numbers fits in 64 bits (semantics 24.3)"
        raise AggregateOverflowError(f"{what.name}={total}", rule, "sum a double or decimal column")
    return total


def _avg(values: list[Any], kind: str | None) -> Any:
    total = _total(values)
    if not isinstance(total, Decimal):
        return float(total) / len(values)
    if kind is not None:
        scale = decimal_scale(kind)
    else:
        scale = max(0, *(-int(value.as_tuple().exponent) for value in values))
    with localcontext() as context:
        context.prec = _DIGITS
        return (total / len(values)).quantize(Decimal(1).scaleb(-(scale + 4)), rounding=ROUND_HALF_UP)


def _variance(values: list[Any]) -> float | None:
    """Sample variance, in two passes; NaN and infinities end up as NaN."""
    if len(values) < 2:
        return None
    numbers = [float(value) for value in values]
    mean = sum(numbers) / len(numbers)
    return sum((number - mean) * (number - mean) for number in numbers) / (len(numbers) - 1)


def _percentile(values: list[Any], percentage: float) -> float:
    """The value at place percentage*(n-1) of the sorted values, interpolated between its neighbours."""
    numbers = sorted((float(value) for value in values), key=sort_key)
    place = percentage * (len(numbers) - 1)
    low, high = math.floor(place), math.ceil(place)
    below, above = numbers[low], numbers[high]
    if below == above or low == high or is_nan(below):
        return below
    return (high - place) * below + (place - low) * above
