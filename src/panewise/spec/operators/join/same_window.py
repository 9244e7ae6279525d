"""The match of window joins: both rows are in the same window (semantics 37.10). Values only."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.aggregates.functions import count
from panewise.spec.fields import set_fields
from panewise.spec.operators.windows import WindowOperator, lateness_of
from panewise.spec.triggers.composite import DEFAULT_TRIGGER, AfterWatermark, Trigger, trigger_columns
from panewise.spec.windows.kinds import AnyWindow, Calendar, Global, Tumbling
from panewise.spec.windows.sliding import Sliding
from panewise.spec.windows.traits import columns_of_window, counted


@dataclass(frozen=True, init=False)
class SameWindow:
    """Rows match if they are in the same window. Pairs are emitted when the window fires.

    The windows are made from the rows of both sides. So a session has rows of both, and its gap is one
    between rows of either side. The watermark of the windows is the lower one of both sides.

    Args:
        window: Tumbling, Hopping, Cumulating, Calendar, Session, Custom or Global. Windows of rows and
            sliding windows are refused.
        trigger: when a window fires. Default: when the watermark reaches its end, and then for each batch of
            late rows.
        accumulation: what a firing emits. "discarding": what has changed since the last firing.
            "accumulating": everything that the window contains, if it has changed. "retracting": as
            accumulating, and what the last firing emitted is retracted first. Default: "discarding".
        allowed_lateness: how long after its end a window still accepts rows: 0 or more, or "unlimited".
            Default: 0. An int is in microseconds.
        drop_by: "window" or "row", as in `WindowOperator`. Default: "window".

    Raises:
        SpecError: if a value breaks a rule; the message says which.

    >>> from panewise import Tumbling
    >>> SameWindow(Tumbling("1 minute")).accumulation
    'discarding'

    Source: semantics 37.10 to 37.13; Flink's window join, S4's merge operators.
    """

    kind: ClassVar[str] = "same_window"
    _document_kind: ClassVar[str] = "window"
    window: AnyWindow
    trigger: Trigger
    accumulation: Literal["discarding", "accumulating", "retracting"]
    allowed_lateness: Duration | Literal["unlimited"]
    drop_by: Literal["window", "row"]

    def __init__(
        self,
        window: AnyWindow,
        *,
        trigger: Trigger = DEFAULT_TRIGGER,
        accumulation: Literal["discarding", "accumulating", "retracting"] = "discarding",
        allowed_lateness: DurationLike | Literal["unlimited"] = 0,
        drop_by: Literal["window", "row"] = "window",
    ) -> None:
        values = dict(locals(), allowed_lateness=lateness_of(allowed_lateness))
        del values["self"]
        set_fields(self, **values)
        _check_window(self.window)
        WindowOperator(aggregates=[count()], **values)  # refuses what no window operator can have, and warns

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns of either side that the windows and the trigger read."""
        return tuple(dict.fromkeys((*columns_of_window(self.window), *trigger_columns(self.trigger))))


def _check_window(window: Any) -> None:
    if not isinstance(window, AnyWindow):
        rule = "rows match if they are in the same window"
        raise SpecError(f"SameWindow({window!r})", rule, "give one such as Tumbling('1 minute')")
    if isinstance(window, Sliding) or counted(window):
        rule = "the windows of a join are of event time, and not made for each row"
        remedy = "use Hopping, or Interval for rows that are close in time"
        raise SpecError(f"SameWindow({window!r})", rule, remedy)


def has_ends(match: SameWindow) -> bool:
    """Returns whether windows have an end, so that an emitted row can have the window's time."""
    return not isinstance(match.window, Global)


def fires_once(match: SameWindow) -> bool:
    """Returns whether each row is in one window, which fires when it expires, and only then.

    >>> fires_once(SameWindow(Tumbling(10))), fires_once(SameWindow(Tumbling(10), allowed_lateness=1))
    (True, False)
    """
    return (
        isinstance(match.window, Tumbling | Calendar)
        and isinstance(match.trigger, AfterWatermark)
        and match.trigger.early is None
        and match.allowed_lateness == Duration(0)
        and match.drop_by == "window"
    )
