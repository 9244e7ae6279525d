"""The aggregate functions of SQL as aggregates of panewise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import Aggregate

# Aggregates that have the same name here, and read columns only.
_SAME = (
    "sum avg mean min max count_if bool_and every bool_or some median bit_and bit_or bit_xor stddev "
    "stddev_samp std stddev_pop variance var_samp var_pop skewness kurtosis mode collect_list array_agg "
    "collect_set corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope "
    "regr_sxx regr_sxy regr_syy max_by min_by"
)
_PLAIN: Final[Mapping[str, Callable[..., Aggregate]]] = {
    **{name: getattr(F, name) for name in _SAME.split()},
    "any": F.bool_or,
}
_FIRST: Final[Mapping[str, Callable[..., Aggregate]]] = {
    "first": F.first,
    "first_value": F.first,
    "any_value": F.first,
    "last": F.last,
    "last_value": F.last,
}
_DISTINCT: Final[Mapping[str, Callable[..., Aggregate]]] = {
    "count": F.count_distinct,
    "sum": F.sum_distinct,
    "avg": F.avg_distinct,
    "mean": F.avg_distinct,
    "collect_list": F.collect_set,
    "array_agg": F.collect_set,
    **{name: _PLAIN[name] for name in ("min", "max", "bool_and", "every", "bool_or", "some", "any")},
    **{name: _PLAIN[name] for name in ("bit_and", "bit_or", "collect_set")},
}
_WITH_NUMBER: Final = frozenset({"percentile", "percentile_cont", "approx_count_distinct"})
# Aggregates of other systems, and what says the same here.
FOREIGN: Final[Mapping[str, str]] = {
    "latest_by_offset": "last(v, true)",
    "earliest_by_offset": "first(v, true)",
    "count_distinct": "count(DISTINCT v)",
    "correlation": "corr(v, w)",
    "stddev_sample": "stddev_samp(v)",
    "histogram": "count(*), with v in GROUP BY",
    "topk": "slice(sort_array(collect_list(v), false), 1, n)",
    "topkdistinct": "slice(sort_array(collect_set(v), false), 1, n)",
    "percentile_disc": "percentile(v, 0.5), which interpolates",
    "arg_max": "max_by(v, w)",
    "arg_min": "min_by(v, w)",
}
_REFUSED: Final = frozenset(F._REFUSED) | {"approx_percentile"}
# Names that panewise refuses where an aggregate belongs, and that are no aggregates.
_SCALAR: Final = frozenset({"col", "column", "expr", "lit", "when", "grouping", "grouping_id", "ntile"}) | {
    *("cume_dist", "percent_rank"),
    *("asc_nulls_first", "asc_nulls_last", "desc_nulls_first", "desc_nulls_last"),
}
AGGREGATES: Final = frozenset({*_PLAIN, *_FIRST, *_WITH_NUMBER, "count"})
_PAIRS: Final = frozenset(
    name for name in _PLAIN if name.startswith(("regr_", "cov", "corr", "max_by", "min_by"))
)


def is_aggregate(name: str) -> bool:
    """Returns whether a function of SQL is an aggregate, also one that panewise does not have.

    >>> is_aggregate("SUM"), is_aggregate("listagg"), is_aggregate("upper")
    (True, True, False)
    """
    lower = name.lower()
    return lower in AGGREGATES or (lower in _REFUSED and lower not in _SCALAR)


@dataclass(frozen=True)
class AggregateCall:
    """A call of an aggregate.

    Attributes:
        name: the function, in lower case.
        columns: the names of the columns that it reads; empty for count(*).
        constants: the constants after them.
        distinct: whether DISTINCT was written.
        ignore_nulls: whether IGNORE NULLS was written.
        condition: the name of a Boolean column, that of FILTER; None if there is none.
    """

    name: str
    columns: tuple[str, ...]
    constants: tuple[Any, ...] = ()
    distinct: bool = False
    ignore_nulls: bool = False
    condition: str | None = None


def aggregate_of(call: AggregateCall, mask: Callable[[str, str], str]) -> Aggregate:
    """Returns the aggregate of a call; `mask` adds a column that is null where a condition is not true.

    Raises:
        SpecError: if panewise does not have it, or it has other arguments.

    >>> aggregate_of(AggregateCall("sum", ("v",), distinct=True), lambda condition, column: column).fn
    'sum_distinct'
    """
    aggregate = _unfiltered(call)
    if call.condition is None:
        return aggregate
    if aggregate.column is None:
        return replace(F.count_if(call.condition), name=aggregate.name)
    if aggregate.takes_nulls:
        return replace(aggregate, condition=call.condition)
    if aggregate.by is not None:
        return replace(aggregate, by=mask(call.condition, aggregate.by))
    return replace(aggregate, column=mask(call.condition, aggregate.column))


def _unfiltered(call: AggregateCall) -> Aggregate:
    """Returns the aggregate of a call without its FILTER."""
    name, count = call.name, len(call.columns)
    if name in _REFUSED:
        rule, remedy = F._REFUSED.get(name, F._REFUSED["percentile_approx"])
        raise SpecError(name, rule, remedy)
    if name == "count" and not call.columns:
        return F.count()
    wanted = 2 if name in _PAIRS else 1
    if count != wanted and not (name == "count" and count):
        rule = f"{name} has {wanted} column{'s' if wanted > 1 else ''}"
        raise SpecError(f"{name} with {count}", rule, "write as many")
    if call.distinct:
        return _of_distinct(call)
    return _first_or_last(call) if name in _FIRST else _with_constants(call)


def _of_distinct(call: AggregateCall) -> Aggregate:
    name = call.name
    if name not in _DISTINCT or call.constants:
        rule = f"the functions that take DISTINCT are {sorted(_DISTINCT)}"
        raise SpecError(f"{name}(DISTINCT ...)", rule, "leave it out")
    return _DISTINCT[name](*call.columns)


def _first_or_last(call: AggregateCall) -> Aggregate:
    name = call.name
    ignore = call.ignore_nulls or call.constants == (True,)
    if call.constants not in ((), (True,), (False,)):
        rule = f"{name} has a Boolean as its second argument"
        raise SpecError(f"{name}(..., {call.constants})", rule, "leave it out")
    return _FIRST[name](call.columns[0], ignore)


def _with_constants(call: AggregateCall) -> Aggregate:
    name = call.name
    if call.ignore_nulls:
        raise SpecError(f"{name} IGNORE NULLS", f"{name} skips nulls anyway", "leave IGNORE NULLS out")
    if name in ("percentile", "percentile_cont"):
        if len(call.constants) != 1:
            raise SpecError(f"{name}", f"{name} has a percentage, one number", "write percentile(v, 0.9)")
        return F.percentile(call.columns[0], call.constants[0])
    if name == "approx_count_distinct":
        return F.approx_count_distinct(call.columns[0], *call.constants)
    if call.constants:
        rule = f"{name} has columns only"
        raise SpecError(f"{name}(..., {call.constants[0]!r})", rule, "leave the constant out")
    return F.count(call.columns[0]) if name == "count" else _PLAIN[name](*call.columns)
