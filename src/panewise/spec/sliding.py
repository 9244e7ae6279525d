"""Windows that the rows themselves make, closed at both ends (semantics 7 and following). Values only; no behaviour."""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.measures import Rows

Anchor: TypeAlias = Literal["end", "start", "both"]
ANCHORS: Final[tuple[str, ...]] = get_args(Anchor)


@dataclass(frozen=True, init=False)
class Sliding:
    """Windows of one length, closed at both ends, made by the rows themselves: per key, one for each different event time.

    Two rows of a key share a window if they are no further apart than `size`. A row that comes out of order is taken into every window
    that holds it, and makes its own with the rows that are already there.

    Args:
        size: distance of the first instant of a window from its last; 0 groups rows of the very same time. Or `rows(n)`: each row makes
            a window of the last n rows of its key, itself among them.
        anchor: what a row at t makes: "end": [t - size, t]; "start": [t, t + size]; "both": [t - size, t] and, if it holds a row,
            [t + 1 microsecond, t + 1 microsecond + size]: so every set of rows that a window of this length can hold is one. Of rows
            "end" only.

    With a trigger that does nothing before the end of a window a row costs the same however many windows it is in; with another one it goes
    into each that is open. To compute a window costs the logarithm of the rows that it holds, medians and other aggregates of many values
    included; and a step looks at the times of the rows held, some 15 nanoseconds each, or 45 with such a trigger. Lists cost what they are
    long; and what users define, unless it is `commutative`, the rows of the window.

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
        if anchor not in ANCHORS:
            raise SpecError(f"anchor={anchor!r}", f"anchor is one of {ANCHORS}", "give one of these")
        object.__setattr__(self, "size", _checked(size, anchor))
        object.__setattr__(self, "anchor", anchor)


def _checked(size: DurationLike | Rows, anchor: str) -> Duration | Rows:
    if isinstance(size, Rows):
        if anchor != "end":
            rule = "a row makes a window of rows with those that came before it (semantics 8.8)"
            raise SpecError(f"size={size!r}, anchor={anchor!r}", rule, "leave anchor out")
        return size
    length = Duration.of(size, "size")
    if length.us < 0:
        raise SpecError(f"size={size!r}", "size is not negative", "give 0 or more, such as '1 minute'")
    return length
