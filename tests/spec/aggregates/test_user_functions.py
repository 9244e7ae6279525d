"""The functions and the name of a user-defined aggregate."""

from typing import Any

import pytest

from panewise import UserAggregate
from tests.spec.cases import Rule, check, user


@pytest.mark.parametrize("part", ["init", "accumulate", "merge", "finish"])
def test_the_parts_of_a_user_defined_aggregate_are_functions(part: str) -> None:
    check(
        Rule(
            user,
            lambda: user(**{part: None}),
            f"{part}=None | {part} is a function | give a function as {part}",
        )
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", 3])
def test_the_name_of_a_user_defined_aggregate_is_a_non_empty_string(name: Any) -> None:
    rule = "the name of a user-defined aggregate is a non-empty string"
    made: Any = dict.fromkeys(("init", "accumulate", "merge", "finish"), len)
    check(
        Rule(
            user,
            lambda: UserAggregate(name, **made),
            f"name={name!r} | {rule} | give a name such as 'longest'",
        )
    )
