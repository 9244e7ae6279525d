"""Readers of values: each takes a value and where it stands, and gives it checked."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from panewise.chrono import Duration
from panewise.errors import SpecError

Reader: TypeAlias = Callable[[Any, str], Any]


def members_of(value: Any, where: str, known: set[str], required: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """The dict, checked to have no unknown field and all required ones."""
    if not isinstance(value, Mapping):
        raise wrong(where or "specification", value, "an object with named fields")
    prefix = f"{where}." if where else ""
    for name in value:
        if name not in known:
            raise SpecError(f"{prefix}{name}={value[name]!r}", f"the fields here are {sorted(known)}", f"leave {name!r} out")
    for name in required:
        if name not in value:
            raise SpecError(f"{prefix}{name} is missing", f"{name} has no default", f"give {prefix}{name}")
    return value


def wrong(where: str, value: Any, what: str) -> SpecError:
    """The error of a value that is not what stands there."""
    return SpecError(f"{where}={value!r}", f"{where} is {what}", f"give {what}")


def typed(kinds: type | tuple[type, ...], what: str) -> Reader:
    """Reads values of these types."""

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise wrong(where, value, what)
        return value

    return read


text = typed(str, "a string")
flag = typed(bool, "true or false")
whole = typed(int, "a whole number")
number = typed((int, float), "a number")


def duration(value: Any, where: str) -> Duration:
    """Reads a duration."""
    return Duration(typed(int, "a whole number of microseconds")(value, where))


def kind_of(value: Any, where: str, kinds: Mapping[str, type]) -> str:
    """The kind of an object, which is one of these."""
    kind = value.get("kind") if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping) or not isinstance(kind, str) or kind not in kinds:
        given = f"{where}.kind={kind!r}" if isinstance(value, Mapping) else f"{where}={value!r}"
        raise SpecError(given, f"the kinds here are {sorted(kinds)}", "give {'kind': ...} with one of these")
    return kind


def or_null(read: Reader) -> Reader:
    """Reads null, or what the reader reads."""
    return lambda value, where: None if value is None else read(value, where)


def listed(what: str) -> Reader:
    """Reads lists of strings."""

    def read(value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise wrong(where, value, what)
        return tuple(text(name, f"{where}[{n}]") for n, name in enumerate(value))

    return read


names = listed("a list of column names")


def several(name: str, values: Any) -> tuple[Any, ...]:
    """What a field of several values was given, in order; a string is a single one.

    >>> several("keys", ["a", "b"])
    ('a', 'b')
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SpecError(f"{name}={values!r}", f"{name} are several, in order", f"give a list: {name}=[...]")
    return tuple(values)


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON pairs, none of which is there twice."""
    given = [name for name, _ in pairs]
    for name in given:
        if given.count(name) > 1:
            raise SpecError(f"{name!r} twice", "a field is given once", "leave one of them out")
    return dict(pairs)
