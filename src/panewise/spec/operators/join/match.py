"""Matches of a join: which rows of the two sides belong together (semantics 37). Values only."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import is_count, is_name, set_fields
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy
from panewise.spec.windows.kinds import positive

STRATEGIES: Final = ("backward", "forward", "nearest")
ORDERS: Final = ("arrival", "event_time")
RowWindow: TypeAlias = CountPolicy | TimePolicy | DeltaPolicy


@dataclass(frozen=True, init=False)
class AsOf:
    """The right row that was in force at the time of the left row, or the next or nearest one.

    Args:
        strategy: "backward" (the latest right row at or before the left one), "forward" (the earliest one at
            or after it) or "nearest" (the one with the least distance; of two the earlier one). Default:
            "backward".
        tolerance: the largest distance between both rows, 0 or more, included. Default: no limit. Then a left
            row of "forward" or "nearest" waits until its partner is known, or the right input ends. So left
            rows of "forward" without a later right row of their key, and of "nearest" without any, stay
            stored. An int is in microseconds.
        allow_exact_matches: whether a right row at the time of the left row matches it. Default: True.

    Raises:
        SpecError: for another strategy, a negative tolerance, an `allow_exact_matches` that is no bool, and a
            tolerance of 0 without exact matches.

    >>> AsOf(tolerance="1 hour")
    AsOf(strategy='backward', tolerance=Duration('1 hour'), allow_exact_matches=True)

    Source: semantics 37.2, 37.22, 37.23; Flink FOR SYSTEM_TIME AS OF, Polars join_asof.
    """

    kind: ClassVar[str] = "as_of"
    strategy: Literal["backward", "forward", "nearest"]
    tolerance: Duration | None
    allow_exact_matches: bool

    def __init__(
        self,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: DurationLike | None = None,
        *,
        allow_exact_matches: bool = True,
    ) -> None:
        distance = None if tolerance is None else Duration.of(tolerance, "tolerance")
        set_fields(self, strategy=strategy, tolerance=distance, allow_exact_matches=allow_exact_matches)
        check_choice("strategy", strategy, STRATEGIES)
        if distance is not None and distance.us < 0:
            raise SpecError(f"tolerance={tolerance!r}", "a tolerance is not negative", "give 0 or more")
        exact: Any = allow_exact_matches
        if not isinstance(exact, bool):
            rule = "whether rows of equal time match is True or False"
            raise SpecError(f"allow_exact_matches={exact!r}", rule, "give one of these")
        if not exact and distance is not None and distance.us == 0:
            rule = "within a tolerance of 0 there are only rows of equal time"
            raise SpecError(f"{self!r}", rule, "give a tolerance above 0, or leave allow_exact_matches out")

    @property
    def waits_for_partner(self) -> bool:
        """Whether a left row waits until its partner is known, however long that takes (semantics 37.23)."""
        return self.tolerance is None and self.strategy != "backward"

    @property
    def waits(self) -> int:
        """How far beyond a left row the right rows reach that it waits for in any case, in microseconds.

        -1 if they are before it.
        """
        if self.strategy == "backward":
            return 0 if self.allow_exact_matches else -1
        return 0 if self.tolerance is None else self.tolerance.us

    @property
    def reach(self) -> tuple[int | None, int | None]:
        """How far the last right row lies after a left row that it matches, and the other way round.

        None is any distance. A row that is "forward" of a left row at the same time is needed as long as one
        that matches it.
        """
        far = None if self.tolerance is None else self.tolerance.us
        return far if self.waits_for_partner else self.waits, 0 if self.strategy == "forward" else far


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


@dataclass(frozen=True, init=False)
class Latest:
    """The newest row of the other side by key, of those that are younger than a time to live.

    A row that arrives is paired with the newest row of its key on the other side, and takes the place of that
    of its own side. So each side is a table that changes.

    Args:
        ttl: how long a row can be paired after its arrival, in processing time. Default: until another one of
            its key arrives. An int is in microseconds.
        deletes: a column of both sides, or a pair with a column or None for each side. A row in which it is
            null deletes the row of its key on its side. Default: none.

    Raises:
        SpecError: for a time that is not above zero, and for columns that are no non-empty strings.

    >>> Latest("1 hour", deletes=(None, "price"))
    Latest(ttl=Duration('1 hour'), deletes=(None, 'price'))

    Source: semantics 37.7 to 37.9; Samza's join, tables of Kafka Streams.
    """

    kind: ClassVar[str] = "latest"
    _clock_fields: ClassVar[tuple[str, ...]] = ("ttl",)
    ttl: Duration | None
    deletes: tuple[str | None, str | None]

    def __init__(
        self,
        ttl: DurationLike | None = None,
        deletes: str | tuple[str | None, str | None] | None = None,
    ) -> None:
        columns = tuple(deletes) if isinstance(deletes, (tuple, list)) else (deletes, deletes)
        set_fields(self, ttl=None if ttl is None else positive(ttl, "ttl"), deletes=columns)
        if len(columns) != 2 or not all(column is None or is_name(column) for column in columns):
            rule = "a column of each side, or None, is named by a non-empty string"
            raise SpecError(f"deletes={deletes!r}", rule, "give one such as (None, 'price')")

    @property
    def deletes_by_side(self) -> dict[str, str | None]:
        """The columns by side."""
        return {"left": self.deletes[0], "right": self.deletes[1]}


Match: TypeAlias = Interval | AsOf | SameWindow | LastRows | Latest | WindowedStreams


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
