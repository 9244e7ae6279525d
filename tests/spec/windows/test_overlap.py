"""The warning for windows that put a row into more than 1,000 windows (semantics 6.9)."""

import warnings
from typing import Any

import pytest

from panewise import (
    Cumulating,
    Hopping,
    ManyWindowsWarning,
    Sliding,
    SpecError,
    Tumbling,
    WindowOperator,
    rows,
)
from panewise import functions as F

RULE = "each row is in up to {}, and each of these is stored and evaluated for each key"
REMEDY = "give a {} of at least a thousandth of the size, or use Sliding"


def built(window: Any, **fields: Any) -> WindowOperator:
    return WindowOperator(window=window, aggregates=[F.count()], **fields)


@pytest.mark.parametrize(
    ("window", "count", "step"),
    [
        (Hopping("1 day", "1 second"), "86,400 windows", "hop"),
        (Hopping(2001, 2), "1,001 windows", "hop"),
        (Hopping(rows(1001), rows(1)), "1,001 windows", "hop"),
        (Cumulating("1 hour", "1 second"), "3,600 windows", "step"),
    ],
)
def test_many_windows_for_a_row_are_warned_of(window: Any, count: str, step: str) -> None:
    """semantics 6.9: more than 1,000 windows for a row warn, or raise with `strict=True`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        built(window)
    assert [warning.category for warning in caught] == [ManyWindowsWarning]
    message = f"{window!r} | {RULE.format(count)} | {REMEDY.format(step)}"
    assert str(caught[0].message).startswith(f"{message} [PW-")
    assert caught[0].filename == __file__
    with pytest.raises(SpecError, match="is stored and evaluated"):
        built(window, strict=True)


@pytest.mark.parametrize(
    "window",
    [
        Hopping(1000, 1),
        Hopping(rows(1000), rows(1)),
        Cumulating(1000, 1),
        Tumbling("1 day"),
        Sliding("1 day"),
    ],
)
def test_a_thousand_windows_for_a_row_are_not(window: Any) -> None:
    """semantics 6.9: up to 1,000 windows for a row, and other kinds of windows, neither warn nor raise."""
    built(window, strict=True)
