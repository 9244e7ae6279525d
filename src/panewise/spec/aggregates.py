"""Aggregates: what a pane holds. Names and results are those of pyspark.sql.functions (semantics 24)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from panewise.errors import SpecError

JsonValue = Any  # what json.loads can return
ResultType = Literal["bigint", "double", "string", "boolean"]

ORDERLESS = frozenset({"count", "sum", "avg", "min", "max", "stddev", "variance"})  # small state, and the order of rows does not matter
GATHERING = frozenset({"median", "percentile", "approx_count_distinct"})  # state grows with the values; order does not matter
ORDERED = frozenset({"first", "last", "collect_list", "collect_set", "user"})  # the order of rows matters
FUNCTIONS = ORDERLESS | GATHERING | ORDERED


@dataclass(frozen=True)
class UserAggregate:
    """An aggregate of your own.

    Args:
        name: the name by which JSON refers to it.
        init: gives the state of no rows. States are JSON values, and are not changed in place.
        accumulate: takes a state and a value (None for a null), gives the next state.
        merge: takes two states, the earlier first, gives the state of both.
        finish: takes a state, gives the result.
        result: type of the result: "bigint", "double", "string" or "boolean".

    >>> longest = UserAggregate("longest", init=lambda: "", accumulate=lambda s, v: max(s, v or "", key=len),
    ...                         merge=lambda a, b: max(a, b, key=len), finish=lambda s: s, result="string")
    >>> longest("word").alias("w").name
    'w'

    Source: semantics 24.7; Beam CombineFn, S4 Accumulation.
    """

    name: str
    init: Callable[[], JsonValue] = field(compare=False, repr=False)
    accumulate: Callable[[JsonValue, Any], JsonValue] = field(compare=False, repr=False)
    merge: Callable[[JsonValue, JsonValue], JsonValue] = field(compare=False, repr=False)
    finish: Callable[[JsonValue], Any] = field(compare=False, repr=False)
    result: ResultType = "double"

    def __post_init__(self) -> None:
        if self.result not in ("bigint", "double", "string", "boolean"):
            rule = "the result of a user-defined aggregate is bigint, double, string or boolean"
            raise SpecError(f"result={self.result!r}", rule, "give one of these")
        for part in ("init", "accumulate", "merge", "finish"):
            if not callable(getattr(self, part)):
                raise SpecError(f"{part}={getattr(self, part)!r}", f"{part} is a function", f"give a function as {part}")

    def __call__(self, column: str) -> "Aggregate":
        """The aggregate over a column."""
        return Aggregate("user", _column(column), f"{self.name}({column})", user=self)


@dataclass(frozen=True)
class Aggregate:
    """One column of a pane. Made by the functions of :mod:`panewise.functions`; `alias` names it."""

    fn: str
    column: str | None
    name: str
    ignorenulls: bool = False
    percentage: float | None = None
    rsd: float | None = None
    user: UserAggregate | None = None

    def __post_init__(self) -> None:
        if self.fn not in FUNCTIONS:
            raise SpecError(f"fn={self.fn!r}", f"an aggregate is one of {sorted(FUNCTIONS)}", "use a function of panewise.functions")
        if self.column is None and self.fn != "count":
            raise SpecError(f"fn={self.fn!r}, column=None", "only count takes no column", "give a column's name")
        _check_options(self)

    def alias(self, name: str) -> "Aggregate":
        """The same aggregate under another name."""
        if not isinstance(name, str) or not name:
            raise SpecError(f"name={name!r}", "an alias is a column name", "give a non-empty string")
        return replace(self, name=name)


def _check_options(aggregate: Aggregate) -> None:
    """Each option belongs to the functions that obey it, and is in range."""
    takers = {
        "ignorenulls": (aggregate.ignorenulls is not False, {"first", "last"}),
        "percentage": (aggregate.percentage is not None, {"percentile"}),
        "rsd": (aggregate.rsd is not None, {"approx_count_distinct"}),
        "user": (aggregate.user is not None, {"user"}),
    }
    for option, (given, functions) in takers.items():
        if given and aggregate.fn not in functions:
            value = getattr(aggregate, option)
            raise SpecError(f"{aggregate.fn}({option}={value!r})", f"{option} belongs to {sorted(functions)}", f"leave {option} out")
    _check_fraction("percentage", aggregate.percentage, needed=aggregate.fn == "percentile", low_included=True, high=1.0)
    _check_fraction("rsd", aggregate.rsd, needed=aggregate.fn == "approx_count_distinct", low_included=False, high=0.4)
    if aggregate.fn == "user" and aggregate.user is None:
        raise SpecError("fn='user', user=None", "a user-defined aggregate has a UserAggregate", "call a UserAggregate with a column")


def _check_fraction(name: str, value: float | None, *, needed: bool, low_included: bool, high: float) -> None:
    if not needed:
        return
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not numeric or not 0 <= value <= high or (value == 0 and not low_included):  # type: ignore[operator]
        bound = f"{'[' if low_included else '('}0, {high}]"
        raise SpecError(f"{name}={value!r}", f"{name} is a number in {bound}", f"give one in {bound}")


_PLAIN = re.compile(r"^\S(.*\S)?$")


def _column(column: str) -> str:
    if not isinstance(column, str) or not _PLAIN.match(column):
        raise SpecError(
            f"column={column!r}", "an aggregate reads a column by its name", "give the name; compute expressions before the operator"
        )
    return column


def count(column: str = "*") -> Aggregate:
    """Rows of the window ("*"), or values of the column that are not null. Type bigint."""
    return Aggregate("count", None if column == "*" else _column(column), f"count({column})")


def sum(column: str) -> Aggregate:
    """Sum of the values that are not null; null without any. bigint of whole numbers, double of floats, decimal(p+10, s) of decimals."""
    return Aggregate("sum", _column(column), f"sum({column})")


def avg(column: str) -> Aggregate:
    """Mean of the values that are not null; null without any. double; decimal(p+4, s+4) of decimals."""
    return Aggregate("avg", _column(column), f"avg({column})")


mean = avg


def min(column: str) -> Aggregate:
    """Smallest value that is not null; NaN is the largest. The column's type."""
    return Aggregate("min", _column(column), f"min({column})")


def max(column: str) -> Aggregate:
    """Largest value that is not null; NaN is the largest. The column's type."""
    return Aggregate("max", _column(column), f"max({column})")


def first(column: str, ignorenulls: bool = False) -> Aggregate:
    """Value of the first row in arrival order, or of the first that is not null."""
    return Aggregate("first", _column(column), f"first({column})", ignorenulls=ignorenulls)


def last(column: str, ignorenulls: bool = False) -> Aggregate:
    """Value of the last row in arrival order, or of the last that is not null."""
    return Aggregate("last", _column(column), f"last({column})", ignorenulls=ignorenulls)


def stddev(column: str) -> Aggregate:
    """Sample standard deviation; null for fewer than two values. Type double."""
    return Aggregate("stddev", _column(column), f"stddev({column})")


def variance(column: str) -> Aggregate:
    """Sample variance; null for fewer than two values. Type double."""
    return Aggregate("variance", _column(column), f"variance({column})")


def collect_list(column: str) -> Aggregate:
    """The values that are not null, in arrival order."""
    return Aggregate("collect_list", _column(column), f"collect_list({column})")


def collect_set(column: str) -> Aggregate:
    """The different values that are not null, in order of first arrival."""
    return Aggregate("collect_set", _column(column), f"collect_set({column})")


def median(column: str) -> Aggregate:
    """Exact median, interpolated; null without values. Type double."""
    return Aggregate("median", _column(column), f"median({column})")


def percentile(column: str, percentage: float) -> Aggregate:
    """Exact percentile, interpolated linearly; `percentage` in [0, 1]. Type double."""
    return Aggregate("percentile", _column(column), f"percentile({column}, {percentage})", percentage=percentage)


def approx_count_distinct(column: str, rsd: float = 0.05) -> Aggregate:
    """Number of different values that are not null: exact while few, else with relative standard deviation `rsd`. Type bigint."""
    return Aggregate("approx_count_distinct", _column(column), f"approx_count_distinct({column})", rsd=rsd)
