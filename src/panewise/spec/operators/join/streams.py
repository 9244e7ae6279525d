"""The match of S1's windowed stream join: each side has a window, update policies and a retention.

Values only (semantics 37.14 to 37.19).
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal, TypeAlias

from panewise.choices import is_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import set_fields
from panewise.spec.triggers.simple import Always, Every
from panewise.spec.windows.kinds import Hopping, Tumbling, positive
from panewise.spec.windows.size_in_rows import MOST_ROWS, Rows, is_number_of_rows

EACH: Literal["each"] = "each"
UpdatePolicy: TypeAlias = Always | Every
SideWindow: TypeAlias = Rows | Tumbling | Hopping
_EXAMPLE = "give 'each', or a period such as '1 minute'"


@dataclass(frozen=True, init=False)
class JoinWindow:
    """The window of a side of a windowed stream join, with its update policies and its retention.

    Args:
        window: `rows(n)`: the last n rows of a key. Tumbling or Hopping, of event time: a row is in the
            window of a row of the other side that is up to the size later, this distance included. Default:
            none, so all rows are in the window.
        early: when a row is released while its window is not complete. "each": in the evaluation after its
            arrival. A period of processing time: at the next multiple. Or `Every(period, aligned=True,
            offset=...)`. None: only when the window is complete, which needs a window of time. Default:
            "each".
        late: the same for a row whose window is complete already; None is not possible. Only for windows of
            time. Default: "each".
        retention: how far a released row may be behind the watermark of its side. Default: no limit. Not with
            `rows(n)`. An int is in microseconds.
        retention_rows: how many released rows of a key are stored, those with the latest event times.
            Default: no limit. Not with `rows(n)`.

    Raises:
        SpecError: for other windows and update policies, for lengths that are not above zero, and for a field
            that would have no effect.

    >>> from panewise import Tumbling
    >>> one = JoinWindow(Tumbling("2 minutes"), early="1 minute")
    >>> one.early, one.late
    (Every(period=Duration('1 minute'), aligned=True), Always())

    Source: semantics 37.14 to 37.18; S1 "Configuration of A Join Window Operator".
    """

    window: SideWindow | None
    early: UpdatePolicy | None
    late: UpdatePolicy | None
    retention: Duration | None
    retention_rows: int | None

    def __init__(
        self,
        window: SideWindow | None = None,
        *,
        early: UpdatePolicy | DurationLike | Literal["each"] | None = EACH,
        late: UpdatePolicy | DurationLike | Literal["each"] | None = None,
        retention: DurationLike | None = None,
        retention_rows: int | None = None,
    ) -> None:
        _check_window(window)
        timed = isinstance(window, (Tumbling, Hopping))
        set_fields(
            self,
            window=window,
            early=_update_policy(early, "early"),
            late=_update_policy(EACH if late is None and timed else late, "late"),
            retention=None if retention is None else positive(retention, "retention"),
            retention_rows=retention_rows,
        )
        _check_update_policies(self, timed=timed)
        _check_retention(self)

    @property
    def count(self) -> int | None:
        """How many of the last rows of a key are in the window; None without such a limit."""
        return self.window.n if isinstance(self.window, Rows) else None

    @property
    def size(self) -> int | None:
        """The length of the window in microseconds, None if it is not one of time."""
        size = self.window.size if isinstance(self.window, (Tumbling, Hopping)) else None
        return size.us if isinstance(size, Duration) else None

    @property
    def hop(self) -> int | None:
        """The distance of the starts of two windows in microseconds, None if they are not of time."""
        hop = self.window.hop if isinstance(self.window, Hopping) else None
        return hop.us if isinstance(hop, Duration) else self.size

    @property
    def periods(self) -> tuple[Every, ...]:
        """The update policies that follow the clock."""
        return tuple(policy for policy in (self.early, self.late) if isinstance(policy, Every))

    @property
    def waits(self) -> bool:
        """Whether a row may have to wait for its release."""
        return self.early is None or bool(self.periods)


@dataclass(frozen=True, init=False)
class WindowedStreams:
    """Rows match if each is in the window of its side when the later one of both is released.

    Each side releases its rows by its own update policies. A pair is emitted once, however many windows of
    its side contain a row.

    Args:
        left: the window of the left side. Default: all rows, each released when it has arrived.
        right: that of the right side. Default: likewise.

    Raises:
        SpecError: for a value that is no `JoinWindow`.

    >>> from panewise import rows
    >>> WindowedStreams(JoinWindow(rows(3))).first_side
    'left'
    >>> WindowedStreams(right=JoinWindow(rows(3))).first_side
    'right'

    Source: semantics 37.14 to 37.19; S1 case 2, windowed join.
    """

    kind: ClassVar[str] = "streams"
    left: JoinWindow
    right: JoinWindow

    def __init__(self, left: JoinWindow | None = None, right: JoinWindow | None = None) -> None:
        windows: dict[str, Any] = {"left": left, "right": right}
        for name, window in windows.items():
            if window is not None and not isinstance(window, JoinWindow):
                rule = "the window of a side is a JoinWindow"
                raise SpecError(f"{name}={window!r}", rule, "give one such as JoinWindow(rows(3))")
            set_fields(self, **{name: window or JoinWindow()})

    @property
    def windows(self) -> dict[str, JoinWindow]:
        """The windows by side."""
        return {"left": self.left, "right": self.right}

    @property
    def first_side(self) -> str:
        """The side whose rows are released first: the only one that has a window, else the left one."""
        return "right" if self.left.window is None and self.right.window is not None else "left"


def _update_policy(policy: Any, name: str) -> UpdatePolicy | None:
    """Returns an update policy; a period is aligned.

    >>> _update_policy("1 minute", "early")
    Every(period=Duration('1 minute'), aligned=True)
    """
    if policy is None or isinstance(policy, Always):
        return policy
    if isinstance(policy, Every):
        if not policy.aligned:
            rule = "a row is released at the multiples of a period, which are the same for all rows"
            raise SpecError(f"{name}={policy!r}", rule, "give aligned=True")
        return policy
    if is_choice(policy, (EACH,)):
        return Always()
    if isinstance(policy, bool) or not isinstance(policy, (str, int, timedelta, Duration)):
        rule = "an update policy is 'each' or a period of processing time"
        raise SpecError(f"{name}={policy!r}", rule, _EXAMPLE)
    return Every(policy, aligned=True)


def _check_window(window: Any) -> None:
    if window is None or isinstance(window, Rows):
        return
    if not isinstance(window, (Tumbling, Hopping)):
        rule = "the window of a side is rows(n), Tumbling or Hopping"
        raise SpecError(f"JoinWindow({window!r})", rule, "give one of these, or none for all rows")
    if isinstance(window.size, Rows):
        rule = "a window of rows contains the last rows of a key, whatever windows start where"
        raise SpecError(f"JoinWindow({window!r})", rule, f"give rows({window.size.n})")
    if isinstance(window, Hopping) and window.gaps:
        rule = "a row between two windows would be in none"
        raise SpecError(f"JoinWindow({window!r})", rule, "give a hop that is not above the size")


def _check_update_policies(spec: JoinWindow, *, timed: bool) -> None:
    if timed:
        return
    if spec.late is not None:
        rule = "only a window of time is complete at some watermark, so that later rows are late"
        raise SpecError(f"late={spec.late!r}, window={spec.window!r}", rule, "leave late out")
    if spec.early is None:
        rule = "a window that is never complete releases its rows early"
        raise SpecError(f"early=None, window={spec.window!r}", rule, _EXAMPLE)


def _check_retention(spec: JoinWindow) -> None:
    number: Any = spec.retention_rows
    if number is not None and not is_number_of_rows(number):
        rule = f"a retention by size is a number of rows, 1 or more, and {MOST_ROWS} at most"
        raise SpecError(f"retention_rows={number!r}", rule, "give one such as 1000")
    if spec.count is not None and (number is not None or spec.retention is not None):
        name = "retention" if number is None else "retention_rows"
        rule = "a window of rows stores a row as long as the window contains it, and no longer"
        raise SpecError(f"{name}={getattr(spec, name)}, window={spec.window!r}", rule, f"leave {name} out")
