"""Frames of the OVER operator: ROWS and RANGE (semantics 29.4, 29.5). Values only."""

from dataclasses import dataclass
from typing import Final, Literal

from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError
from panewise.spec.fields import is_whole

EXCLUSIONS: Final = ("no others", "current row", "group", "ties")


@dataclass(frozen=True)
class Frame:
    """A ROWS or RANGE frame: the rows of a key from `start` to `end`, relative to the current row.

    Both bounds are included. Negative bounds lie before the current row.

    Args:
        kind: "rows" (bounds are numbers of rows) or "range" (bounds are microseconds of event time).
        start: the first row of the frame; None for the first row of the key.
        end: the last row of the frame; None for the last row of the key, which only descending event time
            allows. 0 is the current row; in a range, all rows of equal event time. A range without `start`
            and with `end` 0 ends with the last peer: with order columns, peers are equal in these too.
        exclude: the rows that are left out of the frame: "no others", the "current row", its "group" (the row
            and its peers) or its "ties" (its peers without the row).

    Raises:
        SpecError: if the kind or `exclude` is unknown, a bound is not a whole number of 64 bits, the frame
            ends before it starts or has no bound at all, a range without `start` ends before the current row,
            or one without `end` starts after it.

    >>> Frame("rows", -2, 0)
    Frame(kind='rows', start=-2, end=0)

    Source: semantics 29.4, 29.5, 29.15; SQL ROWS, RANGE and EXCLUDE.
    """

    kind: Literal["rows", "range"]
    start: int | None
    end: int | None = 0
    exclude: Literal["no others", "current row", "group", "ties"] = "no others"

    def __post_init__(self) -> None:
        if self.kind not in ("rows", "range"):
            rule = "a frame is one of rows or of a range of time"
            raise SpecError(f"kind={self.kind!r}", rule, "give 'rows' or 'range'")
        if self.exclude not in EXCLUSIONS:
            rule = f"a frame excludes one of {', '.join(map(repr, EXCLUSIONS))}"
            raise SpecError(f"exclude={self.exclude!r}", rule, "give one of these")
        for name, bound in (("start", self.start), ("end", self.end)):
            if bound is not None and not (is_whole(bound) and abs(bound) < MAX_INSTANT):
                rule = "the bounds of a frame are whole numbers of 64 bits, or unbounded (None)"
                raise SpecError(f"{name}={bound!r}", rule, "give a number of rows, or of microseconds")
        self._check_bounds()

    def _check_bounds(self) -> None:
        if self.start is None and self.end is None:
            rule = "a stream has no last row, so a frame ends or, in descending order, starts near the row"
            raise SpecError("a frame without bounds", rule, "end it at the current row: end=0")
        if self.start is not None and self.end is not None and self.start > self.end:
            rule = "a frame does not end before it starts"
            raise SpecError(f"start={self.start}, end={self.end}", rule, "exchange the two")
        if self.kind == "range" and self.start is None and (self.end or 0) < 0:
            rule = "a range without a start ends at the current row or after it"
            shown = f"range from the first row to {-(self.end or 0)} microseconds before the row"
            raise SpecError(shown, rule, "give the range a start, or use rows")
        if self.kind == "range" and self.end is None and (self.start or 0) > 0:
            rule = "a range without an end starts at the current row or before it"
            shown = f"range from {self.start} microseconds after the row to the last row"
            raise SpecError(shown, rule, "give the range an end, or use rows")

    def __repr__(self) -> str:
        excluded = "" if self.exclude == "no others" else f", exclude={self.exclude!r}"
        return f"Frame(kind={self.kind!r}, start={self.start!r}, end={self.end!r}{excluded})"
