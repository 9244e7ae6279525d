"""Writes frozen values as plain values and reads them back, by the fields of their classes.

The type of a field decides how its value is written and read. A table of :class:`Form` states where
documents differ from the fields. If a class or its form has a `kind`, documents have it, too. So a value can
be one of several classes. A class whose kind has another name in documents has it as `_document_kind`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from panewise.chrono import Duration
from panewise.spec.fields import (
    Reader,
    duration,
    flag,
    kind_of,
    members_of,
    names,
    number,
    text,
    whole,
    wrong,
)
from panewise.spec.protocol import Users

ReadValue: TypeAlias = Callable[["Decoder", Any, str], Any]
_SIMPLE: Final[dict[Any, Reader]] = {
    str: text,
    bool: flag,
    int: whole,
    float: number,
    int | float: number,
    Duration: duration,
    tuple[str, ...]: names,
}


def _call(decoder: "Decoder", cls: Any, values: dict[str, Any], where: str) -> Any:
    return cls(**values)


@dataclass(frozen=True)
class Form:
    """Where the documents of a class, or of a union, differ from what the fields and types define.

    Attributes:
        kind: the kind, if it is not in the class attribute `kind`.
        several: what a list of such values is called in errors.
        names: the names in documents of fields that are named otherwise there.
        hidden: fields that are not in documents.
        also: names that are allowed besides the fields; another reader reads their values.
        left_out: the values of fields that a document leaves out, if the class has others.
        sparse: whether fields that have their default are not written.
        newer: fields that are not written if they have their default, as earlier releases had none of them.
        fields: by field, the type or form by which it is read, in place of its annotation.
        make: makes the value, given the values of the fields. Default: calls the class.
        read: reads the whole value, instead of all of these.
        write: returns the plain value of a whole value.
    """

    kind: str | None = None
    several: str = "values"
    names: Mapping[str, str] | None = None
    hidden: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    left_out: Mapping[str, Any] | None = None
    sparse: bool = False
    newer: tuple[str, ...] = ()
    fields: Mapping[str, Any] | None = None
    make: Callable[["Decoder", Any, dict[str, Any], str], Any] = _call
    read: ReadValue | None = None
    write: Callable[["Encoder", Any], Any] | None = None


def plain(read: Reader) -> Form:
    """Returns the form of values that a reader reads without a decoder."""
    return Form(read=lambda decoder, value, where: read(value, where))


ANYTHING: Final = plain(lambda value, where: value)
Forms: TypeAlias = Mapping[Any, Form]
_BY_FIELDS: Final = Form()


def _kind(cls: Any, form: Form) -> str | None:
    kind = form.kind or getattr(cls, "_document_kind", None) or getattr(cls, "kind", None)
    return kind if isinstance(kind, str) else None


class Encoder:
    """Writes values as plain values: lists, dicts, texts and numbers."""

    def __init__(self, forms: Forms) -> None:
        self._forms = forms

    def write(self, value: Any) -> Any:
        """Returns the value as a plain value. Durations are whole microseconds."""
        if isinstance(value, (tuple, list)):
            return [self.write(item) for item in value]
        if isinstance(value, Duration):
            return value.us
        if isinstance(value, Decimal):
            return str(value)
        if not is_dataclass(type(value)):
            return value
        form = next((self._forms[cls] for cls in type(value).__mro__ if cls in self._forms), _BY_FIELDS)
        return self.fields(value, form) if form.write is None else form.write(self, value)

    def fields(self, value: Any, form: Form = _BY_FIELDS) -> dict[str, Any]:
        """Returns a value as a dict of its fields, in their order."""
        kind, names = _kind(type(value), form), form.names or {}
        written = {} if kind is None else {"kind": kind}
        for field in fields(value):
            part = getattr(value, field.name)
            sparse = form.sparse or field.name in form.newer
            if field.name not in form.hidden and not (sparse and part == field.default):
                written[names.get(field.name, field.name)] = self.write(part)
        return written


class Decoder:
    """Reads values from plain values.

    Attributes:
        users: what the user defined, which documents name.
    """

    def __init__(self, forms: Forms, users: Users) -> None:
        self._forms = forms
        self.users = users

    def read(self, kind: Any, value: Any, where: str) -> Any:
        """Returns the value of a type that a plain value describes.

        Args:
            kind: the type: a class, or what an annotation contains. Or a form with a reader.
            value: the plain value.
            where: its path in the document, for error messages; "" is the root.
        """
        form = kind if isinstance(kind, Form) else self._forms.get(kind, _BY_FIELDS)
        inner = get_args(kind)
        if form.read is not None:
            return form.read(self, value, where)
        if kind in _SIMPLE:
            return _SIMPLE[kind](value, where)
        if get_origin(kind) is Literal:
            return _word(value, where, inner)  # the constructor checks which
        if get_origin(kind) is tuple:
            return self.several(inner[0], value, where)
        if NoneType in inner:
            return None if value is None else self.read(_without_none(kind), value, where)
        return self.one_of(inner or (kind,), value, where)

    def _reader(self, kind: Any) -> ReadValue:
        """Returns the function that reads a type.

        The reader of a form is returned itself, without a call around it: nested conditions need the stack.
        """
        form = kind if isinstance(kind, Form) else self._forms.get(kind, _BY_FIELDS)
        return form.read or (lambda decoder, value, where: decoder.read(kind, value, where))

    def several(self, kind: Any, value: Any, where: str) -> tuple[Any, ...]:
        """Returns the values that a list describes. Errors name the list by the form of the type."""
        if not isinstance(value, (list, tuple)):
            raise wrong(where, value, f"a list of {self._forms.get(kind, _BY_FIELDS).several}")
        return tuple(self.read(kind, item, f"{where}[{n}]") for n, item in enumerate(value))

    def one_of(self, classes: tuple[Any, ...], value: Any, where: str) -> Any:
        """Returns the value of the class that the field `kind` names. A single class may be without kinds."""
        kinds = {_kind(cls, self._forms.get(cls, _BY_FIELDS)) or "": cls for cls in classes}
        return self.fields(kinds.get("") or kinds[kind_of(value, where, kinds)], value, where)

    def fields(self, cls: Any, value: Any, where: str) -> Any:
        """Returns the value of a class whose fields a dict contains."""
        form = self._forms.get(cls, _BY_FIELDS)
        types, left_out, names = _types(cls), form.left_out or {}, form.names or {}
        known = {names.get(name, name): name for name in types if name not in form.hidden}
        kind = () if _kind(cls, form) is None else ("kind",)
        needed = [name for name, field in known.items() if field in _needed(cls) and field not in left_out]
        members = members_of(value, where, {*known, *kind, *form.also}, tuple(needed))
        values = dict(left_out)
        for name, field in known.items():
            if name in members:
                values[field] = self._reader((form.fields or types).get(field, types[field]))(
                    self, members[name], f"{where}.{name}" if where else name
                )
        return form.make(self, cls, values, where)


def _word(value: Any, where: str, known: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise wrong(where, value, f"one of {', '.join(map(repr, known))}")
    return value


@cache
def _types(cls: Any) -> dict[str, Any]:
    """Returns the types of the fields of a class, in their order."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def _needed(cls: Any) -> frozenset[str]:
    """Returns the arguments of the constructor that have no default."""
    parameters = inspect.signature(cls).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.default is parameter.empty)


@cache
def _without_none(union: Any) -> Any:
    return Union[tuple(member for member in get_args(union) if member is not NoneType)]  # noqa: UP007 - made here
