"""Rankings: every rule, and the columns that they read."""

import pytest

from panewise import Global, WindowOperator
from panewise import functions as F
from tests.spec.cases import Rule, check

RULES = {
    "by is a column": Rule(
        lambda: F.max_by("v", "b"),
        lambda: F.max_by("v", ""),
        "column='' | an aggregate reads a column | give its name, or a column of pyspark.sql.functions",
    ),
    "n is one or more": Rule(
        lambda: F.top_n("v", 1),
        lambda: F.top_n("v", 0),
        "top_n(n=0) | top_n takes a whole number of values, one or more | give n=1 or more",
    ),
    "n is no bool": Rule(
        lambda: F.top_n("v", 1),
        lambda: F.top_n("v", True),
        "top_n(n=True) | top_n takes a whole number of values, one or more | give n=1 or more",
    ),
    "k is one or more": Rule(
        lambda: F.max_by("v", "b", 1),
        lambda: F.max_by("v", "b", 0),
        "top_n_by(n=0) | top_n_by takes a whole number of values, one or more | give n=1 or more",
    ),
    "ascending is a bool": Rule(
        lambda: F.sort_list("v"),
        lambda: F.sort_list("v", ascending="desc"),  # type: ignore[arg-type]
        "sort_list(ascending='desc') | ascending is True or False | give one of these",
    ),
    "distinct is a bool": Rule(
        lambda: F.top_n_by("v", "b", 1, distinct=False),
        lambda: F.top_n_by("v", "b", 1, distinct="page"),  # type: ignore[arg-type]
        "top_n_by(distinct='page') | distinct is True or False | give one of these",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_a_ranking_reads_two_columns() -> None:
    assert F.max_by("v", "b").columns == ("v", "b")
    assert F.count().columns == ()
    spec = WindowOperator(window=Global(), aggregates=[F.top_n_by("v", "b", 1), F.max("c")])
    assert spec.columns_read == ("event_time", "v", "b", "c")
