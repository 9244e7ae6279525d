"""Describes what only windowed stream joins have: windows of sides, releases and retention."""

from collections.abc import Mapping
from typing import Any

from panewise.chrono import Duration
from panewise.spec.operators.join.columns import OTHER
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.streams import JoinWindow, Policy, WindowedStreams
from panewise.spec.triggers.simple import Every


def in_windows(match: WindowedStreams, times: Mapping[str, str]) -> str:
    """Returns which rows match. `times` has the columns of the event times.

    >>> from panewise import rows
    >>> in_windows(WindowedStreams(JoinWindow(rows(3))), {"left": "t", "right": "u"})
    'the left row is one of the last 3 of the key that were released, if it is released before the right row'
    """
    found = []
    for side, window in match.windows.items():
        other = OTHER[side]
        limit = window.count if window.count is not None else window.retention_rows
        if window.size is not None:
            found.append(
                f"the {side} {times[side]} is at most {Duration(window.size)} before "
                f"the {other} {times[other]}"
            )
        if limit is not None:
            which = "the last one" if limit == 1 else f"one of the last {limit}"
            were = "was" if limit == 1 else "were"
            latest = "" if window.count is not None else f" by {times[side]}"
            found.append(
                f"the {side} row is {which} of the key that {were} released{latest}, "
                f"if it is released before the {other} row"
            )
    return ", and ".join(found) if found else "their keys are equal: no window bounds them"


def releases(spec: JoinOperator) -> list[str]:
    """Returns a line for each side that says when its rows are released, and one on their order.

    >>> from panewise import Side
    >>> side = Side(keys=["id"])
    >>> spec = JoinOperator(left=side, right=Side(keys=["id"], prefix="r_"), match=WindowedStreams())
    >>> print(releases(spec)[0])
    Left releases: a row is released with the batch of its arrival.
    """
    match: Any = spec.match
    lines = [
        f"{side.capitalize()} releases: {_released(spec, window)}." for side, window in match.windows.items()
    ]
    first = match.first_side
    order = f"In an evaluation {first} rows are released before {OTHER[first]} rows."
    return [*lines, f"Pairs: emitted when the later one of both rows is released, once. {order}"]


def stored(spec: JoinOperator) -> str:
    """Returns the line on the state."""
    match: Any = spec.match
    return f"State: {'; '.join(_stored(spec, side, window) for side, window in match.windows.items())}."


def _released(spec: JoinOperator, window: JoinWindow) -> str:
    if window.size is None:
        return f"a row is released {_when(spec, window.early)}"
    early = "" if window.early is None else f"{_when(spec, window.early)}, or "
    hop = Duration(window.hop or 0)
    full = f"once the watermark reaches the end of its first window of {Duration(window.size)}"
    starts = f" (one starts each {hop})"
    late = "" if window.late is None else f"; after that {_when(spec, window.late)}"
    return f"a row is released {early}{full}{starts}{late}"


def _when(spec: JoinOperator, policy: Policy | None) -> str:
    if not isinstance(policy, Every):
        return "after its arrival" if spec.evaluate == "record" else "with the batch of its arrival"
    phase = f" plus {policy.offset}" if policy.offset.us else ""
    return f"at the next multiple of {policy.period}{phase} of processing time"


def _stored(spec: JoinOperator, side: str, window: JoinWindow) -> str:
    waits = f"{side} rows until they are released, then " if window.waits else f"{side} rows: "
    if window.count is not None:
        return f"{waits}the last {_number(window.count)} of each key, for good if no row follows"
    parts = []
    if window.size is not None:
        beyond = Duration(window.size + spec.sides[OTHER[side]].allowed_lateness.us)
        parts.append(f"until the {OTHER[side]} watermark is more than {beyond} after them")
    if window.retention is not None:
        parts.append(f"until the {side} watermark is more than {window.retention} after them")
    if window.retention_rows is not None:
        parts.append(f"until {_number(window.retention_rows)} later of their key are released")
    first = ", whichever comes first" if len(parts) > 1 else ""
    return f"{waits}{', or '.join(parts) if parts else 'for good'}{first}"


def _number(count: int) -> str:
    return "one" if count == 1 else str(count)
