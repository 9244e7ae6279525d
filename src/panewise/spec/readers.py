"""Readers of plain values, as codecs use them: each checks what it is given, and says where it stands if it is wrong."""

from collections.abc import Callable, Mapping
from typing import Any

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.operator import Position

Reader = Callable[[Any, str], Any]


def members(value: Any, where: str, known: set[str], required: tuple[str, ...] = ()) -> Mapping[str, Any]:
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
    """The error of a value that is not what it has to be."""
    return SpecError(f"{where}={value!r}", f"{where} is {what}", f"give {what}")


def typed(kinds: type | tuple[type, ...], what: str) -> Reader:
    """Reads a value of a type; only where bool is asked for true is one."""

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
    """Reads microseconds."""
    return Duration(typed(int, "a whole number of microseconds")(value, where))


def listed(what: str) -> Reader:
    """Reads a list of texts."""

    def read(value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise wrong(where, value, what)
        return tuple(text(name, f"{where}[{n}]") for n, name in enumerate(value))

    return read


names = listed("a list of column names")


def or_null(read: Reader) -> Reader:
    """Reads null, too."""
    return lambda value, where: None if value is None else read(value, where)


def position(value: Any, where: str) -> Position:
    """Reads a source position."""
    readers = {"partition": text, "offset": text, "source": or_null(text)}
    given = members(value, where, set(readers))
    return Position(**{name: readers[name](value, f"{where}.{name}") for name, value in given.items()})
