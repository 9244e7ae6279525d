"""Expressions that aggregates read as one column."""

from panewise import functions as F


def test_several_columns_are_counted_as_one() -> None:
    """semantics 24.18: `count_distinct` of several columns reads one column of their combinations."""
    assert F.count_distinct("a", "`b.c`").column == "a, b.c"
    assert F.count_distinct("a", "b").name == "count_distinct(a, b)"
