"""User-defined aggregates of both sides as values (semantics 43.5)."""

from functools import partial
from typing import Any

import pytest

from panewise import MergeAggregate, SpecError, UserMergeAggregate

FUNCTIONS = {
    "init": lambda: 0,
    "accumulate_left": lambda state, value: state,
    "accumulate_right": lambda state, value: state,
    "merge": lambda one, other: one,
    "finish": lambda state: state,
}
made = partial(UserMergeAggregate, "mine", **FUNCTIONS)
TYPES = (
    "the result of a user-defined aggregate is bigint, double, string, boolean or decimal(p,s), or a list, a "
    "struct or a map of these"
)
NAMES = "columns are named by non-empty strings"
REFUSED: list[tuple[Any, tuple[str, str, str]]] = [
    (lambda: made(result="int"), ("result='int'", TYPES, "give one of these, or such as 'array<bigint>'")),
    *(
        (partial(made, **{name: 5}), (f"{name}=5", f"{name} is a function", f"give a function as {name}"))
        for name in FUNCTIONS
    ),
    (
        lambda: MergeAggregate("mine", "v", "w", "n"),  # type: ignore[arg-type]
        (
            "user='mine'",
            "an aggregate of both sides is a UserMergeAggregate over a column of each",
            "call a UserMergeAggregate with two columns",
        ),
    ),
    (lambda: made()("v", "w").alias(""), ("column ''", NAMES, "give the column's name")),
    (
        lambda: made()("v", 5),
        (
            "column=5",
            "an aggregate reads a column",
            "give its name, or a column of pyspark.sql.functions",
        ),
    ),
]


@pytest.mark.parametrize(("call", "parts"), REFUSED, ids=[parts[0] for _, parts in REFUSED])
def test_what_is_refused(call: Any, parts: tuple[str, str, str]) -> None:
    with pytest.raises(SpecError) as caught:
        call()
    assert (caught.value.given, caught.value.rule, caught.value.remedy) == parts


def test_a_call_makes_an_aggregate() -> None:
    user = made(result="array<string>")
    what = user("v", "w")
    assert what == MergeAggregate(user, "v", "w", "mine(v, w)")
    assert what.alias("both").name == "both"
    assert (what.of("left"), what.of("right")) == ("v", "w")
    assert user == UserMergeAggregate("mine", **{**FUNCTIONS, "init": lambda: 1}, result="array<string>")
    assert user != made()
