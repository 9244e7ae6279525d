"""Windowed streams, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from collections.abc import Mapping

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.match_parts import MatchParts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.streams import JoinWindow, UpdatePolicy, WindowedStreams
from panewise.spec.protocol import Refusal
from panewise.spec.triggers.simple import Every


def _check(spec: JoinOperator, match: WindowedStreams) -> None:
    """Refuses update policies and retentions that do not fit the lateness of their side (37.16, 37.18)."""
    for name, window in match.windows.items():
        lateness = spec.sides[name].allowed_lateness
        if isinstance(window.late, Every) and not lateness.us:
            rule = "without allowed lateness no row of a complete window is applied"
            remedy = "give allowed_lateness, or leave late out"
            raise SpecError(f"late={window.late!r} on the {name}", rule, remedy)
        if window.retention is not None and window.retention.us < lateness.us:
            rule = "a side retains its rows at least as long as they are not late"
            problem = f"retention={window.retention}, allowed_lateness={lateness} on the {name}"
            raise SpecError(problem, rule, "give a longer retention")


def _batch_error(match: WindowedStreams) -> Refusal | None:
    """Refuses periods of processing time."""
    period = next((every for window in match.windows.values() for every in window.periods), None)
    if period is None:
        return None
    rule = "a batch DataFrame is processed at one time, so no period passes (semantics 37.16)"
    return f"{period!r} on a batch DataFrame", rule, "use 'each', or read a stream"


def _in_windows(match: WindowedStreams, times: Mapping[str, str]) -> str:
    """Returns which rows match. `times` has the columns of the event times.

    >>> from panewise import rows
    >>> _in_windows(WindowedStreams(JoinWindow(rows(3))), {"left": "t", "right": "u"})
    'the left row is one of the last 3 of the key that were released, if it is released before the right row'
    """
    clauses = []
    for side, window in match.windows.items():
        other = OTHER[side]
        limit = window.count if window.count is not None else window.retention_rows
        if window.size is not None:
            clauses.append(
                f"the {side} {times[side]} is at most {Duration(window.size)} before "
                f"the {other} {times[other]}"
            )
        if limit is not None:
            which = "the last one" if limit == 1 else f"one of the last {limit}"
            were = "was" if limit == 1 else "were"
            latest = "" if window.count is not None else f" by {times[side]}"
            clauses.append(
                f"the {side} row is {which} of the key that {were} released{latest}, "
                f"if it is released before the {other} row"
            )
    return ", and ".join(clauses) if clauses else "their keys are equal: no window bounds them"


def _releases(spec: JoinOperator, match: WindowedStreams) -> list[str]:
    """Returns a line for each side that says when its rows are released, and one on their order.

    >>> from panewise import Side
    >>> side = Side(keys=["id"])
    >>> spec = JoinOperator(left=side, right=Side(keys=["id"], prefix="r_"), match=WindowedStreams())
    >>> print(_releases(spec, spec.match)[0])
    Left releases: a row is released with the batch of its arrival.
    """
    lines = [
        f"{side.capitalize()} releases: {_released(spec, window)}." for side, window in match.windows.items()
    ]
    first = match.first_side
    order = f"In an evaluation {first} rows are released before {OTHER[first]} rows."
    return [*lines, f"Pairs: emitted when the later one of both rows is released, once. {order}"]


def _state(spec: JoinOperator, match: WindowedStreams) -> list[str]:
    """Returns the line on the state."""
    return [f"State: {'; '.join(_stored(spec, side, window) for side, window in match.windows.items())}."]


def _released(spec: JoinOperator, window: JoinWindow) -> str:
    if window.size is None:
        return f"a row is released {_when(spec, window.early)}"
    early = "" if window.early is None else f"{_when(spec, window.early)}, or "
    hop = Duration(window.hop or 0)
    full = f"once the watermark reaches the end of its first window of {Duration(window.size)}"
    starts = f" (one starts each {hop})"
    late = "" if window.late is None else f"; after that {_when(spec, window.late)}"
    return f"a row is released {early}{full}{starts}{late}"


def _when(spec: JoinOperator, policy: UpdatePolicy | None) -> str:
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


PARTS = MatchParts(
    hows=("inner",),
    how_rule="a windowed stream join emits pairs: it is inner",
    how_remedy="use how='inner'",
    check=_check,
    batch_error=_batch_error,
    partners=lambda match, left, right: _in_windows(match, {LEFT: left, RIGHT: right}),
    emission=lambda spec, match, alone: _releases(spec, match),
    state=_state,
)
