"""The functions of a user-defined aggregate, and the types of its results (semantics 24.7, 24.20)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from panewise.errors import SpecError

SIMPLE: Final = ("bigint", "double", "string", "boolean")
RESULTS: Final = (*SIMPLE, *(f"array<{name}>" for name in SIMPLE))

JsonValue = Any  # what json.loads can return
ResultType: TypeAlias = str  # one of RESULTS


@dataclass(frozen=True)
class UserFunctions:
    """The fields and checks of :class:`panewise.UserAggregate`.

    :class:`panewise.Aggregate` contains such a value. UserAggregate adds the methods that make aggregates.
    """

    name: str
    init: Callable[[], JsonValue] = field(compare=False, repr=False)
    accumulate: Callable[[JsonValue, Any], JsonValue] = field(compare=False, repr=False)
    merge: Callable[[JsonValue, JsonValue], JsonValue] = field(compare=False, repr=False)
    finish: Callable[[JsonValue], Any] = field(compare=False, repr=False)
    result: ResultType = "double"
    commutative: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.result not in RESULTS:
            rule = (
                "the result of a user-defined aggregate is bigint, double, string or boolean, or a "
                "list of these"
            )
            raise SpecError(f"result={self.result!r}", rule, "give one of these, or such as 'array<bigint>'")
        for part in ("init", "accumulate", "merge", "finish"):
            check_function(part, getattr(self, part))


def check_name(name: Any) -> None:
    """Refuses a name that is no non-empty string: JSON identifies the aggregate by it.

    Raises:
        SpecError: for such a name.
    """
    if not isinstance(name, str) or not name:
        rule = "the name of a user-defined aggregate is a non-empty string"
        raise SpecError(f"name={name!r}", rule, "give a name such as 'longest'")


def check_function(name: str, value: Any) -> None:
    """Refuses a value that cannot be called.

    Raises:
        SpecError: for such a value.
    """
    if not callable(value):
        raise SpecError(f"{name}={value!r}", f"{name} is a function", f"give a function as {name}")
