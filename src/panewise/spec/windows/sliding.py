"""Sliding windows: windows that rows make, closed at both ends (semantics 7 to 7.9, 8.8). Values only."""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import set_fields
from panewise.spec.windows.size_in_rows import Rows

Anchor: TypeAlias = Literal["end", "start", "both"]
ANCHORS: Final[tuple[str, ...]] = get_args(Anchor)


@dataclass(frozen=True, init=False)
class Sliding:
    """Windows of one length, closed at both ends, that rows make: for each key one for each event time.

    A window contains all rows of its key from its first instant to its last, whenever they arrived. A row
    that arrives out of order is also added to the existing windows that contain its event time.

    Args:
        size: distance from the first instant of a window to its last, 0 or more. A size of 0 groups rows of
            exactly the same event time. Or `rows(n)`: each row makes a window of the last n rows of its key,
            itself included. An int is in microseconds.
        anchor: the windows that a row at t makes. "end", the default: [t - size, t]. "start": [t, t + size].
            "both": [t - size, t] and, if any row is in it, [t + 1 microsecond, t + 1 microsecond + size].
            With "both" there is one window for each set of rows that a closed window of this length can
            contain. With `rows(n)` only "end" is possible.

    Raises:
        SpecError: for a negative size, for another anchor, and for an anchor with `rows(n)`.

    Cost:

    - With a trigger that does not fire before the end of a window, the cost of a row does not depend on the
      number of its windows. With other triggers a row is added to each live window that contains it.
    - The cost of a window is logarithmic in the number of its rows, also for holistic aggregates such as the
      median. Aggregates that return lists cost the length of the list. User-defined aggregates cost the
      number of rows in the window, unless they are `commutative`.
    - Each step scans the event times of the stored rows, at about 15 nanoseconds each. With triggers that
      fire before the end of a window it scans those of the keys in the batch, at about 45 nanoseconds each.

    >>> Sliding("10 minutes")
    Sliding(size=Duration('10 minutes'), anchor='end')

    >>> from panewise import WindowOperator, functions as F
    >>> from panewise.testing import run
    >>> spec = WindowOperator(window=Sliding(10), aggregates=[F.count().alias("rows")])
    >>> events = [{"op": "add", "rows": [{"event_time": t} for t in (2, 12, 13)]}, {"op": "finish"}]
    >>> [(pane["window_start"], pane["window_end"], pane["rows"]) for pane in run(spec, events)[-1]["panes"]]
    [(-8, 2, 1), (2, 12, 2), (3, 13, 2)]

    Source: semantics 7 to 7.9, 8.8; S2 (KIP-450) SlidingWindows, Kafka Streams' left and right windows.
    """

    kind: ClassVar[str] = "sliding"
    size: Duration | Rows
    anchor: Anchor

    def __init__(self, size: DurationLike | Rows, anchor: Anchor = "end") -> None:
        check_choice("anchor", anchor, ANCHORS)
        set_fields(self, size=_checked(size, anchor), anchor=anchor)


def _checked(size: DurationLike | Rows, anchor: str) -> Duration | Rows:
    if isinstance(size, Rows):
        if anchor != "end":
            rule = "a sliding window of rows ends with the row that makes it (semantics 8.8)"
            raise SpecError(f"size={size!r}, anchor={anchor!r}", rule, "leave anchor out")
        return size
    length = Duration.of(size, "size")
    if length.us < 0:
        raise SpecError(f"size={size!r}", "size is not negative", "give 0 or more, such as '1 minute'")
    return length
