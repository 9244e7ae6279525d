"""Sizes of windows in numbers of rows. Values only."""

from dataclasses import dataclass
from typing import Any

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.fields import is_count

MOST_ROWS = 2**62  # it keeps the bounds of windows of rows, and row numbers, within 64 bits


def is_number_of_rows(value: Any) -> bool:
    """Returns whether a value is a whole number from 1 to 2^62.

    >>> is_number_of_rows(1), is_number_of_rows(0), is_number_of_rows(2**62 + 1), is_number_of_rows(True)
    (True, False, False, False)
    """
    return is_count(value) and value <= MOST_ROWS


@dataclass(frozen=True, order=True)
class Rows:
    """A number of rows, as the size, hop or gap of windows of rows.

    Args:
        n: the number, from 1 to 2^62.

    Raises:
        SpecError: if `n` is not a whole number in this range.

    >>> Rows(100)
    rows(100)

    Source: semantics 8; S1 "number of messages (i.e. tuples)".
    """

    n: int

    def __post_init__(self) -> None:
        if not is_number_of_rows(self.n):
            rule = f"a number of rows is whole, 1 or more, and {MOST_ROWS} at most"
            raise SpecError(f"rows({self.n!r})", rule, "give a number such as rows(100)")

    def __str__(self) -> str:
        return f"{self.n} row{'' if self.n == 1 else 's'}"

    def __repr__(self) -> str:
        return f"rows({self.n})"


def rows(n: int) -> Rows:
    """Returns a size, hop or gap of windows: `n` rows, in arrival order.

    >>> rows(100)
    rows(100)

    Raises:
        SpecError: if `n` is not a whole number from 1 to 2^62.

    Source: semantics 8.
    """
    return Rows(n)


def length(size: Duration | Rows) -> int:
    """Returns a size, hop or gap as a number of microseconds or of rows.

    >>> length(Duration.of("1 second")), length(rows(3))
    (1000000, 3)
    """
    return size.n if isinstance(size, Rows) else size.us
