"""Changes of a specification with which stored state is continued (semantics 47).

Each family states which of its fields may change (:attr:`panewise.spec.protocol.SpecParts.changeable`). All
other changes are refused. Specifications are compared by their documents, as those of a state name functions
of the user that are not at hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from panewise.errors import SpecError, StateError
from panewise.spec.codec import changed_fields, complete, to_dict, without_functions
from panewise.spec.codec.documents import write
from panewise.spec.fields import check_choice, silently
from panewise.spec.protocol import Specification, parts

AddedAggregates: TypeAlias = Literal["null", "from_now_on"]
ADDED_AGGREGATES: Final = ("null", "from_now_on")


@dataclass(frozen=True)
class Change:
    """A change of a field that is taken over.

    Attributes:
        kind: "added", "removed" or "renamed", of an aggregate; "changed", of another field.
        path: the field; of an aggregate with its name.
        old: the value before, as a document has it; None if there was none.
        new: the value from now on; None if there is none.
    """

    kind: Literal["added", "removed", "renamed", "changed"]
    path: str
    old: Any
    new: Any

    def __str__(self) -> str:
        if self.kind == "changed":
            return f"{self.path}: {self.old!r} -> {self.new!r}"
        more = f" to {self.new!r}" if self.kind == "renamed" else ""
        return f"{self.path} {self.kind}{more}"


@dataclass(frozen=True)
class Continuation:
    """A specification that continues a state.

    Attributes:
        before: the specification that made the state, with placeholders for functions of the user.
        spec: the specification from now on. Aggregates that the state lacks are marked in it.
        changes: what is different; nothing if only marks of earlier changes are.
    """

    before: Specification
    spec: Specification
    changes: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        return "; ".join(map(str, self.changes))


def continuation(
    document: Mapping[str, Any], spec: Any, added_aggregates: AddedAggregates = "null"
) -> Continuation:
    """Returns how a specification continues the state of another one.

    Args:
        document: the specification that made the state, as a dict.
        spec: the new specification.
        added_aggregates: what an added aggregate is in panes with rows from before the change: "null", or
            the result over the rows "from_now_on".

    Raises:
        StateError: if a change is refused (semantics 47.2). It names the fields.
        SpecError: if `document` is not valid; for another value of `added_aggregates`.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])
    >>> str(continuation(to_dict(spec), replace(spec, allowed_lateness=5)))
    'allowed_lateness: 0 -> 5'
    """
    check_choice("added_aggregates", added_aggregates, ADDED_AGGREGATES)
    new = to_dict(spec)
    if document == new:
        return Continuation(spec, spec)
    changed = changed_fields(document, new)
    if not changed:
        return Continuation(spec, spec)
    family, before = parts(spec), _readable(document)
    if before is None or before.family != spec.family:
        raise _refused(dict.fromkeys(changed, "another operator has another state"), document, new)
    spec = family.marked(before, spec, added_aggregates)
    old, new = complete(document), to_dict(spec)
    changed = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    reasons = {name: family.refuses_change(name, before, spec) for name in changed}
    refused = {name: reason for name, reason in reasons.items() if reason is not None}
    if refused:
        raise _refused(refused, old, new)
    changes = [change for name in changed for change in _changes(name, old.get(name), new.get(name))]
    return Continuation(before, spec, tuple(changes))


def _readable(document: Mapping[str, Any]) -> Specification | None:
    """Returns the specification of a document; None if this release no longer accepts it."""
    try:
        with silently():
            before: Specification = without_functions(document)
            return before
    except SpecError:
        return None


def _refused(reasons: Mapping[str, str], old: Mapping[str, Any], new: Mapping[str, Any]) -> StateError:
    differences = "; ".join(f"{name}: {old.get(name)!r} -> {new.get(name)!r}" for name in reasons)
    return StateError(
        f"a changed specification ({differences})",
        "; ".join(dict.fromkeys(reasons.values())),
        "put the field back, or start from a new checkpoint",
    )


def _changes(name: str, old: Any, new: Any) -> list[Change]:
    if name != "aggregates":
        return [Change("changed", name, old, new)]
    before = {_definition(document): document["name"] for document in old}
    after = {_definition(document): document["name"] for document in new}
    changes = [
        Change("removed", f"aggregate {before[it]!r}", before[it], None) for it in before if it not in after
    ]
    for it, alias in after.items():
        if it not in before:
            changes.append(Change("added", f"aggregate {alias!r}", None, alias))
        elif before[it] != alias:
            changes.append(Change("renamed", f"aggregate {before[it]!r}", before[it], alias))
    order = [document["name"] for document in new]
    return changes or [
        Change("changed", "order of aggregates", [document["name"] for document in old], order)
    ]


def _definition(document: Mapping[str, Any]) -> str:
    """Returns what an aggregate computes, without its name, as a text that can be compared."""
    return repr(sorted((name, value) for name, value in document.items() if name != "name"))


def same_aggregates(old: tuple[Any, ...], new: tuple[Any, ...]) -> list[int | None]:
    """Returns for each new aggregate the place of the old one that computes the same; None if none does.

    Names make no difference, but of several the one with the same name is chosen.

    >>> from panewise import functions as F
    >>> same_aggregates((F.sum("v"), F.count()), (F.count().alias("n"), F.min("v")))
    [1, None]
    """
    before = [write(aggregate) for aggregate in old]
    known = [_definition(document) for document in before]
    places = list[int | None]()
    for aggregate in new:
        document = write(aggregate)
        same = [place for place, it in enumerate(known) if it == _definition(document)]
        named = [place for place in same if before[place]["name"] == document["name"]]
        places.append(next(iter([*named, *same]), None))
    return places


def marked_aggregates(
    old: tuple[Any, ...], new: tuple[Any, ...], added_aggregates: AddedAggregates
) -> tuple[Any, ...]:
    """Returns new aggregates, of which those are marked that the state lacks, or lacked at an earlier change.

    An aggregate that is marked already stays as it is.
    """
    plain = tuple(replace(aggregate, added=None) for aggregate in old)
    places = same_aggregates(plain, new)
    pairs = zip(new, places, strict=True)
    return tuple(
        aggregate
        if aggregate.added is not None
        else replace(aggregate, added=added_aggregates if place is None else old[place].added)
        for aggregate, place in pairs
    )
