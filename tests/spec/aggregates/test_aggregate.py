"""Aggregates: every rule of their options, and filters."""

import copy

import pytest

from panewise import Aggregate
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import FUNCTIONS, PAIRS, RANKINGS, with_names
from panewise.spec.aggregates.types import check_aggregates
from panewise.spec.column_types import Type
from tests.spec.cases import Rule, check

RULES = {
    "functions are known": Rule(
        lambda: Aggregate("sum", "v", "a"),
        lambda: Aggregate("entropy", "v", "a"),
        f"fn='entropy' | an aggregate is one of {sorted(FUNCTIONS)} | use a function of panewise.functions",
    ),
    "only count takes no column": Rule(
        lambda: Aggregate("count", None, "a"),
        lambda: Aggregate("sum", None, "a"),
        "fn='sum', column=None | only count takes no column | give a column's name",
    ),
    "an alias is a name": Rule(
        lambda: F.sum("v").alias("a"),
        lambda: F.sum("v").alias(""),
        "name='' | an alias is a column name | give a non-empty string",
    ),
    "a column is a name": Rule(
        lambda: F.sum("a b"),
        lambda: F.sum(" v"),
        "column=' v' | an aggregate reads a column | give its name, or a column of pyspark.sql.functions",
    ),
    "ignorenulls belongs to the first and the last rows": Rule(
        lambda: Aggregate("last", "v", "a", ignorenulls=True),
        lambda: Aggregate("sum", "v", "a", ignorenulls=True),
        "sum(ignorenulls=True) | ignorenulls is an option of ['first', 'first_n', 'last', 'last_n'] | leave "
        "ignorenulls out",
    ),
    "percentage belongs to percentile": Rule(
        lambda: Aggregate("percentile", "v", "a", percentage=0.5),
        lambda: Aggregate("median", "v", "a", percentage=0.5),
        "median(percentage=0.5) | percentage is an option of ['percentile'] | leave percentage out",
    ),
    "rsd belongs to approx_count_distinct": Rule(
        lambda: Aggregate("approx_count_distinct", "v", "a", rsd=0.1),
        lambda: Aggregate("count", "v", "a", rsd=0.1),
        "count(rsd=0.1) | rsd is an option of ['approx_count_distinct'] | leave rsd out",
    ),
    "by belongs to rankings": Rule(
        lambda: Aggregate("max_by", "v", "a", by="b"),
        lambda: Aggregate("max", "v", "a", by="b"),
        f"max(by='b') | by is an option of {sorted(RANKINGS | PAIRS)} | leave by out",
    ),
    "by is given": Rule(
        lambda: F.min_by("v", "b"),
        lambda: Aggregate("min_by", "v", "a"),
        "min_by(by=None) | min_by ranks rows by a column | give by=, the name of a column",
    ),
    "n belongs to the first of a ranking": Rule(
        lambda: F.top_n("v", 2),
        lambda: Aggregate("collect_list", "v", "a", n=2),
        "collect_list(n=2) | n is an option of ['first_n', 'last_n', 'top_n', 'top_n_by'] | leave n out",
    ),
    "first_n has one row or more": Rule(
        lambda: F.first_n("v", 1),
        lambda: F.first_n("v", 0),
        "first_n(n=0) | first_n takes a whole number of values, one or more | give n=1 or more",
    ),
    "a limit is one or more": Rule(
        lambda: F.collect_list("v", limit=1),
        lambda: F.collect_list("v", limit=0),
        "collect_list(limit=0) | the limit of a list is a whole number of values, one or more | give limit=1 "
        "or more",
    ),
    "nulls are included or skipped": Rule(
        lambda: F.collect_list("v", nulls="skip"),
        lambda: F.collect_list("v", nulls="keep", limit=2),  # type: ignore[arg-type]
        "collect_list(nulls='keep') | nulls are included or skipped | give 'include' or 'skip'",
    ),
    "nulls belongs to collect_list": Rule(
        lambda: Aggregate("collect_list", "v", "a", nulls="include"),
        lambda: Aggregate("collect_set", "v", "a", nulls="include"),
        "collect_set(nulls='include') | nulls is an option of ['collect_list'] | leave nulls out",
    ),
    "a condition is for nulls that count": Rule(
        lambda: Aggregate("first", "v", "a", condition="ok"),
        lambda: Aggregate("first", "v", "a", ignorenulls=True, condition="ok"),
        "first(condition='ok') | a condition is for aggregates in which nulls count | use .filter(...), or "
        "leave it out",
    ),
    "a condition is a column": Rule(
        lambda: Aggregate("last", "v", "a", condition="ok"),
        lambda: Aggregate("last", "v", "a", condition=""),
        "last(condition='', more=()) | columns are named by non-empty strings | give the columns' names",
    ),
    "more belongs to user-defined aggregates": Rule(
        lambda: Aggregate("last", "v", "a"),
        lambda: Aggregate("last", "v", "a", more=("w",)),
        "last(more=('w',)) | more is an option of ['user'] | leave more out",
    ),
    "an aggregate has one filter": Rule(
        lambda: F.first("v").filter("ok"),
        lambda: F.first("v").filter("ok").filter("good"),
        "first(v) FILTER (WHERE ok).filter(good) | an aggregate has one filter | join the conditions with "
        "and",
    ),
    "n is given": Rule(
        lambda: F.top_n_by("v", "b", 1),
        lambda: Aggregate("top_n_by", "v", "a", by="b", ascending=True),
        "top_n_by(n=None) | top_n_by takes a whole number of values, one or more | give n=1 or more",
    ),
    "ascending belongs to what is sorted": Rule(
        lambda: F.sort_list("v", ascending=False),
        lambda: Aggregate("max", "v", "a", ascending=False),
        "max(ascending=False) | ascending is an option of ['sort_list', 'top_n', 'top_n_by'] | leave "
        "ascending out",
    ),
    "distinct belongs to top_n_by": Rule(
        lambda: F.top_n_by("v", "b", 1, distinct=True),
        lambda: Aggregate("top_n", "v", "a", n=1, ascending=True, distinct=True),
        "top_n(distinct=True) | distinct is an option of ['top_n_by'] | leave distinct out",
    ),
    "a percentage is at most 1": Rule(
        lambda: F.percentile("v", 1.0),
        lambda: F.percentile("v", 1.1),
        "percentage=1.1 | percentage is a number in [0, 1.0] | give one in [0, 1.0]",
    ),
    "a percentage is at least 0": Rule(
        lambda: F.percentile("v", 0),
        lambda: F.percentile("v", -0.1),
        "percentage=-0.1 | percentage is a number in [0, 1.0] | give one in [0, 1.0]",
    ),
    "a percentage is a number": Rule(
        lambda: F.percentile("v", 0.5),
        lambda: F.percentile("v", "0.5"),  # type: ignore[arg-type]
        "percentage='0.5' | percentage is a number in [0, 1.0] | give one in [0, 1.0]",
    ),
    "an rsd is above 0": Rule(
        lambda: F.approx_count_distinct("v", 0.001),
        lambda: F.approx_count_distinct("v", 0),
        "rsd=0 | rsd is a number in (0, 0.4] | give one in (0, 0.4]",
    ),
    "an rsd is at most 0.4": Rule(
        lambda: F.approx_count_distinct("v", 0.4),
        lambda: F.approx_count_distinct("v", 0.5),
        "rsd=0.5 | rsd is a number in (0, 0.4] | give one in (0, 0.4]",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_a_filter_names_what_it_makes_null() -> None:
    """semantics 24.17: the column that a filter makes null is `by` for `max_by`; `count()` is `count_if`."""
    assert F.count().filter("flag") == Aggregate("count_if", "flag", "count(*) FILTER (WHERE flag)")
    made = F.max_by("v", "t").filter("flag")
    assert (made.column, made.by) == ("v", "CASE WHEN flag THEN t END")
    assert copy.copy(made.by) == made.by


def test_a_filter_of_an_aggregate_in_which_nulls_count() -> None:
    """semantics 24.29: the condition is a column of its own."""
    made = F.last("v").filter("ok")
    assert made == Aggregate("last", "v", "last(v) FILTER (WHERE ok)", condition="ok")
    assert made.columns == ("v", "ok")
    assert F.last("v", ignorenulls=True).filter("ok").condition is None
    assert F.collect_list("v", nulls="include").filter("ok").condition == "ok"
    assert F.collect_list("v", limit=2) == Aggregate(
        "first_n", "v", "collect_list(v, 2)", n=2, ignorenulls=True
    )


def test_a_condition_is_boolean() -> None:
    """semantics 24.29: a column of another type is refused."""
    check_aggregates([F.first("v").filter("ok")], {"ok": Type("boolean")})
    with pytest.raises(SpecError) as error:
        check_aggregates([F.first("v").filter("ok")], {"ok": Type("bigint")})
    assert error.value.args[0] == (
        "'first(v) FILTER (WHERE ok)' with the condition ok: bigint | a condition is a Boolean column | make "
        "one before the operator"
    )


def test_names_of_all_columns_change() -> None:
    """A column has its other name wherever an aggregate reads it."""
    names = {"v": "w", "ok": "good", "b": "c"}
    made = with_names(Aggregate("max_by", "v", "max", by="b", then_by=(F.asc("v"),)), names)
    assert made.columns == ("w", "c", "w")
    assert with_names(F.first("v").filter("ok"), names).columns == ("w", "good")
