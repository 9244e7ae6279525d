"""Aggregates: every rule of their options, and filters."""

import copy

import pytest

from panewise import Aggregate
from panewise import functions as F
from panewise.spec.aggregates.aggregate import FUNCTIONS, PAIRS, RANKINGS
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
    "ignorenulls belongs to first and last": Rule(
        lambda: Aggregate("last", "v", "a", ignorenulls=True),
        lambda: Aggregate("sum", "v", "a", ignorenulls=True),
        "sum(ignorenulls=True) | ignorenulls belongs to ['first', 'last'] | leave ignorenulls out",
    ),
    "percentage belongs to percentile": Rule(
        lambda: Aggregate("percentile", "v", "a", percentage=0.5),
        lambda: Aggregate("median", "v", "a", percentage=0.5),
        "median(percentage=0.5) | percentage belongs to ['percentile'] | leave percentage out",
    ),
    "rsd belongs to approx_count_distinct": Rule(
        lambda: Aggregate("approx_count_distinct", "v", "a", rsd=0.1),
        lambda: Aggregate("count", "v", "a", rsd=0.1),
        "count(rsd=0.1) | rsd belongs to ['approx_count_distinct'] | leave rsd out",
    ),
    "by belongs to rankings": Rule(
        lambda: Aggregate("max_by", "v", "a", by="b"),
        lambda: Aggregate("max", "v", "a", by="b"),
        f"max(by='b') | by belongs to {sorted(RANKINGS | PAIRS)} | leave by out",
    ),
    "by is given": Rule(
        lambda: F.min_by("v", "b"),
        lambda: Aggregate("min_by", "v", "a"),
        "min_by(by=None) | min_by ranks rows by a column | give by=, the name of a column",
    ),
    "n belongs to the first of a ranking": Rule(
        lambda: F.top_n("v", 2),
        lambda: Aggregate("collect_list", "v", "a", n=2),
        "collect_list(n=2) | n belongs to ['top_n', 'top_n_by'] | leave n out",
    ),
    "n is given": Rule(
        lambda: F.top_n_by("v", "b", 1),
        lambda: Aggregate("top_n_by", "v", "a", by="b", ascending=True),
        "top_n_by(n=None) | top_n_by takes a whole number of values, one or more | give n=1 or more",
    ),
    "ascending belongs to what is sorted": Rule(
        lambda: F.sort_list("v", ascending=False),
        lambda: Aggregate("max", "v", "a", ascending=False),
        "max(ascending=False) | ascending belongs to ['sort_list', 'top_n', 'top_n_by'] | leave "
        "ascending out",
    ),
    "distinct belongs to top_n_by": Rule(
        lambda: F.top_n_by("v", "b", 1, distinct=True),
        lambda: Aggregate("top_n", "v", "a", n=1, ascending=True, distinct=True),
        "top_n(distinct=True) | distinct belongs to ['top_n_by'] | leave distinct out",
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
