"""Readers of documents, and checks of arguments that several specifications have.

A reader is a function of a value and its path, such as "window.size". It returns the validated value, or
raises SpecError with the path. Documents consist of dicts and lists, as JSON does.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias, TypeGuard, TypeVar

from panewise.chrono import Duration
from panewise.errors import SpecError, SpecWarning

S = TypeVar("S")
Reader: TypeAlias = Callable[[Any, str], Any]


def members_of(value: Any, where: str, known: set[str], required: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Returns the dict `value`, if its fields are among `known` and include those that are `required`.

    The path `where` is "" for the whole specification.
    """
    if not isinstance(value, Mapping):
        raise wrong(where or "specification", value, "an object with named fields")
    prefix = f"{where}." if where else ""
    for name in value:
        if name not in known:
            rule = f"the known fields are {sorted(known)}"
            raise SpecError(f"{prefix}{name}={value[name]!r}", rule, f"leave {name!r} out")
    for name in required:
        if name not in value:
            raise SpecError(f"{prefix}{name} is missing", f"{name} has no default", f"give {prefix}{name}")
    return value


def wrong(where: str, value: Any, what: str) -> SpecError:
    """Returns the error for a value that the path `where` does not allow.

    `what` describes the values that it allows, such as "a whole number".
    """
    return SpecError(f"{where}={value!r}", f"{where} is {what}", f"give {what}")


def typed(kinds: type | tuple[type, ...], what: str) -> Reader:
    """Returns a reader of values of these types. Errors describe the types by `what`.

    A bool is accepted only for `kinds=bool`, and never as an int.
    """

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
    """Reads a duration, given as a whole number of microseconds."""
    return Duration(typed(int, "a whole number of microseconds")(value, where))


def kind_of(value: Any, where: str, kinds: Mapping[str, Any]) -> str:
    """Returns the field `kind` of a dict."""
    kind, named = (value.get("kind"), f"{where}.kind") if isinstance(value, Mapping) else (None, where)
    if not isinstance(kind, str) or kind not in kinds:
        rule = f"the known kinds are {sorted(kinds)}"
        shown = kind if isinstance(value, Mapping) else value
        raise SpecError(f"{named}={shown!r}", rule, "give {'kind': ...} with one of these")
    return kind


def list_reader(what: str) -> Reader:
    """Returns a reader of lists of strings, which become tuples. Errors describe the list by `what`."""

    def read(value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise wrong(where, value, what)
        return tuple(text(name, f"{where}[{n}]") for n, name in enumerate(value))

    return read


names = list_reader("a list of column names")


def several(name: str, values: Any) -> tuple[Any, ...]:
    """Returns the values of a field with a list of values, as a tuple.

    Raises:
        SpecError: for a value that is not iterable, and for a string, as its characters would be the values.

    >>> several("keys", ["a", "b"])
    ('a', 'b')
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SpecError(f"{name}={values!r}", f"{name} is a list, in order", f"give a list: {name}=[...]")
    return tuple(values)


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns a JSON object as a dict. It is an `object_pairs_hook` of `json.loads`."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{name!r} twice", "a field is given once", "leave one of them out")
    return dict(pairs)


def set_fields(spec: object, **values: Any) -> None:
    """Sets fields of a frozen value while it is built."""
    for name, value in values.items():
        object.__setattr__(spec, name, value)


def is_name(value: Any) -> bool:
    """Returns whether a value is a non-empty string, as the names of columns are."""
    return isinstance(value, str) and value != ""


def is_whole(value: Any) -> TypeGuard[int]:
    """Returns whether a value is a whole number of any size, which a Boolean is not.

    >>> is_whole(2**70), is_whole(True), is_whole(1.0)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def is_count(value: Any, least: int = 1) -> TypeGuard[int]:
    """Returns whether a value is a whole number that is not below the least one.

    >>> [is_count(value) for value in (1, 0, True, 1.0)]
    [True, False, False, False]
    """
    return is_whole(value) and value >= least


def refuse_fields(
    spec: Any,
    rules: Mapping[str, tuple[bool, str]],
    remedy: str = "leave {name} out",
    before: str = "",
    after: str = "",
) -> None:
    """Refuses the first field that breaks its rule.

    Args:
        spec: the value that has the fields.
        rules: for each field whether it breaks a rule, and the rule.
        remedy: the remedy for the field {name}.
        before: begins the text on what was given, of which name and value of the field are a part.
        after: ends this text.
    """
    for name, (is_broken, rule) in rules.items():
        if is_broken:
            field = f"{before}{name}={getattr(spec, name)!r}{after}"
            raise SpecError(field, rule, remedy.format(name=name))


def check_columns(names: Iterable[Any]) -> None:
    """Refuses names of columns that are no non-empty strings."""
    for name in names:
        if not is_name(name):
            rule = "columns are named by non-empty strings"
            raise SpecError(f"column {name!r}", rule, "give the column's name")


def check_once(keys: tuple[str, ...]) -> None:
    """Refuses a key that is named twice."""
    for name in keys:
        if keys.count(name) > 1:
            raise SpecError(f"keys={list(keys)!r}", "a key is named once", f"name {name!r} once")


def check_alias(name: Any) -> None:
    """Refuses an alias that is no non-empty string."""
    if not is_name(name):
        raise SpecError(f"name={name!r}", "an alias is a column name", "give a non-empty string")


def not_negative(value: Any, name: str) -> Duration:
    """Returns a value as a duration that is 0 or more."""
    duration = Duration.of(value, name)
    if duration.us < 0:
        raise SpecError(f"{name}={value!r}", f"{name} is not negative", "give 0 or more")
    return duration


def skew_of(value: Any) -> Duration | None:
    """Returns `max_future_skew` as a duration, None if there is none."""
    return None if value is None else not_negative(value, "max_future_skew")


def number_or_us(value: Any, name: str) -> Any:
    """Returns a duration in microseconds, and any other value as it is."""
    return Duration.of(value, name).us if isinstance(value, (str, timedelta, Duration)) else value


def is_finite_number(value: Any) -> bool:
    """Returns whether a value is an int or float, finite as a float.

    >>> [is_finite_number(value) for value in (0.5, True, float("nan"), 10**400)]
    [True, False, False, False]
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max


@contextmanager
def silently() -> Iterator[None]:
    """Ignores warnings of specifications that are made of one that has warned."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        yield


def silently_replaced(spec: S, **changes: Any) -> S:
    """Returns a specification with other fields. It warned when it was first built."""
    values: Any = spec
    with silently():
        changed: S = replace(values, **changes)
    return changed
