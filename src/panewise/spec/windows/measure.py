"""The measures of windows: durations and numbers of rows. Values only."""

from dataclasses import dataclass

from panewise.chrono import Duration
from panewise.errors import SpecError

_LONGEST = 2**62  # in rows; it keeps the bounds of windows within 64 bits


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
        if isinstance(self.n, bool) or not isinstance(self.n, int) or not 1 <= self.n <= _LONGEST:
            rule = f"a number of rows is whole, 1 or more, and {_LONGEST} at most"
            raise SpecError(f"rows({self.n!r})", rule, "give a number such as rows(100)")

    def __str__(self) -> str:
        return f"{self.n} row{'' if self.n == 1 else 's'}"

    def __repr__(self) -> str:
        return f"rows({self.n})"


def rows(n: int) -> Rows:
    """Returns a measure of windows: `n` rows, in arrival order.

    >>> rows(100)
    rows(100)

    Raises:
        SpecError: if `n` is not a whole number from 1 to 2^62.

    Source: semantics 8.
    """
    return Rows(n)


def length(measure: Duration | Rows) -> int:
    """Returns a measure as a number of microseconds or of rows.

    >>> length(Duration.of("1 second")), length(rows(3))
    (1000000, 3)
    """
    return measure.n if isinstance(measure, Rows) else measure.us
