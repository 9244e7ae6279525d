"""The header of a state that is divided among other shards, made from the headers of all shards before.

All shards of a query see the same clocks, ends of input and source positions. A shard that had nothing to
store has older ones. So the latest ones are those of all. A family adds the rules of its own fields.

Invariant: what is live in a shard is live under the merged header, and a number that a shard has given is not
given again. So each floor, by which rows have expired, becomes the lowest one, and none if a shard has none.
Counters are added, as the numbers of each shard are raised by what the shards before it have counted. If the
number of shards stays, :mod:`panewise.engine.redistribution` puts the shard's own floors and counters back. A
field without a rule must be equal in all shards that have it.

Cost: a pass over the headers, with the marks in them. No table is read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, TypeAlias

from panewise.engine.kernels.instants import lowest
from panewise.engine.progress.clocks import highest
from panewise.errors import StateError
from panewise.state.manifest import REPORTS, SINCE

Header: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Sequence[Any]], Any]
# Fields that describe the runs, or belong to the runtime that wrote them.
_LEFT_OUT: Final = frozenset({"timer", "lengths", "standalone", "feeds"})


@dataclass(frozen=True)
class HeaderRules:
    """How a field of one header is made from the fields of the headers of shards.

    Attributes:
        fields: by field what it is, given the values of the shards that have it. Fields without a rule
            must be equal in the shards that have them.
        floors: fields by which rows have expired, in the shards that have them (semantics 47.5, 47.15).
        counters: fields that count what is unique within a shard.
        of_all: fields that are true only if they are in all shards.
        nested: fields that are the header of another operator, with their rules.
    """

    fields: Mapping[str, Rule] = field(default_factory=dict)
    floors: frozenset[str] = frozenset({"floor"})
    counters: tuple[str, ...] = ()
    of_all: tuple[str, ...] = ()
    nested: "Mapping[str, HeaderRules]" = field(default_factory=dict)


_NO_RULES: Final = HeaderRules()


def merged_header(headers: Sequence[Header], rules: HeaderRules = _NO_RULES) -> dict[str, Any]:
    """Returns one header, made of the headers of all shards.

    It has a floor only if all of them have it, and nothing that belongs to their runs or to the runtime.

    >>> merged_header([{"watermark": 5, "finished": False}, {"watermark": None, "finished": False}])
    {'watermark': 5, 'finished': False}

    Raises:
        StateError: if shards differ in a field that must be equal.
    """
    names = dict.fromkeys(name for header in headers for name in header if name not in _LEFT_OUT)
    for floor in rules.floors:
        if not all(floor in header for header in headers):
            names.pop(floor, None)  # it would hide live windows or rows of a shard that has none
    return {name: _merged(name, headers, rules) for name in names}


def with_floor_of(header: Header, own: Header, rules: HeaderRules = _NO_RULES) -> dict[str, Any]:
    """Returns a header with the floors of another one in place of its own, also in the headers within it.

    A floor that the other one does not have is left out.

    >>> rules = HeaderRules(nested={"windows": HeaderRules()})
    >>> with_floor_of({"floor": 1, "windows": {"floor": 1}}, {"windows": {"floor": 3}}, rules)
    {'windows': {'floor': 3}}
    """
    inner = {
        name: with_floor_of(header[name], own.get(name, {}), of)
        for name, of in rules.nested.items()
        if name in header
    }
    others = {name: value for name, value in header.items() if name not in rules.floors}
    return others | inner | {name: own[name] for name in own if name in rules.floors}


def _merged(name: str, headers: Sequence[Header], rules: HeaderRules) -> Any:
    values = [header[name] for header in headers if name in header]
    if name in rules.nested:
        return merged_header(values, rules.nested[name])
    if name in rules.floors:
        return min(values)
    if name in rules.counters:
        return sum(values)
    if name in rules.of_all:
        return all(header.get(name, False) for header in headers)
    rule = rules.fields.get(name, _RULES.get(name))
    return _equal(name, values) if rule is None else rule(values)


def _equal(name: str, values: Sequence[Any]) -> Any:
    if any(value != values[0] for value in values):
        rule = "the shards of a state have the same values in fields that have no rule of merging"
        raise StateError(f"shards with other values of {name!r}", rule, "keep the number of shards")
    return values[0]


def by_side(merge: Rule) -> Rule:
    """Returns the rule of a field with a value for each side."""
    return lambda values: {side: merge([value[side] for value in values]) for side in values[0]}


def most_marks(values: Sequence[list[list[Any]]]) -> list[list[Any]]:
    """Returns the marks that cover most offsets. Each shard has those of the rows of all shards."""
    return max(values, key=lambda rows: sum(map(_covered, rows)))


def _covered(row: list[Any]) -> int:
    """Returns a number that grows with the offsets that a mark covers: of an interval, its length."""
    first = row[-2] if len(row) > 1 and isinstance(row[-2], int) else 0
    return int(row[-1] - first)


def _inputs(values: Sequence[Header]) -> dict[str, Any]:
    """Returns the latest report of each input, and the first reading of the clock."""
    names = dict.fromkeys(chain.from_iterable(value[REPORTS] for value in values))
    reports = {name: [value[REPORTS][name] for value in values if name in value[REPORTS]] for name in names}
    latest = {
        name: [highest(column) for column in zip(*pairs, strict=True)] for name, pairs in reports.items()
    }
    return {SINCE: lowest(value[SINCE] for value in values), REPORTS: latest}


# The rules of the clocks and marks, which all families have.
_RULES: Final[Mapping[str, Rule]] = {
    "processing_time": max,
    "watermark": highest,
    "finished": any,
    "inputs": _inputs,
    "marks": most_marks,
}
