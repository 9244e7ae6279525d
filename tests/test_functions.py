"""The names of panewise.functions and those that it refuses."""

import inspect
import re

import pyspark.sql.functions
import pytest

from panewise import functions as F
from panewise.errors import RefusedNameError


def spark_aggregates() -> list[str]:
    """Returns the aggregate functions of Spark: pyspark lists its functions by kind."""
    source = inspect.getsource(pyspark.sql.functions)
    section = re.search(r"# Aggregate Functions\n(.*?)\n    # ", source, re.DOTALL)
    assert section is not None
    names = re.findall(r'"(\w+)"', section[1])
    others = ["approxCountDistinct", "countDistinct", "sumDistinct"]
    assert {"sum", "corr", "variance"} <= {*names}
    return [*names, *(name for name in others if hasattr(pyspark.sql.functions, name))]


@pytest.mark.parametrize("name", spark_aggregates())
def test_every_aggregate_of_spark_is_offered_or_refused_by_name(name: str) -> None:
    """semantics 24.23: the error has a rule, and says what to use instead."""
    if name in F.__all__:
        assert callable(getattr(F, name))
        return
    with pytest.raises(RefusedNameError, match=rf"^panewise.functions.{name} \| [^|]+ \| [^|]+$") as error:
        getattr(F, name)
    remedy = error.value.args[0].split(" | ")[2]
    assert any(re.search(rf"\b{one}\b", remedy) for one in [*F.__all__, "operator", "pyspark's"])


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
    with pytest.raises(AttributeError, match="has no attribute 'cuont', but count; user-defined"):
        F.cuont  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"^panewise.functions.expr \| panewise.functions has aggregates; columns and"
    ):
        F.expr  # noqa: B018
