"""A rule of the specification, shown to pass and to fail."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from panewise.errors import SpecError


class Rule(NamedTuple):
    """What obeys the rule, what breaks it, and the whole message."""

    obeys: Callable[[], Any]
    breaks: Callable[[], Any]
    message: str


def check(rule: Rule) -> None:
    rule.obeys()
    with pytest.raises(SpecError) as caught:
        rule.breaks()
    assert str(caught.value) == rule.message
    assert (caught.value.given, caught.value.rule, caught.value.remedy) == tuple(rule.message.split(" | "))
