"""User-defined aggregates: every rule of the class and of its constructors."""

from typing import Any

import pytest

from panewise import Aggregate, UserAggregate
from panewise.errors import SpecError
from tests.spec.cases import Rule, check, nothing, user


def fold(initial: Any) -> UserAggregate:
    return UserAggregate.fold("f", initial, lambda s, v: s + v, combine=lambda a, b: a + b, result="string")


RULES = {
    "a reducing function is a function": Rule(
        lambda: UserAggregate.reduce("r", nothing),
        lambda: UserAggregate.reduce("r", "+"),  # type: ignore[arg-type]
        "fn='+' | fn is a function | give a function as fn",
    ),
    "a fold is combined": Rule(
        lambda: fold(0),
        lambda: UserAggregate.fold("f", 0, nothing),
        (
            "fold('f') without combine | a window contains rows of several batches, and each "
            "batch is folded separately | give combine=, a function of two states, the earlier "
            "first"
        ),
    ),
    "a fold begins with JSON": Rule(
        lambda: fold([]),
        lambda: fold({1}),
        "fold('f', initial={1}) | a state is a JSON value | use numbers, strings, lists and dicts with "
        "string keys",
    ),
    "a fold begins with what JSON gives back": Rule(
        lambda: fold([]),
        lambda: fold((1, 2)),
        "fold('f', initial=(1, 2)) | a state is a JSON value | use numbers, strings, lists and dicts "
        "with string keys",
    ),
    "a fold begins with nothing": Rule(
        lambda: fold(""),
        lambda: fold(100),
        (
            "fold('f', initial=100): combined with itself it gives 200 | initial is the state "
            "without rows: combining it with a state changes nothing | give such a value, for "
            "example 0 for a sum"
        ),
    ),
    "a folding function is a function": Rule(
        lambda: fold(0),
        lambda: UserAggregate.fold("f", 0, None, combine=nothing),  # type: ignore[arg-type]
        "fn=None | fn is a function | give a function as fn",
    ),
    "user belongs to user": Rule(
        lambda: Aggregate("user", "v", "a", user=user()),
        lambda: Aggregate("sum", "v", "a", user=user()),
        "sum(user=UserAggregate(name='mine', result='double', commutative=False)) | user is an option of "
        "['user'] | leave user out",
    ),
    "user is given": Rule(
        lambda: user()("v"),
        lambda: Aggregate("user", "v", "a"),
        "fn='user', user=None | a user-defined aggregate has a UserAggregate | call a UserAggregate "
        "with a column",
    ),
    "a result is of a known type": Rule(
        lambda: user(result="string"),
        lambda: user(result="array"),
        "result='array' | the result of a user-defined aggregate is bigint, double, string, boolean or "
        "decimal(p,s), or a list, a struct or a map of these | give one of these, or such as 'array<bigint>'",
    ),
    "merge is a function": Rule(
        user,
        lambda: user(merge=5),
        "merge=5 | merge is a function | give a function as merge",  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_a_fold_shares_no_initial_value() -> None:
    initial: list[int] = []
    collected = UserAggregate.fold(
        "f", initial, lambda s, v: [*s, v], combine=lambda a, b: a + b, result="array<bigint>"
    )
    initial.append(1)
    collected.init().append(2)
    assert collected.init() == []


def test_columns_are_those_that_accumulate_takes() -> None:
    """semantics 24.30: the aggregate of `reduce` reads one column."""
    with pytest.raises(SpecError) as caught:
        UserAggregate.reduce("r", nothing)("a", "b")
    rule = "accumulate takes a state and a value of each column (semantics 24.30)"
    assert caught.value.args[0].split(" | ")[:2] == ["'r' over 2 columns", rule]
    UserAggregate("m", init=nothing, accumulate=max, merge=max, finish=nothing)("a", "b")
