"""Options that are one of several values, and flags.

A value is compared only with choices of its type, because other objects may not compare to True or False: an
array of NumPy compares to an array.
"""

from collections.abc import Iterable
from typing import Any

from panewise.errors import InputError, SpecError


def is_choice(value: Any, choices: Iterable[Any]) -> bool:
    """Returns whether a value is one of the choices. A value that only equals one, of another type, is none.

    >>> is_choice("left", ("left", "both")), is_choice(1, (True, False))
    (True, False)
    """
    return any(type(value) is type(choice) and value == choice for choice in choices)


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuses a value that is none of the choices."""
    if not is_choice(value, choices):
        raise SpecError(f"{name}={value!r}", f"{name} is one of {choices}", "give one of these")


def check_flag(
    name: str, value: Any, function: str = "", *, error: type[SpecError | InputError] = SpecError
) -> None:
    """Refuses a value that is no Boolean. `function` is the one that it is an option of."""
    if not isinstance(value, bool):
        option = f"{function}({name}={value!r})" if function else f"{name}={value!r}"
        raise error(option, f"{name} is True or False", "give one of these")
