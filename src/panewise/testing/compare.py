"""Compares outputs; errors show a readable difference."""

import difflib
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from panewise.errors import InputError

Output = Mapping[str, Any] | Sequence[Mapping[str, Any]]
_PANE_ORDER = ("op", "timing", "index", "window_start", "window_end")
_TOLERANCE = 1e-9  # for floats: two right results may differ in the last digits


def same(one: Any, other: Any) -> bool:
    """Returns whether values are equal.

    Null equals null, and NaN equals NaN. Floats are compared to nine digits. Booleans do not equal numbers.

    >>> same([1, None, float("nan")], [1.0, None, float("nan")]), same(True, 1)
    (True, False)
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (float, Decimal)) or isinstance(other, (float, Decimal)):
        return _same_number(one, other)
    return bool(one == other)


def _same_number(one: Any, other: Any) -> bool:
    if not isinstance(one, (int, float, Decimal)) or not isinstance(other, (int, float, Decimal)):
        return False
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if isinstance(one, float) or isinstance(other, float):
        return one == other or math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return one == other


def assert_panes(output: Output, expected: Sequence[Mapping[str, Any]]) -> None:
    """Checks that panes are the expected ones, in the same number and order.

    Args:
        output: one output of :func:`panewise.testing.run`, a list of outputs, or a list of panes.
        expected: a dict for each pane, with some or all of its columns. Only these columns are compared.

    Raises:
        AssertionError: with a line for each pane that is missing (-) or not expected (+).

    >>> assert_panes([{"index": 0, "total": 5, "op": "+"}], [{"total": 5}])
    """
    assert_entries(_panes(output), expected, "panes")


def assert_entries(
    got: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]], what: str
) -> None:
    """Checks any list of dicts as :func:`assert_panes` checks panes; `what` names the list in the error."""
    if len(got) == len(expected) and all(map(_covers, got, expected)):
        return
    columns = _ordered({name: None for entry in expected for name in entry})
    wanted = [_line(entry, columns) for entry in expected]
    found = [_line(_like(entry, expected, n), columns) for n, entry in enumerate(got)]
    difference = [line.rstrip() for line in difflib.ndiff(wanted, found)]
    raise AssertionError(
        "\n".join([f"{what}: expected {len(expected)} (-), got {len(got)} (+)", *difference])
    )


def _covers(entry: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return all(name in entry and same(entry[name], value) for name, value in expected.items())


def _like(entry: Mapping[str, Any], expected: Sequence[Mapping[str, Any]], n: int) -> Mapping[str, Any]:
    """Returns of an entry only the fields that are expected at position `n`.

    Fields that equal the expected ones get the expected value. So the lines of the difference differ only
    where the values do.
    """
    if n >= len(expected):
        return entry
    wanted = expected[n]
    return {
        name: wanted[name] if name in wanted and same(value, wanted[name]) else value
        for name, value in entry.items()
        if name in wanted
    }


def _ordered(names: Mapping[str, Any]) -> list[str]:
    return [name for name in _PANE_ORDER if name in names] + [
        name for name in names if name not in _PANE_ORDER
    ]


def _line(entry: Mapping[str, Any], columns: list[str]) -> str:
    rest = [name for name in entry if name not in columns]
    return "  ".join(
        f"{name}={entry[name]!r}" for name in (*columns, *_ordered(dict.fromkeys(rest))) if name in entry
    )


def _panes(output: Output) -> list[Mapping[str, Any]]:
    if isinstance(output, Mapping):
        if "panes" not in output:
            raise InputError(
                f"output={output!r}", "an output has panes", "give what run returns, or a list of panes"
            )
        return list(output["panes"])
    return [pane for entry in output for pane in entry.get("panes", [entry])]
