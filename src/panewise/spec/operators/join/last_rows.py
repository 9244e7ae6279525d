"""The last rows of the other side, by arrival or by event time (semantics 37). Values only."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias

from panewise.choices import check_choice
from panewise.errors import SpecError
from panewise.spec.fields import is_count, set_fields
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy

ORDERS: Final = ("arrival", "event_time")
RowWindow: TypeAlias = CountPolicy | TimePolicy | DeltaPolicy


@dataclass(frozen=True, init=False)
class LastRows:
    """The last rows of the other side by key: by arrival, or at or before the event time of the left row.

    Args:
        right: what the window of right rows contains: a number of rows, or `count(n)`, `time(d)` or
            `delta(column, amount)` of :mod:`panewise.streamwindow`. 0 is no rows: then only right rows that
            arrive look for partners.
        left: likewise the window of left rows, in which right rows that arrive look for partners. Default: 0.
        order: "arrival" or "event_time", which is for a number of right rows only. Default: "arrival".

    Raises:
        SpecError: for other values, for two windows without rows, and for a window that the order does not
            have.

    >>> LastRows(3)
    LastRows(right=CountPolicy(n=3), left=None, order='arrival')

    Source: semantics 37.4 to 37.6; S1 "ROWS n PRECEDING", S5 Join.
    """

    kind: ClassVar[str] = "last_rows"
    _document_kind: ClassVar[str] = "rows"
    right: RowWindow | None
    left: RowWindow | None
    order: Literal["arrival", "event_time"]

    def __init__(
        self,
        right: int | RowWindow | None,
        left: int | RowWindow | None = None,
        order: Literal["arrival", "event_time"] = "arrival",
    ) -> None:
        set_fields(self, right=_row_window(right, "right"), left=_row_window(left, "left"), order=order)
        check_choice("order", order, ORDERS)
        if self.right is None and self.left is None:
            raise SpecError(f"{self!r}", "at least one side has a window of rows", "give one such as 3")
        if order == "event_time" and (self.left is not None or not isinstance(self.right, CountPolicy)):
            rule = "by event time a left row matches a number of right rows (semantics 37.6)"
            raise SpecError(f"{self!r}", rule, "give LastRows(n, order='event_time'), or order='arrival'")

    @property
    def windows(self) -> dict[str, RowWindow | None]:
        """The windows by side; None contains no rows."""
        return {"left": self.left, "right": self.right}


def _row_window(window: Any, side: str) -> RowWindow | None:
    """Returns a window of rows; a number is that of its rows.

    >>> _row_window(2, "left"), _row_window(0, "left")
    (CountPolicy(n=2), None)
    """
    if window is None or isinstance(window, RowWindow):
        return window
    if not is_count(window, least=0):
        rule = "a window of rows is a number of rows, count, time or delta"
        raise SpecError(f"{side}={window!r}", rule, "give one such as 3, or time('1 minute')")
    return CountPolicy(window) if window else None
