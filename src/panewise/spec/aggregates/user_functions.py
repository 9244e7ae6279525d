"""The functions of a user-defined aggregate, and the types of its results (semantics 24.7, 24.20)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Final, TypeAlias

from panewise.errors import InputError, SpecError
from panewise.spec.column_values import ColumnType
from panewise.spec.fields import is_name

SIMPLE: Final = ("bigint", "double", "string", "boolean")
_RULE: Final = (
    "the result of a user-defined aggregate is bigint, double, string, boolean or decimal(p,s), or a list, a "
    "struct or a map of these"
)

JsonValue = Any  # what json.loads can return
ResultType: TypeAlias = str  # a type as Spark's DDL writes it, of those that `checked_type` takes


@dataclass(frozen=True)
class UserFunctions:
    """The fields and checks of :class:`panewise.UserAggregate`.

    :class:`panewise.Aggregate` contains such a value. UserAggregate adds the methods that make aggregates.
    """

    name: str
    init: Callable[[], JsonValue] = field(compare=False, repr=False)
    accumulate: Callable[..., JsonValue] = field(compare=False, repr=False)
    merge: Callable[[JsonValue, JsonValue], JsonValue] = field(compare=False, repr=False)
    finish: Callable[[JsonValue], Any] = field(compare=False, repr=False)
    result: ResultType = "double"
    commutative: bool = False

    def __post_init__(self) -> None:
        check_user_functions(self, ("init", "accumulate", "merge", "finish"))


def check_user_functions(user: Any, names: Iterable[str]) -> None:
    """Checks a user-defined aggregate, and sets its `result` as Spark writes it.

    Its name identifies it in JSON. `names` are the fields that have functions.
    """
    if not is_name(user.name):
        rule = "the name of a user-defined aggregate is a non-empty string"
        raise SpecError(f"name={user.name!r}", rule, "give a name such as 'longest'")
    object.__setattr__(user, "result", checked_type(user.result))
    for name in names:
        check_function(name, getattr(user, name))


def check_function(name: str, value: Any) -> None:
    """Refuses a value that cannot be called."""
    if not callable(value):
        raise SpecError(f"{name}={value!r}", f"{name} is a function", f"give a function as {name}")


def check_arguments(name: str, accumulate: Callable[..., Any], columns: int) -> None:
    """Refuses columns whose values `accumulate` cannot take, if its signature is known."""
    try:
        taken = signature(accumulate)
    except ValueError:
        return
    try:
        taken.bind(*range(1 + columns))
    except TypeError:
        rule = "accumulate takes a state and a value of each column (semantics 24.30)"
        remedy = f"give as many columns as accumulate{taken} takes values"
        raise SpecError(f"{name!r} over {columns} columns", rule, remedy) from None


def checked_type(result: Any) -> ResultType:
    """Returns the type of a result as Spark writes it.

    >>> checked_type("STRUCT<a: bigint, b: array<decimal(10, 2)>>")
    'struct<a:bigint,b:array<decimal(10,2)>>'

    Raises:
        SpecError: if a result cannot have the type.
    """
    try:
        kind = ColumnType.parse(result)
    except InputError:
        kind = None
    if kind is None or not _is_result(kind):
        raise SpecError(f"result={result!r}", _RULE, "give one of these, or such as 'array<bigint>'")
    return str(kind)


def _is_result(kind: ColumnType) -> bool:
    if kind.name == "map" and kind.fields[0][1].fields:
        return False  # a key has a simple type, as in Spark's maps of comparable keys
    if kind.fields:
        return all(_is_result(part) for _, part in kind.fields)
    return kind.name in (*SIMPLE, "decimal")
