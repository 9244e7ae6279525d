"""The functions that make aggregates: the names of their columns, and that aggregates are values."""

import pytest

from panewise import Aggregate
from panewise import functions as F
from tests.spec.cases import user


@pytest.mark.parametrize(
    ("aggregate", "name"),
    [
        (F.count(), "count(*)"),
        (F.count("v"), "count(v)"),
        (F.percentile("v", 0.9), "percentile(v, 0.9)"),
        (F.first("v", True), "first(v)"),
        (user()("v"), "mine(v)"),
        (F.max_by("v", "b"), "max_by(v, b)"),
        (F.max_by("v", "b", 3), "top_n_by(v, b, 3)"),
        (F.top_n("v", 3, ascending=True), "top_n(v, 3)"),
        (F.sort_list("v"), "sort_list(v)"),
    ],
)
def test_names_of_aggregates(aggregate: Aggregate, name: str) -> None:
    assert aggregate.name == name
    assert aggregate.alias("other").name == "other"


def test_aggregates_are_values() -> None:
    assert F.mean("v") == F.avg("v") != F.avg("w")
