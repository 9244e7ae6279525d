"""The header of a state that is divided among other shards, made from the headers of all shards before.

All shards of a query see the same clocks, ends of input and source positions. A shard that had nothing to
store has older ones. So the latest ones are those of all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

from panewise.errors import StateError

Header: TypeAlias = Mapping[str, Any]
# Fields that describe the runs, or belong to the runtime that wrote them.
_LEFT_OUT: Final = frozenset({"timer", "lengths", "standalone", "feeds"})
# What ended by then has expired, in the shards that have such a field (semantics 47.5, 47.15).
_FLOORS: Final = frozenset({"floor", "floor_left", "floor_right"})


def merged_header(headers: Sequence[Header]) -> dict[str, Any]:
    """Returns the header of each new shard.

    >>> merged_header([{"watermark": 5, "finished": False}, {"watermark": None, "finished": False}])
    {'watermark': 5, 'finished': False}

    Raises:
        StateError: if shards differ in a field that must be equal.
    """
    names = dict.fromkeys(name for header in headers for name in header if name not in _LEFT_OUT)
    for floor in _FLOORS:
        if not all(floor in header for header in headers):
            names.pop(floor, None)  # it would hide live windows or rows of a shard that has none
    return {name: _merged(name, headers) for name in names}


def with_floor_of(header: Header, own: Header) -> dict[str, Any]:
    """Returns a header with the `floor` that another one has, or without one if that has none.

    >>> with_floor_of({"watermark": 5, "floor": 1, "windows": {"floor": 1}}, {"windows": {"floor": 3}})
    {'watermark': 5, 'windows': {'floor': 3}}
    """
    nested = {name: with_floor_of(header[name], own.get(name, {})) for name in header if name in _NESTED}
    others = {name: value for name, value in header.items() if name not in _FLOORS}
    return others | nested | {name: own[name] for name in own if name in _FLOORS}


def _merged(name: str, headers: Sequence[Header]) -> Any:
    if name == "in_blocks":  # absent if it is false
        return all(header.get(name, False) for header in headers)
    values = [header[name] for header in headers if name in header]
    if name in _NESTED:
        return merged_header(values)
    rule = _RULES.get(name)
    return _equal(name, values) if rule is None else rule(values)


def _equal(name: str, values: Sequence[Any]) -> Any:
    if any(value != values[0] for value in values):
        rule = "the shards of a state have the same values in fields that have no rule of merging"
        raise StateError(f"shards with other values of {name!r}", rule, "keep the number of shards")
    return values[0]


def _highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _lowest(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _inputs(values: Sequence[Header]) -> dict[str, Any]:
    """Returns the latest report of each input, and the first reading of the clock."""
    names = dict.fromkeys(chain.from_iterable(value["told"] for value in values))
    reports = {name: [value["told"][name] for value in values if name in value["told"]] for name in names}
    latest = {
        name: [_highest(column) for column in zip(*pairs, strict=True)] for name, pairs in reports.items()
    }
    return {"since": _lowest(value["since"] for value in values), "told": latest}


def _ended(values: Sequence[list[str]]) -> list[str]:
    return max(values, key=len)


def _marks(values: Sequence[list[list[Any]]]) -> list[list[Any]]:
    """Returns the marks that cover most offsets. Each shard has those of the rows of all shards."""
    return max(values, key=lambda rows: sum(map(_covered, rows)))


def _covered(row: list[Any]) -> int:
    """Returns a number that grows with the offsets that a mark covers: of an interval, its length."""
    first = row[-2] if len(row) > 1 and isinstance(row[-2], int) else 0
    return int(row[-1] - first)


def _by_side(merge: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Header]], dict[str, Any]]:
    return lambda values: {side: merge([value[side] for value in values]) for side in values[0]}


def _least_waiting(values: Sequence[list[int | None]]) -> list[int | None]:
    return [_lowest(column) for column in zip(*values, strict=True)]


_NESTED: Final = frozenset({"windows", "then"})
_RULES: Final[Mapping[str, Callable[[Sequence[Any]], Any]]] = {
    "processing_time": max,
    "watermark": _highest,
    "finished": any,
    **dict.fromkeys(_FLOORS, min),
    "closes": any,
    "inputs": _inputs,
    "ended": _ended,
    "marks": _marks,
    "marks_by_side": _by_side(_marks),
    "next_number": sum,
    "released": sum,
    "received": max,
    "arrived": max,
    "tally": max,
    "waiting": _by_side(_least_waiting),
}
