"""Aggregates: the contents of panes. Names and results are those of pyspark.sql.functions (semantics 24).

Users create them with the functions of :mod:`panewise.functions`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

from panewise.choices import check_choice, check_flag, is_choice
from panewise.errors import SpecError
from panewise.spec.aggregates.order_columns import OrderColumn
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.column_expressions import Expression, checked_column
from panewise.spec.fields import check_alias, is_count, is_finite_number, is_name
from panewise.spec.whole_columns import WholeColumn
from panewise.spec.window_spec import Over, WindowSpec

# They read two columns. Only rows in which neither is null count.
PAIRS = frozenset(
    {"corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2"}
    | {"regr_slope", "regr_sxx", "regr_sxy", "regr_syy"}
)
# The state is of bounded size. The order of rows does not matter.
ORDERLESS = PAIRS | frozenset(
    {"count", "count_if", "sum", "avg", "min", "max", "bool_and", "bool_or"}
    | {"stddev", "variance", "stddev_pop", "var_pop", "skewness", "kurtosis", "top_n"}
    | {"product", "bit_and", "bit_or", "bit_xor"}
)
# The state grows with the values; for approx_count_distinct up to a bound. The order of rows does not matter.
GROWING = frozenset(
    {"median", "percentile", "approx_count_distinct", "mode", "sort_list"}
    | {"count_distinct", "sum_distinct", "avg_distinct"}
)
# Order-sensitive. For max_by, min_by and top_n_by only the order among rows of equal `by` matters.
ORDERED = frozenset(
    {"first", "last", "first_n", "last_n", "collect_list", "collect_set"}
    | {"max_by", "min_by", "top_n_by", "user"}
)
FUNCTIONS = ORDERLESS | GROWING | ORDERED
# They rank rows by the values of columns.
RANKINGS = frozenset({"max_by", "min_by", "top_n_by"})
# The result is a list.
LISTS = frozenset({"collect_list", "collect_set", "first_n", "last_n", "sort_list", "top_n", "top_n_by"})

_DEFAULT_NAME = re.compile(r"\w+\(.*\)( FILTER \(WHERE .*\))?", re.DOTALL)
_OPTION_FUNCTIONS: Final = {
    "ignorenulls": {"first", "last", "first_n", "last_n"},
    "percentage": {"percentile"},
    "rsd": {"approx_count_distinct"},
    "user": {"user"},
    "by": RANKINGS | PAIRS,
    "then_by": RANKINGS,
    "n": {"top_n", "top_n_by", "first_n", "last_n"},
    "ascending": {"sort_list", "top_n", "top_n_by"},
    "distinct": {"top_n_by"},
    "nulls": {"collect_list"},
    "condition": {"first", "last", "first_n", "last_n", "collect_list", "user"},
    "more": {"user"},
}


@dataclass(frozen=True)
class Aggregate(WholeColumn):
    """One column of a pane. The functions of :mod:`panewise.functions` create it; `alias` renames it.

    Args:
        fn: the name of the function, or "user" for a user-defined aggregate.
        column: the column that it reads; None for the number of rows.
        name: the name of the resulting column.
        ignorenulls: for first, last, first_n and last_n: whether nulls are skipped.
        percentage: for percentile: a number in [0, 1].
        rsd: for approx_count_distinct: the relative standard deviation of the estimate, in (0, 0.4].
        user: the user-defined aggregate.
        by: for max_by, min_by and top_n_by: the column by whose values rows are ranked; for aggregates of two
            columns, such as corr: the second one.
        n: for top_n, top_n_by, first_n and last_n: the maximum length of the list, 1 or more.
        ascending: for sort_list, top_n and top_n_by: whether the smallest values come first.
        distinct: for top_n_by: whether each value of the column is taken only once.
        then_by: for max_by, min_by and top_n_by: the columns that rank rows of equal `by`, with directions.
        nulls: for collect_list: "include" or "skip". Default: "skip".
        condition: for first and last, first_n and last_n without ignorenulls, for collect_list with nulls and
            for user-defined aggregates: a Boolean column. Rows in which it is not true do not take part.
        more: for user-defined aggregates: the columns that it reads after `column`.
        added: of an aggregate that was added to a state (semantics 47.3): "null" if it is null in panes with
            rows from before, "from_now_on" if it does not count these. `write` and stores set it. Default:
            None, the state has it from the start.

    Raises:
        SpecError: if the function is unknown, or an option is missing, out of range, or of another function.
    """

    fn: str
    column: str | None
    name: str
    ignorenulls: bool = False
    percentage: float | None = None
    rsd: float | None = None
    user: UserFunctions | None = None
    by: str | None = None
    n: int | None = None
    ascending: bool | None = None
    distinct: bool = False
    then_by: tuple[OrderColumn, ...] = ()
    nulls: Literal["include", "skip"] = "skip"
    condition: str | None = None
    more: tuple[str, ...] = ()
    added: Literal["null", "from_now_on"] | None = None

    def __post_init__(self) -> None:
        if self.fn not in FUNCTIONS:
            rule = f"an aggregate is one of {sorted(FUNCTIONS)}"
            raise SpecError(f"fn={self.fn!r}", rule, "use a function of panewise.functions")
        if self.column is None and self.fn != "count":
            rule = "only count takes no column"
            raise SpecError(f"fn={self.fn!r}, column=None", rule, "give a column's name")
        _check_options(self)

    def alias(self, name: str) -> "Aggregate":
        """Returns the same aggregate under another name.

        Raises:
            SpecError: if the name is not a string, or empty.
        """
        check_alias(name)
        return replace(self, name=name)

    def refusal(self) -> SpecError:
        """Returns the error of an expression with this function."""
        rule = "an aggregate is a whole column of the panes, not part of an expression"
        remedy = (
            "give each aggregate an .alias(...), then compute with the columns, as in panes.withColumn(...)"
        )
        return SpecError(f"an expression of {self.name}", rule, remedy)

    def filter(self, condition: Any) -> "Aggregate":
        """Returns the same aggregate over the rows that pass a condition, as SQL's FILTER (WHERE ...).

        Aggregates that skip nulls have a filter on Spark only, where it adds a column to the input of the
        operator.
        Those in which nulls count have it in every runtime: first, last, first_n and last_n without
        ignorenulls, collect_list with nulls, and user-defined aggregates.

        Args:
            condition: a Boolean pyspark Column, or the name of a Boolean column. Null does not pass.

        Raises:
            SpecError: if the condition is no column, or nulls count in the aggregate and it has a filter
                already.

        >>> from panewise import functions as F
        >>> F.sum("v").filter("flag").name
        'sum(v) FILTER (WHERE flag)'

        Source: semantics 24.17, 24.29; SQL FILTER.
        """
        return filtered(self, checked_column(condition))

    def over(self, window: WindowSpec) -> Over:
        """Returns the aggregate over a window of the OVER operator, as in pyspark.

        For instance `F.sum("v").over(Window.partitionBy("k").orderBy("ts").rowsBetween(-2, 0))`.
        """
        return Over(self, window)

    @property
    def ordered(self) -> bool:
        """Whether the aggregate is order-sensitive: whether its result depends on the order of rows."""
        return self.fn in ORDERED and not (self.user is not None and self.user.commutative)

    @property
    def takes_nulls(self) -> bool:
        """Whether nulls count as values."""
        if self.fn in ("first", "last", "first_n", "last_n"):
            return not self.ignorenulls
        return self.user is not None or self.nulls == "include"

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that the aggregate reads."""
        further = (*(order.column for order in self.then_by), *self.more, self.condition)
        names = (self.column, self.by, *further)
        return tuple(column for column in names if column is not None)

    @property
    def ranking(self) -> tuple[OrderColumn, ...]:
        """The columns by which it ranks rows, `by` first; none for other aggregates."""
        if self.by is None or self.fn not in RANKINGS:
            return ()
        return (OrderColumn(self.by, self.fn == "min_by" or self.ascending is True), *self.then_by)


def filtered(aggregate: Aggregate, condition: str) -> Aggregate:
    """Returns the aggregate over the rows in which the condition is true.

    Where nulls count, other rows do not take part. Otherwise the column that it reads is null in them, and
    the aggregate skips nulls. A count of rows becomes count_if.

    Raises:
        SpecError: if nulls count in the aggregate and it has a filter already.
    """
    if aggregate.condition is not None:
        rule, remedy = "an aggregate has one filter", "join the conditions with and"
        raise SpecError(f"{aggregate.name}.filter({condition})", rule, remedy)
    name = aggregate.name
    if has_default_name(name):
        name = f"{name} FILTER (WHERE {condition})"
    if aggregate.column is None:
        return Aggregate("count_if", condition, name)
    if aggregate.takes_nulls:
        return replace(aggregate, name=name, condition=condition)
    masked = aggregate.column if aggregate.by is None else aggregate.by
    column = Expression(f"CASE WHEN {condition} THEN {masked} END", "filter", (masked, condition))
    changes: dict[str, Any] = {"column" if aggregate.by is None else "by": column}
    return replace(aggregate, name=name, **changes)


def has_default_name(name: str) -> bool:
    """Returns whether a name has the form of a function and its arguments, and so is not an alias.

    >>> has_default_name("sum(v)"), has_default_name("total")
    (True, False)
    """
    return _DEFAULT_NAME.fullmatch(name) is not None


def default_name(fn: str, column: str | None, *arguments: Any) -> str:
    """Returns the name of an aggregate without an alias.

    >>> default_name("top_n_by", "flight", "delay", None, 3)
    'top_n_by(flight, delay, 3)'
    """
    shown = ["*" if column is None else column, *(argument for argument in arguments if argument is not None)]
    return f"{fn}({', '.join(map(str, shown))})"


def _check_options(aggregate: Aggregate) -> None:
    """Checks that each option belongs to the function, is given where it is required, and is in range."""
    fn = aggregate.fn
    for field in fields(aggregate):
        value, functions = getattr(aggregate, field.name), _OPTION_FUNCTIONS.get(field.name)
        if functions is None or fn in functions:
            continue
        # Not by identity: a text that reaches a worker is another object.
        if type(value) is not type(field.default) or value != field.default:
            rule = f"{field.name} is an option of {sorted(functions)}"
            raise SpecError(f"{fn}({field.name}={value!r})", rule, f"leave {field.name} out")
    check_flag("ignorenulls", aggregate.ignorenulls, fn)
    check_choice("added", aggregate.added, (None, "null", "from_now_on"))
    if fn == "percentile":
        _check_fraction("percentage", aggregate.percentage, low_included=True, high=1.0)
    if fn == "approx_count_distinct":
        _check_fraction("rsd", aggregate.rsd, low_included=False, high=0.4)
    if fn == "user" and aggregate.user is None:
        rule = "a user-defined aggregate has a UserAggregate"
        raise SpecError("fn='user', user=None", rule, "call a UserAggregate with a column")
    _check_ranking(aggregate)
    _check_rows(aggregate)


def _check_rows(aggregate: Aggregate) -> None:
    """Checks which rows take part, and the further columns of a user-defined aggregate."""
    if not is_choice(aggregate.nulls, ("include", "skip")):
        rule = "nulls are included or skipped"
        raise SpecError(f"{aggregate.fn}(nulls={aggregate.nulls!r})", rule, "give 'include' or 'skip'")
    condition, more = aggregate.condition, aggregate.more
    if condition is not None and not aggregate.takes_nulls:
        rule = "a condition is for aggregates in which nulls count"
        raise SpecError(f"{aggregate.fn}(condition={condition!r})", rule, "use .filter(...), or leave it out")
    names = (*(() if condition is None else (condition,)), *(more if isinstance(more, tuple) else (None,)))
    if not all(map(is_name, names)):
        options = f"{aggregate.fn}(condition={condition!r}, more={more!r})"
        raise SpecError(options, "columns are named by non-empty strings", "give the columns' names")


def _check_ranking(aggregate: Aggregate) -> None:
    """Checks the options of rankings: `by`, `n`, `ascending` and `distinct`."""
    fn, by, n = aggregate.fn, aggregate.by, aggregate.n
    if fn in _OPTION_FUNCTIONS["by"] and not is_name(by):
        rule = f"{fn} reads two columns" if fn in PAIRS else f"{fn} ranks rows by a column"
        raise SpecError(f"{fn}(by={by!r})", rule, "give by=, the name of a column")
    _check_then_by(aggregate)
    if fn in _OPTION_FUNCTIONS["n"] and not is_count(n):
        rule = f"{fn} takes a whole number of values, one or more"
        raise SpecError(f"{fn}(n={n!r})", rule, "give n=1 or more")
    for option, value in (("ascending", aggregate.ascending), ("distinct", aggregate.distinct)):
        if fn in _OPTION_FUNCTIONS[option]:
            check_flag(option, value, fn)


def _check_then_by(aggregate: Aggregate) -> None:
    """Checks that the further columns of a ranking have directions, and are others than `by`."""
    fn, orders = aggregate.fn, aggregate.then_by
    if not isinstance(orders, tuple) or not all(isinstance(order, OrderColumn) for order in orders):
        rule = "then_by is a tuple of order columns"
        raise SpecError(f"{fn}(then_by={orders!r})", rule, "give asc(...) and desc(...)")
    names = [aggregate.by, *(order.column for order in orders)]
    twice = [name for n, name in enumerate(names) if name in names[:n]]
    if twice:
        rule = "a column orders rows once; a second time it has no effect"
        raise SpecError(f"{fn}(by={twice[0]!r} twice)", rule, "leave it out the second time")


def _check_fraction(name: str, value: float | None, *, low_included: bool, high: float) -> None:
    is_allowed = is_finite_number(value) and value is not None and 0 <= value <= high
    if not is_allowed or (value == 0 and not low_included):
        bound = f"{'[' if low_included else '('}0, {high}]"
        raise SpecError(f"{name}={value!r}", f"{name} is a number in {bound}", f"give one in {bound}")


def with_names(what: Any, names: Mapping[str, str]) -> Any:
    """Returns an aggregate or row function over columns with other names, also in its default name.

    >>> renamed = with_names(Aggregate("sum", "v", "sum(v)"), {"v": "w"})
    >>> renamed.column, renamed.name
    ('w', 'sum(w)')
    """
    name = what.name
    if has_default_name(name):
        for old in sorted(names, key=len, reverse=True):
            name = name.replace(old, names[old])
    changes: dict[str, Any] = {"name": name, "column": names.get(what.column, what.column)}
    if isinstance(what, Aggregate):
        changes["by"] = names.get(what.by or "", what.by)
        changes["condition"] = names.get(what.condition or "", what.condition)
        changes["more"] = tuple(names.get(column, column) for column in what.more)
        changes["then_by"] = tuple(
            replace(order, column=names.get(order.column, order.column)) for order in what.then_by
        )
    return replace(what, **changes)


def check_made(name: str, values: Iterable[Any], example: str = "F.count()") -> None:
    """Refuses values of a field that are no aggregates."""
    for value in values:
        if not isinstance(value, Aggregate):
            rule = "aggregates are made by panewise.functions"
            raise SpecError(f"{name}=[{value!r}]", rule, f"give one such as {example}")


def check_some(aggregates: tuple[Any, ...], example: str) -> None:
    """Refuses aggregates of panes that are none, or no aggregates."""
    check_made("aggregates", aggregates, example)
    if not aggregates:
        rule = "a pane contains at least one aggregate"
        raise SpecError("aggregates=()", rule, f"give one such as {example}")
