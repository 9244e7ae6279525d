"""Tests of functions that are whole columns."""

from collections.abc import Callable
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError

TOTAL: Any = F.sum("v")
AGGREGATE = (
    r"an expression of sum\(v\) \| an aggregate is a whole column of the panes, .* \| give each "
)
BEFORE: Any = F.lag("v").over(pw.Window.orderBy("ts"))
OVER = r"an expression of lag\(v, 1\) over a window \| a function over a window is a whole column, "


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (lambda: TOTAL / F.count(), AGGREGATE),
        (lambda: 1 - TOTAL, AGGREGATE),
        (lambda: TOTAL > 3, AGGREGATE),
        (lambda: TOTAL.cast("int"), AGGREGATE),
        (lambda: 1 + BEFORE, OVER),
        (lambda: BEFORE.cast("int"), OVER),
    ],
)
def test_they_are_no_parts_of_expressions(expression: Callable[[], object], message: str) -> None:
    """The error says where to compute instead."""
    with pytest.raises(SpecError, match=message):
        expression()


def test_pyspark_gets_the_same_error() -> None:
    """`column - function` of a classic session asks for the id of an object of the JVM."""
    with pytest.raises(SpecError, match=OVER):
        BEFORE._get_object_id()
