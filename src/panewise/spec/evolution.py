"""Changes of a specification with which stored state is continued (semantics 47).

Each family states which of its fields may change (:attr:`panewise.spec.family_parts.SpecParts.changeable`).
All other changes are refused. Specifications are compared by their documents, as those of a state name
functions of the user that are not at hand.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from panewise.choices import check_choice
from panewise.chrono import Duration
from panewise.errors import SpecError, StateError
from panewise.spec.codec import changed_fields, complete, to_dict, without_functions
from panewise.spec.codec.same_aggregates import ADDED_AGGREGATES, AddedAggregates, definition
from panewise.spec.family_parts import parts
from panewise.spec.fields import silently
from panewise.spec.protocol import Specification

NEW_CHECKPOINT: Final = (
    "start from a new checkpoint, whose initial_state= comes from the history (semantics 48.5)"
)
REMEDY: Final = f"put the field back, or {NEW_CHECKPOINT}"

# Fields that documents have in microseconds.
_DURATIONS: Final = ("allowed_lateness", "within", "max_future_skew", "idle_after")


@dataclass(frozen=True)
class FieldChange:
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
            return _difference(self.path, self.old, self.new)
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
    changes: tuple[FieldChange, ...] = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self.changes))


def continuation(
    document: Mapping[str, Any],
    spec: Any,
    added_aggregates: AddedAggregates = "null",
    remedy: str = REMEDY,
) -> Continuation:
    """Returns how a specification continues the state of another one.

    Args:
        document: the specification that made the state, as a dict.
        spec: the new specification.
        added_aggregates: what an added aggregate is in panes with rows from before the change: "null", or
            the result over the rows "from_now_on".
        remedy: what to do if a change is refused.

    Raises:
        StateError: if a change is refused (semantics 47.2). It names the fields.
        SpecError: if `document` is not valid; for another value of `added_aggregates`.

    >>> from dataclasses import replace
    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])
    >>> str(continuation(to_dict(spec), replace(spec, allowed_lateness=5)))
    'allowed_lateness: 0 seconds -> 5 microseconds'
    """
    check_choice("added_aggregates", added_aggregates, ADDED_AGGREGATES)
    new = to_dict(spec)
    changed = [] if document == new else changed_fields(document, new)
    if not changed:
        return Continuation(spec, spec)
    family, before = parts(spec), _readable(document)
    if before is None or parts(before) is not family:
        raise _refused(
            dict.fromkeys(changed, "a state belongs to the kind of operator that made it"),
            document,
            new,
            remedy,
        )
    spec = family.marked(before, spec, added_aggregates)
    nested = family.nested_fields(before, spec)
    old, new = _spread(complete(document), nested), _spread(to_dict(spec), nested)
    changed = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    reasons = {name: family.refuses_change(name, before, spec) for name in changed}
    refused = {name: reason for name, reason in reasons.items() if reason is not None}
    if refused:
        raise _refused(refused, old, new, remedy)
    changes = [change for name in changed for change in _changes(name, old.get(name), new.get(name))]
    return Continuation(before, spec, tuple(changes))


def _spread(document: Mapping[str, Any], nested: Iterable[str]) -> dict[str, Any]:
    """Returns a document in which the fields of nested ones are beside the others, as `field.name`."""
    inner = {f"{name}.{field}": value for name in nested for field, value in document[name].items()}
    return {name: value for name, value in document.items() if name not in nested} | inner


def _readable(document: Mapping[str, Any]) -> Specification | None:
    """Returns the specification of a document; None if this release no longer accepts it."""
    try:
        with silently():
            before: Specification = without_functions(document)
            return before
    except SpecError:
        return None


def _difference(name: str, old: Any, new: Any) -> str:
    """Returns a change of a field in words.

    >>> _difference("left.allowed_lateness", 0, 5_400_000_000)
    'left.allowed_lateness: 0 seconds -> 1 hour 30 minutes'
    """
    field_name = name.rpartition(".")[2]
    return f"{name}: {_value(field_name, old)} -> {_value(field_name, new)}"


def _value(name: str, value: Any) -> str:
    is_duration = name in _DURATIONS and isinstance(value, int)
    return str(Duration(value)) if is_duration else repr(value)


def _refused(
    reasons: Mapping[str, str], old: Mapping[str, Any], new: Mapping[str, Any], remedy: str
) -> StateError:
    differences = "; ".join(_difference(name, old.get(name), new.get(name)) for name in reasons)
    return StateError(
        f"a changed specification ({differences})",
        "; ".join(dict.fromkeys(reasons.values())),
        remedy,
    )


def _changes(name: str, old: Any, new: Any) -> list[FieldChange]:
    if not name.endswith("aggregates"):
        return [FieldChange("changed", name, old, new)]
    before = {definition(document): document["name"] for document in old}
    after = {definition(document): document["name"] for document in new}
    changes = [
        FieldChange("removed", f"aggregate {before[content]!r}", before[content], None)
        for content in before
        if content not in after
    ]
    for content, alias in after.items():
        if content not in before:
            changes.append(FieldChange("added", f"aggregate {alias!r}", None, alias))
        elif before[content] != alias:
            changes.append(FieldChange("renamed", f"aggregate {before[content]!r}", before[content], alias))
    orders = ([document["name"] for document in documents] for documents in (old, new))
    return changes or [FieldChange("changed", "order of aggregates", *orders)]
