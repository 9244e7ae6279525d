"""Converts sizes, hops and gaps of windows to plain values and back.

A plain value is a whole number of microseconds or `{"rows": n}`. A gap may also be the name of a column.
"""

from collections.abc import Mapping
from typing import Any

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.windows.kinds import names_a_column
from panewise.spec.windows.measure import Rows

_MICROSECONDS = "a whole number of microseconds, or {'rows': n}"


def plain_measure(measure: Duration | Rows) -> int | dict[str, int]:
    """Returns the measure as a plain value.

    >>> plain_measure(Rows(3)), plain_measure(Duration.of("1 second"))
    ({'rows': 3}, 1000000)
    """
    return {"rows": measure.n} if isinstance(measure, Rows) else measure.us


def read_measure(value: Any, where: str, what: str = _MICROSECONDS) -> Duration | Rows:
    """Returns the measure that a plain value describes.

    Args:
        value: the plain value.
        where: where it is in the document, for error messages.
        what: what is allowed there, for error messages.

    Raises:
        SpecError: if the value does not describe a measure.

    >>> read_measure({"rows": 3}, "window.size")
    rows(3)
    """
    if isinstance(value, Mapping) and set(value) == {"rows"}:
        return Rows(value["rows"])
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"{where}={value!r}", f"{where} is {what}", f"give {what}")
    return Duration(value)


def read_gap(value: Any, where: str) -> Duration | Rows | str:
    """Returns the gap of a session that a plain value describes: a measure, or the name of a column.

    Raises:
        SpecError: if the value is neither.
    """
    named: bool = names_a_column(value)
    return value if named else read_measure(value, where, f"{_MICROSECONDS}, or a column's name")
