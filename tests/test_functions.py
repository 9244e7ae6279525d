"""The names of panewise.functions and those that it refuses."""

import pytest

from panewise import functions as F


@pytest.mark.parametrize(
    ("alias", "named"),
    [
        ("mean", "avg"),
        ("std", "stddev"),
        ("stddev_samp", "stddev"),
        ("var_samp", "variance"),
        ("array_agg", "collect_list"),
        ("any_value", "first"),
        ("every", "bool_and"),
        ("some", "bool_or"),
    ],
)
def test_other_names_of_pyspark(alias: str, named: str) -> None:
    assert getattr(F, alias)("v") == getattr(F, named)("v")


def test_names_that_a_stream_does_not_have_are_not_there_and_say_why() -> None:
    assert not hasattr(F, "expr")
    assert not hasattr(F, "nothing_at_all")
    with pytest.raises(
        AttributeError, match=r"^panewise.functions.expr \| columns and expressions come from pyspark"
    ):
        F.expr  # noqa: B018
