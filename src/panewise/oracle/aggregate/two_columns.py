"""Aggregates of pairs of values (semantics 24.24)."""

import math
from typing import Any

from panewise.spec import Aggregate

_OF_PAIRS = ("corr", "covar_pop", "covar_samp")


def is_of_pairs(what: Aggregate) -> bool:
    """Returns whether an aggregate reads the pairs of two columns."""
    return what.fn in _OF_PAIRS or what.fn.startswith("regr_")


def of_pairs(what: Aggregate, rows: list[dict[str, Any]]) -> Any:
    """Returns the aggregate of the rows in which neither value is null."""
    first, second = what.columns
    known = [(row.get(first), row.get(second)) for row in rows]
    pairs = [(float(y), float(x)) for y, x in known if y is not None and x is not None]
    if what.fn == "regr_count":
        return len(pairs)
    if not pairs:
        return None
    return _of_some(what.fn, [y for y, _ in pairs], [x for _, x in pairs])


def _of_some(fn: str, ys: list[float], xs: list[float]) -> float | None:
    count = len(ys)
    mean_y, mean_x = sum(ys) / count, sum(xs) / count
    yy, xx = sum((y - mean_y) ** 2 for y in ys), sum((x - mean_x) ** 2 for x in xs)
    xy = sum((x - mean_x) * (y - mean_y) for y, x in zip(ys, xs, strict=True))
    if fn == "covar_samp":
        return xy / (count - 1) if count > 1 else None
    if fn == "corr":
        return None if _is_flat(xs) or _is_flat(ys) else xy / math.sqrt(xx * yy)
    if fn in ("regr_slope", "regr_intercept", "regr_r2"):
        return None if _is_flat(xs) else _of_line(fn, (mean_y, mean_x), (yy, xx, xy), flat=_is_flat(ys))
    means = {"regr_avgy": mean_y, "regr_avgx": mean_x}
    return ({"covar_pop": xy / count, "regr_sxx": xx, "regr_syy": yy, "regr_sxy": xy} | means)[fn]


def _of_line(fn: str, means: tuple[float, float], sums: tuple[float, float, float], *, flat: bool) -> float:
    """Returns a property of the line of least squares. `flat` says that all y are equal."""
    yy, xx, xy = sums
    if fn == "regr_r2":
        return 1.0 if flat else xy * xy / (xx * yy)
    return xy / xx if fn == "regr_slope" else means[0] - xy / xx * means[1]


def _is_flat(values: list[float]) -> bool:
    return math.isfinite(values[0]) and all(value == values[0] for value in values)
