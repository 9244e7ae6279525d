"""Converts specifications to plain dicts and to JSON, and back.

Durations and instants are whole microseconds. A field that is left out has its default, except `null_keys`,
which is then false. An unknown field is refused. User-defined aggregates, windows and listeners are written
by name; the reader looks these names up in the mappings that it is given.

The fields of a document show which family of this package it is of. The document of another package's family
names it in the field `family`.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from panewise.errors import SpecError
from panewise.families import FAMILIES, family_named, part
from panewise.spec.codec.users import ANY_USER, users
from panewise.spec.family_parts import SpecParts, parts
from panewise.spec.fields import once_each, silently
from panewise.spec.protocol import Specification

FORMAT_VERSION: Final = 1
FAMILY: Final = "family"  # the field that names the family of another package
_VERSION_FIELD = "panewise"


def to_dict(spec: Specification) -> dict[str, Any]:
    """Returns the specification as a dict of plain values, with every field.

    >>> from panewise import Tumbling, WindowOperator
    >>> from panewise import functions as F
    >>> document = to_dict(WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("total")]))
    >>> document["window"], document["aggregates"]
    ({'kind': 'tumbling', 'size': 10, 'origin': 0}, [{'fn': 'sum', 'column': 'v', 'name': 'total'}])
    """
    return parts(spec).to_dict(spec)


def from_dict(
    document: Mapping[str, Any],
    user_aggregates: Mapping[str, Any] | None = None,
    user_windows: Mapping[str, Any] | None = None,
    user_listeners: Mapping[str, Any] | None = None,
) -> Any:
    """Returns the specification that a dict describes.

    Args:
        document: the dict, as :func:`to_dict` writes it. It may contain the version of the format.
        user_aggregates: the user-defined aggregates, by the names that the dict uses for them.
        user_windows: the user-defined windows, by name.
        user_listeners: the listeners of policy windows, by name.

    Raises:
        SpecError: if a field, kind, family or type is unknown, if a user-defined aggregate, window or
            listener is not in the mappings, or as the constructor does.

    >>> spec = from_dict({"window": {"kind": "tumbling", "size": 10}, "aggregates": [{"fn": "count"}]})
    >>> spec.window, spec.aggregates[0].name
    (Tumbling(size=Duration('10 microseconds'), origin=0), 'count(*)')
    """
    plain = _of_this_version(document)
    known = users(user_aggregates or {}, user_windows or {}, user_listeners or {})
    return _reader(plain).from_dict(plain, known)


def without_functions(document: Mapping[str, Any]) -> Any:
    """Returns the specification that a dict describes, for inspection only.

    User-defined aggregates, windows and listeners have their names, and placeholders for their functions.
    """
    plain = _of_this_version(document)
    return _reader(plain).from_dict(plain, ANY_USER)


def to_json(spec: Specification, indent: int | None = None) -> str:
    """Returns the specification as JSON text, with the version of the format.

    >>> from panewise import Global, WindowOperator
    >>> from panewise import functions as F
    >>> to_json(WindowOperator(window=Global(), aggregates=[F.count()]))[:44]
    '{"panewise": 1, "window": {"kind": "global"}'
    """
    return json.dumps({_VERSION_FIELD: FORMAT_VERSION, **to_dict(spec)}, indent=indent, allow_nan=False)


def from_json(
    text: str | bytes,
    user_aggregates: Mapping[str, Any] | None = None,
    user_windows: Mapping[str, Any] | None = None,
    user_listeners: Mapping[str, Any] | None = None,
) -> Any:
    """Returns the specification that a JSON text describes. The mappings are those of :func:`from_dict`.

    Raises:
        SpecError: if the text is not JSON or contains a field twice, or as :func:`from_dict` does.

    >>> from_json('{"window": {"kind": "global"}, "aggregates": [{"fn": "count", "name": "n"}]}').window
    Global()
    """
    return from_dict(read_document(text), user_aggregates, user_windows, user_listeners)


def read_document(text: str | bytes) -> Any:
    """Returns the document of a JSON text, for :func:`from_dict` and :func:`without_functions`.

    Raises:
        SpecError: if the text is not JSON or contains a field twice.
    """
    try:
        return json.loads(text, object_pairs_hook=once_each)
    except ValueError as error:
        if isinstance(error, SpecError):
            raise
        rule = f"a specification is read from JSON ({error})"
        raise SpecError(f"text={text[:60]!r}", rule, "give what to_json wrote") from error


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Returns the top-level fields in which two dicts differ. A field that is left out has its default.

    If only one of them has the field by which its family is recognised, that field alone is returned. If the
    old one cannot be read, its fields are compared as they are.

    Raises:
        SpecError: if one of them cannot be read; but not if fields of the old one differ.

    >>> small = {"window": {"kind": "tumbling", "size": 10}, "aggregates": [{"fn": "count"}]}
    >>> changed_fields(small, {**small, "keys": ["k"], "drop_by": "window"})
    ['keys']
    """
    fields = {_own_field(old), _own_field(new)}
    if len(fields) > 1:
        return sorted(name for name in fields if name is not None)
    after = complete(new)
    try:
        before = complete(old)
    except SpecError:  # a release that wrote it accepted what this one refuses
        changed = [name for name in old if old[name] != after.get(name)]
        if not changed:
            raise
        return changed
    return [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out.

    User-defined functions are not looked up.
    """
    with silently():  # the specification has warned when it was built
        return to_dict(without_functions(document))


def _own_field(document: Mapping[str, Any]) -> str | None:
    """Returns the field by which a family is recognised that has no field in common with the others."""
    return next((name for name in (FAMILY, "stream_window") if name in document), None)


def _reader(document: Any) -> SpecParts[Any]:
    """Returns the parts of the family that a document is of."""
    if isinstance(document, Mapping) and FAMILY in document:
        return _of_other_package(document[FAMILY])
    known: list[SpecParts[Any]] = [part(family.spec) for family in FAMILIES]
    if not isinstance(document, Mapping):
        return known[-1]  # it says what a document has to be
    return next(reader for reader in known if reader.reads(document))


def _of_other_package(name: Any) -> SpecParts[Any]:
    family = family_named(name) if isinstance(name, str) else None
    if family is None or family in FAMILIES:
        rule = "a family of another package is found through the entry point group panewise.families"
        raise SpecError(f"{FAMILY}={name!r}", rule, "install the package that adds this family")
    reader: SpecParts[Any] = part(family.spec)
    return reader


def _of_this_version(document: Any) -> Any:
    """Returns the dict without the version of its format. Refuses any other version than `FORMAT_VERSION`."""
    if not isinstance(document, Mapping):
        return document
    members = dict(document)
    version = members.pop(_VERSION_FIELD, FORMAT_VERSION)
    if version != FORMAT_VERSION or isinstance(version, bool):
        rule = f"this version of panewise reads format {FORMAT_VERSION}"
        raise SpecError(f"{_VERSION_FIELD}={version!r}", rule, "use the version of panewise that wrote it")
    return members
