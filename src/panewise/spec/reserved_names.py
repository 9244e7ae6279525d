"""Columns of users whose names begin with `__`, as the names of the columns that operators add do.

Names that Polars takes for patterns are no names inside an operator either. Such a column has another name
inside the operator. Its own name is restored in all outputs. So a user's names and those of operators never
collide.

Invariant: outside of the runtimes a specification has the user's names, inside them no name begins with `__`,
and none is a pattern.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from inspect import getattr_static
from operator import is_
from typing import Any, Final

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.user_merge import MergeAggregate
from panewise.spec.conditions.nodes import Column
from panewise.spec.family_parts import parts
from panewise.spec.operators.join.columns import Selected
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.over.row_function import RowFunction
from panewise.spec.renaming import COLUMNS
from panewise.spec.windows.custom import Custom, EachRow

PREFIX: Final = "__"  # begins the names of all columns that operators add
_PATTERN: Final = re.compile(r"\*|\^.*\$", re.DOTALL)  # Polars takes these for all columns, or for a regex

# The fields of specifications whose strings are names of columns.
_COLUMNS: Final = COLUMNS | {"by", "deletes"}
# Those of some classes: the column of a condition, and what names an emitted column or begins its name.
_NAMED: Final[Mapping[type, frozenset[str]]] = {
    Aggregate: frozenset({"name", "more", "condition"}),
    RowFunction: frozenset({"name"}),
    Column: frozenset({"name"}),
    Selected: frozenset({"name"}),
    Side: frozenset({"prefix"}),
    MergeAggregate: frozenset({"left", "right", "name"}),
}


def is_pattern(name: str) -> bool:
    """Returns whether Polars takes the name of a column for a pattern.

    >>> [is_pattern(name) for name in ("*", "^v.*$", "v*", "^v")]
    [True, True, False, False]
    """
    return _PATTERN.fullmatch(name) is not None


def inner_names(columns: Iterable[str], spec: Any) -> dict[str, str]:
    """Returns the names that begin with `__` and the patterns, each with its name inside the operator.

    Args:
        columns: the columns of the input.
        spec: the specification, with the names that it reads and makes.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(5), keys=["__k"], aggregates=[F.sum("v").alias("__s")])
    >>> inner_names(["__k", "v", "event_time"], spec)
    {'__k': 'column__k', '__s': 'column__s'}
    """
    names = dict.fromkeys((*columns, *names_in(spec)))
    used, inner_of = {name.lower() for name in names}, dict[str, str]()
    for name in names:
        if name.startswith(PREFIX) or is_pattern(name):
            inner = f"column{name}"
            while inner.lower() in used:
                inner += "_"
            used.add(inner.lower())
            inner_of[name] = inner
    return inner_of


def renamed(spec: Any, names: Mapping[str, str]) -> Any:
    """Returns a specification with other names of columns, and of aggregates, new and selected columns.

    Raises:
        SpecError: for a listener that would see a renamed column, or has an output of such a name.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(5), keys=["__k"], aggregates=[F.sum("v").alias("__s")])
    >>> inner = renamed(spec, {"__k": "column__k", "__s": "column__s"})
    >>> inner.keys, inner.aggregates[0].name
    (('column__k',), 'column__s')
    """
    if not names:
        return spec
    parts(spec).check_names(spec, names)
    return _mapped(spec, lambda name: names.get(name, name), {inner: name for name, inner in names.items()})


def emitted_names(
    spec: Any, columns: Mapping[str, Iterable[str]], restored: Mapping[str, str]
) -> dict[str, str]:
    """Returns the emitted names that are made of the names of columns, each with the user's name.

    The specification with the user's names emits the same columns in the same order.

    Args:
        spec: the specification with the operator's names.
        columns: the columns of each port, with the operator's names.
        restored: maps the operator's names to the user's.
    """
    own = parts(spec).unchanged(spec, {port: tuple(names) for port, names in columns.items()})
    user = {port: tuple(restored.get(name, name) for name in names) for port, names in columns.items()}
    seen = renamed(spec, restored)
    return dict(zip(own, parts(seen).unchanged(seen, user), strict=True))


def names_in(spec: Any) -> list[str]:
    """Returns the names of the columns that a specification reads or makes."""
    names = list[str]()

    def seen(name: str) -> str:
        names.append(name)
        return name

    _mapped(spec, seen, {})
    return [*names, *parts(spec).more_names(spec)]


def _mapped(value: Any, name_of: Callable[[str], str], back: Mapping[str, str]) -> Any:
    """Returns a value with other names. Parts without a name that changes stay the same objects."""
    if isinstance(value, tuple):
        parts = tuple(_mapped(part, name_of, back) for part in value)
        return value if all(map(is_, parts, value)) else parts
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changes = dict(_changes(value, name_of, back))
    if not changes:
        return value
    if isinstance(value, Custom):
        changes["function"] = _restoring(value.function, back)
    return _changed(value, changes)


def _changes(value: Any, name_of: Callable[[str], str], back: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    named = _COLUMNS | next((more for kind, more in _NAMED.items() if isinstance(value, kind)), frozenset())
    for field in fields(value):
        old = getattr(value, field.name)
        new = _named(old, name_of) if field.name in named else old
        new = _mapped(new, name_of, back) if new is old else new
        if new is not old:
            yield field.name, new


def _named(value: Any, name_of: Callable[[str], str]) -> Any:
    """Returns a name, or a tuple of names and None, with other names. Anything else stays as it is."""
    if isinstance(value, str):
        new = name_of(value)
        return value if new == value else new
    if isinstance(value, tuple) and any(isinstance(item, str) for item in value):
        names = tuple(name_of(item) if isinstance(item, str) else item for item in value)
        return value if names == value else names
    return value


def _changed(value: Any, changes: Mapping[str, Any]) -> Any:
    """Returns a copy with other fields. It is not validated again, and has no values of cached properties."""
    kind = type(value)
    copy = object.__new__(kind)
    for name, old in vars(value).items():
        if not isinstance(getattr_static(kind, name, None), cached_property):
            object.__setattr__(copy, name, changes.get(name, old))
    return copy


def _restoring(function: Any, back: Mapping[str, str]) -> Any:
    """Returns the function of custom windows, called with the user's names."""
    if isinstance(function, EachRow):
        return EachRow(_Restoring(function.function, back))
    return _Restoring(function, back)


@dataclass(frozen=True)
class _Restoring:
    """Calls a function of a row, or of a Polars frame, with the user's names."""

    function: Callable[[Any], Any]
    names: Mapping[str, str]

    def __call__(self, rows: Any) -> Any:
        if isinstance(rows, dict):
            return self.function({self.names.get(name, name): value for name, value in rows.items()})
        return self.function(rows.rename({name: self.names.get(name, name) for name in rows.columns}))
