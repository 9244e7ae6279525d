"""Frames of the OVER operator: ROWS and RANGE (semantics 29.4, 29.5). Values only."""

from dataclasses import dataclass
from typing import Literal

from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError


@dataclass(frozen=True)
class Frame:
    """A ROWS or RANGE frame: the rows of a key from `start` to `end`, relative to the current row.

    Both bounds are included. Negative bounds lie before the current row.

    Args:
        kind: "rows" (bounds are numbers of rows) or "range" (bounds are microseconds of event time).
        start: the first row of the frame; None for the first row of the key.
        end: the last row of the frame. 0 is the current row; in a range, all rows of equal event time. A
            range without `start` and with `end` 0 ends with the last peer: with order columns, peers are
            equal in these too.

    Raises:
        SpecError: if the kind is unknown, a bound is not a whole number of 64 bits, the frame ends before it
            starts, or a range without `start` ends before the current row.

    >>> Frame("rows", -2, 0)
    Frame(kind='rows', start=-2, end=0)

    Source: semantics 29.4, 29.5; SQL ROWS and RANGE.
    """

    kind: Literal["rows", "range"]
    start: int | None
    end: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("rows", "range"):
            raise SpecError(
                f"kind={self.kind!r}",
                "a frame is one of rows or of a range of time",
                "give 'rows' or 'range'",
            )
        for name, bound in (("start", self.start), ("end", self.end)):
            whole = isinstance(bound, int) and not isinstance(bound, bool) and abs(bound) < MAX_INSTANT
            if not whole and not (name == "start" and bound is None):
                rule = (
                    "the bounds of a frame are whole numbers of 64 bits, and the start may be "
                    "unbounded (None)"
                )
                raise SpecError(f"{name}={bound!r}", rule, "give a number of rows, or of microseconds")
        if self.start is not None and self.start > self.end:
            raise SpecError(
                f"start={self.start}, end={self.end}",
                "a frame does not end before it starts",
                "exchange the two",
            )
        if self.kind == "range" and self.start is None and self.end < 0:
            rule = "a range without a start ends at the current row or after it"
            raise SpecError(
                f"range from the first row to {-self.end} microseconds before the row",
                rule,
                "give the range a start, or use rows",
            )
