"""Values of frames as Python objects, where both behave in the same way."""

from math import copysign, isnan
from typing import Any, Final

import polars as pl

# Columns whose values are equal in Python if they are equal in Polars.
KEY_TYPES: Final = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.String, pl.Boolean, pl.Date)


class NotInPythonError(Exception):
    """A value that only the engine handles: a NaN, a negative zero, a far instant, a sum beyond 64 bits."""


def check_value(value: Any) -> None:
    """Raises NotInPythonError if Python and Polars may treat a value in different ways."""
    if type(value) is float and (isnan(value) or (value == 0.0 and copysign(1.0, value) < 0)):
        raise NotInPythonError


def python_rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Returns the rows of a frame.

    Raises:
        NotInPythonError: if an instant is in a year that Python's datetimes do not have.

    >>> python_rows(pl.DataFrame({"a": [1, 2], "b": ["x", None]}))
    [(1, 'x'), (2, None)]
    """
    try:
        return frame.rows()
    except (ValueError, OverflowError):
        raise NotInPythonError from None
