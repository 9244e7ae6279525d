"""Compares outputs with expected ones, and describes a difference line by line."""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from panewise.chrono import instant_us
from panewise.errors import InputError

Entry = Mapping[str, Any]
Output = Entry | Sequence[Entry]
_PANE_ORDER = ("op", "timing", "index", "window_start", "window_end")
_TOLERANCE = 1e-9  # for floats: two correct results may differ in the last digits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_COMPARISONS = 1_000_000  # above it, entries are not matched, because that takes quadratic time


def same(value: Any, other: Any) -> bool:
    """Returns whether values are equal.

    Null equals null, and NaN equals NaN. Floats may differ by 1e-9, relative or absolute. Booleans do not
    equal numbers.
    A datetime with a time zone equals its number of microseconds since 1970-01-01 UTC.

    >>> same([1, None, float("nan")], [1.0, None, float("nan")]), same(True, 1)
    (True, False)
    """
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(same(value[name], other[name]) for name in value)
    if isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, (float, Decimal)) or isinstance(other, (float, Decimal)):
        return _same_number(value, other)
    return bool(_plain(value) == _plain(other))


def _plain(value: Any) -> Any:
    """Returns a datetime with a time zone as microseconds, and any other value as it is."""
    return instant_us(value) if isinstance(value, datetime) and value.tzinfo is not None else value


def _same_number(value: Any, other: Any) -> bool:
    if not isinstance(value, (int, float, Decimal)) or not isinstance(other, (int, float, Decimal)):
        return False
    if math.isnan(value) or math.isnan(other):
        return math.isnan(value) and math.isnan(other)
    if isinstance(value, float) or isinstance(other, float):
        return value == other or math.isclose(value, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return value == other


def _fits(value: Any, expected: Any) -> bool:
    """Returns whether a value of an output equals an expected one. A map may be expected as a dict."""
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        return value.keys() == expected.keys() and all(_fits(value[name], expected[name]) for name in value)
    if isinstance(value, (list, tuple)):
        if isinstance(expected, Mapping):
            return _fits_map(value, expected)
        if isinstance(expected, (list, tuple)):
            return len(value) == len(expected) and all(map(_fits, value, expected))
    return same(value, expected)


def _fits_map(entries: Sequence[Any], expected: Mapping[Any, Any]) -> bool:
    """Returns whether a list of entries has the entries of an expected map, in any order."""
    rest = list(expected.items())
    for entry in entries if _is_map(entries) else ():
        fitting = (
            n
            for n, (key, value) in enumerate(rest)
            if _fits(entry["key"], key) and _fits(entry["value"], value)
        )
        place = next(fitting, None)
        if place is None:
            return False
        del rest[place]
    return _is_map(entries) and not rest


def _is_map(value: Any) -> bool:
    """Returns whether a value of an output has the form of a map: a list of its entries."""
    return isinstance(value, (list, tuple)) and all(
        isinstance(entry, Mapping) and entry.keys() == {"key", "value"} for entry in value
    )


def assert_panes(output: Output, expected: Sequence[Mapping[str, Any]]) -> None:
    """Checks that panes are the expected ones, in the same number and order.

    Args:
        output: one output of :func:`panewise.testing.run`, a list of outputs, or a list of panes.
        expected: a list with a dict for each pane, with some or all of its columns. Only these columns are
            compared. A map may be a dict, or the list of entries that the output has.

    Raises:
        AssertionError: with a line for each pane that is missing (-) or not expected (+).
        InputError: if `expected` is not a list of dicts, or `output` is none of the above.

    >>> assert_panes([{"index": 0, "total": 5, "op": "+"}], [{"total": 5}])
    """
    assert_entries(_panes(output), expected, "panes")


def assert_entries(
    got: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]], what: str
) -> None:
    """Checks any list of dicts as :func:`assert_panes` checks panes; `what` names the list in the error."""
    if not _is_list_of_dicts(expected):
        rule = f"the expected {what} are a list with a dict for each of them"
        raise InputError(f"expected={expected!r}", rule, "give such as [{'total': 5}], or [] for none")
    if len(got) == len(expected) and all(map(_covers, got, expected)):
        return
    columns = _ordered({name: None for entry in expected for name in entry})
    header = f"{what}: expected {len(expected)} (-), got {len(got)} (+)"
    raise AssertionError("\n".join([header, *_difference(got, expected, columns)]))


def _difference(got: Sequence[Entry], expected: Sequence[Entry], columns: list[str]) -> Iterator[str]:
    """Yields a line for each entry: unmarked if it is expected and found, missing (-), not expected (+)."""
    end = (len(expected), len(got))
    for (n, m), (next_n, next_m) in pairwise([(-1, -1), *_matches(got, expected), end]):
        if n >= 0:
            yield f"  {_line(expected[n], columns)}".rstrip()
        wanted, extra = expected[n + 1 : next_n], got[m + 1 : next_m]
        lines = [_line(entry, columns) for entry in wanted]
        likes = [_line(_like(entry, wanted, at), columns) for at, entry in enumerate(extra)]
        yield from (line.rstrip() for line in difflib.ndiff(lines, likes))


def _matches(got: Sequence[Entry], expected: Sequence[Entry]) -> list[tuple[int, int]]:
    """Returns the longest common subsequence: positions in `expected` and `got` of entries that match."""
    if len(got) * len(expected) > _MOST_COMPARISONS:
        return []
    # most[n][m] is the length of the longest common subsequence of expected[n:] and got[m:]. If entries n and
    # m match, one of the longest ones begins with this pair.
    most = [[0] * (len(got) + 1) for _ in range(len(expected) + 1)]
    covers = [[_covers(entry, wanted) for entry in got] for wanted in expected]
    for n in reversed(range(len(expected))):
        for m in reversed(range(len(got))):
            most[n][m] = most[n + 1][m + 1] + 1 if covers[n][m] else max(most[n + 1][m], most[n][m + 1])
    pairs, n, m = [], 0, 0
    while n < len(expected) and m < len(got):
        if covers[n][m]:
            pairs.append((n, m))
            n, m = n + 1, m + 1
        elif most[n + 1][m] >= most[n][m + 1]:
            n += 1
        else:
            m += 1
    return pairs


def _covers(entry: Entry, expected: Entry) -> bool:
    return all(name in entry and _fits(entry[name], value) for name, value in expected.items())


def _like(entry: Entry, expected: Sequence[Entry], n: int) -> Entry:
    """Returns an entry with only the fields that are expected at position `n`, so that both lines are alike.

    If the entry lacks one of these fields, or nothing is expected there, all fields are returned. A field
    that equals the expected one gets the expected value. So the lines differ only where the values do.
    """
    if n >= len(expected) or not expected[n].keys() <= entry.keys():
        return entry
    return {name: _shown(entry[name], wanted) for name, wanted in expected[n].items()}


def _shown(value: Any, wanted: Any) -> Any:
    """Returns `wanted` if the value equals it. Otherwise returns the value in the form of `wanted`.

    An instant becomes a datetime in the expected zone, and a list of entries a dict.
    """
    if _fits(value, wanted):
        return wanted
    if isinstance(wanted, Mapping) and _is_map(value):
        with suppress(TypeError):  # a key that Python cannot hash
            return {entry["key"]: entry["value"] for entry in value}
    if isinstance(wanted, datetime) and wanted.tzinfo is not None and type(value) is int:
        with suppress(OverflowError):  # an instant beyond the years of datetime
            return (_EPOCH + timedelta(microseconds=value)).astimezone(wanted.tzinfo)
    return value


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
    if isinstance(output, Mapping) and "panes" in output:
        return list(output["panes"])
    if isinstance(output, Mapping) or not _is_list_of_dicts(output):
        raise InputError(
            f"output={output!r}", "an output has panes", "give what run returns, or a list of panes"
        )
    return [pane for entry in output for pane in entry.get("panes", [entry])]


def _is_list_of_dicts(value: Any) -> bool:
    """Returns whether a value is a sequence of mappings."""
    return isinstance(value, Sequence) and all(isinstance(entry, Mapping) for entry in value)
