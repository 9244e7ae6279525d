"""Rankings: every rule, and the columns that they read."""

import pytest

from panewise import Aggregate, Global, WindowOperator
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
    "by is not empty": Rule(
        lambda: F.max_by("v", ["b"]),
        lambda: F.max_by("v", []),
        "max_by(by=[]) | max_by ranks rows by a column or several | give by=",
    ),
    "a column ranks once": Rule(
        lambda: F.min_by("v", ["b", "c"]),
        lambda: F.min_by("v", ["b", F.desc("b")]),
        "min_by(by='b' twice) | a column orders rows once; a second time it has no effect | leave it out the "
        "second time",
    ),
    "max_by takes the largest": Rule(
        lambda: F.max_by("v", [F.desc("b"), F.asc("c")]),
        lambda: F.max_by("v", F.asc("b")),
        "max_by(by=asc('b')) | max_by takes the row with the largest value of its first column | use min_by",
    ),
    "max_by takes the largest k": Rule(
        lambda: F.max_by("v", F.desc("b"), k=2),
        lambda: F.max_by("v", F.asc("b"), k=2),
        "max_by(by=asc('b')) | max_by takes the row with the largest value of its first column | use min_by",
    ),
    "min_by takes the smallest": Rule(
        lambda: F.min_by("v", [F.asc("b"), F.desc("c")]),
        lambda: F.min_by("v", [F.desc("b"), "c"]),
        "min_by(by=desc('b')) | min_by takes the row with the smallest value of its first column | use "
        "max_by",
    ),
    "ascending has an effect": Rule(
        lambda: F.top_n_by("v", [F.desc("b"), "c"], 1, ascending=True),
        lambda: F.top_n_by("v", [F.desc("b"), F.desc("c")], 1, ascending=True),
        "top_n_by(ascending=True) | ascending is the direction of columns without one, and all columns have "
        "one | leave ascending out",
    ),
    "then_by has order columns": Rule(
        lambda: Aggregate("max_by", "v", "a", by="b", then_by=(F.asc("c"),)),
        lambda: Aggregate("max_by", "v", "a", by="b", then_by=("c",)),  # type: ignore[arg-type]
        "max_by(then_by=('c',)) | then_by is a tuple of order columns | give asc(...) and desc(...)",
    ),
    "then_by belongs to rankings": Rule(
        lambda: Aggregate("min_by", "v", "a", by="b", then_by=(F.asc("c"),)),
        lambda: Aggregate("corr", "v", "a", by="b", then_by=(F.asc("c"),)),
        "corr(then_by=(OrderColumn(column='c', ascending=True),)) | "
        "then_by is an option of ['max_by', 'min_by', "
        "'top_n_by'] | leave then_by out",
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
    assert F.max_by("v", ["b", "c"]).columns == ("v", "b", "c")
    assert F.count().columns == ()
    spec = WindowOperator(window=Global(), aggregates=[F.top_n_by("v", "b", 1), F.max("c")])
    assert spec.columns_read == ("event_time", "v", "b", "c")


def test_directions_of_several_columns() -> None:
    """semantics 24.26: a column without a direction has that of the function."""
    made = F.top_n_by("v", ["a", F.asc("b"), F.desc("c")], 2)
    assert made.ranking == (F.desc("a"), F.asc("b"), F.desc("c"))
    assert F.top_n_by("v", [F.desc("a"), "b"], 2, ascending=True).ranking == (F.desc("a"), F.asc("b"))
    assert F.min_by("v", ["a", "b"]).ranking == (F.asc("a"), F.asc("b"))
    assert F.max_by("v", [F.desc("a")]) == F.max_by("v", "a")
    assert F.corr("v", "b").ranking == ()
