"""Rules of the specification, each with a case that obeys and one that breaks it, and an aggregate."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from panewise import UserAggregate
from panewise.errors import SpecError


class Rule(NamedTuple):
    """A call that obeys the rule, one that breaks it, and the whole message of its error."""

    obeys: Callable[[], Any]
    breaks: Callable[[], Any]
    message: str


def check(rule: Rule) -> None:
    """Checks that one call is accepted, and that the other raises a SpecError with the message."""
    rule.obeys()
    with pytest.raises(SpecError) as caught:
        rule.breaks()
    assert caught.value.args[0] == rule.message
    assert (caught.value.given, caught.value.rule, caught.value.remedy) == tuple(rule.message.split(" | "))


def nothing() -> None:
    return None


user = partial(UserAggregate, "mine", init=nothing, accumulate=nothing, merge=nothing, finish=nothing)
