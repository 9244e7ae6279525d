"""Parameters of a test of which `make test` takes the first ones, and `make nightly` the others."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

from panewise.testing.strategies import ALL_KINDS

# Scripts for these kinds of windows are drawn like those for the kind on the right.
LIKE_ANOTHER: Final = {
    "calendar": "tumbling",
    "cumulating": "hopping",
    "custom": "session",
    "session_of_rows": "session",
    "hopping_rows": "rows",
}


def first_here(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Returns the parameters. A tuple is several. All but the first `count` are marked as nightly."""
    return [one if number < count else nightly(one) for number, one in enumerate(values)]


def each_second(parameters: Iterable[Any]) -> list[Any]:
    """Returns names and parameters of `pytest.param`. Each second one that is not nightly becomes nightly."""
    shown, daily = list[Any](), 0
    for name in parameters:
        parameter = pytest.param(name, id=name) if isinstance(name, str) else name
        marks = list(parameter.marks)
        if all(mark.name != "nightly" for mark in marks):
            daily += 1
            marks += [pytest.mark.nightly] * (daily % 2 == 0)
        shown.append(pytest.param(*parameter.values, id=parameter.id, marks=marks))
    return shown


def every(count: int, number: int) -> list[pytest.MarkDecorator]:
    """Returns the marks of a parameter with a number: only each `count`th is not nightly."""
    return [pytest.mark.nightly] if number % count else []


def nightly(value: Any) -> Any:
    """Returns a parameter that is marked as nightly. A tuple is several."""
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.nightly)


def unlike(kinds: Iterable[str]) -> list[Any]:
    """Returns kinds of windows. Those that are drawn like another one are marked as nightly."""
    return [nightly(kind) if kind in LIKE_ANOTHER else kind for kind in kinds]


# The kinds of windows, for tests whose property hardly depends on them.
FEW_KINDS: Final = unlike(ALL_KINDS)
