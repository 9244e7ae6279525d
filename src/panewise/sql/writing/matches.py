"""Each match as FROM and ON: what stands between the tables, and the comparisons of their times."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec import (
    Always,
    AsOf,
    Calendar,
    Cumulating,
    Every,
    Hopping,
    Interval,
    JoinOperator,
    JoinWindow,
    LastRows,
    Latest,
    Rows,
    SameWindow,
    Session,
    Side,
    Tumbling,
    WindowedStreams,
)
from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.operators.policy.policies import CountPolicy
from panewise.spec.windows.size_in_rows import MOST_ROWS
from panewise.sql.joins.stream_matches import updated_match
from panewise.sql.text.parameters import literal
from panewise.sql.writing.conditions import condition
from panewise.sql.writing.emission import emit_parts
from panewise.sql.writing.windows import table_function
from panewise.sql.writing.words import check_plain, length, options_of, unsaid

NAMES: Final = {"left": "a", "right": "b"}
_WORDS: Final = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}


def joined_tables(spec: JoinOperator, table: str) -> str:
    """Returns what follows FROM of a join.

    Raises:
        SqlError: for a match that SQL cannot say.
    """
    write = _WRITERS.get(spec.match.kind)
    if write is None:
        raise unsaid("match", spec.match)
    return write(spec, spec.match, table)


def takes_condition(spec: JoinOperator) -> bool:
    """Returns whether a condition stands in ON. In other joins it would be one on the emitted rows."""
    return spec.how != "inner" or isinstance(spec.match, AsOf)


def _tables(
    spec: JoinOperator, table: str, deletes: tuple[str | None, str | None] = (None, None)
) -> tuple[str, str]:
    """Returns the tables with their options and names."""
    left, right = _options(spec.left, deletes[0]), _options(spec.right, deletes[1])
    return f"{table}{left} a", f"u{right} b"


def _keys(spec: JoinOperator) -> list[str]:
    pairs = zip(spec.left.keys, spec.right.keys, strict=True)
    return [f"a.{in_backticks(left)} = b.{in_backticks(right)}" for left, right in pairs]


def _on(spec: JoinOperator, times: list[str]) -> str:
    conditions = [] if spec.condition is None else [condition(spec.condition, NAMES)]
    parts = [*_keys(spec), *times, *conditions]
    return f"\nON {' AND '.join(parts)}" if parts else ""


def _times(spec: JoinOperator) -> tuple[str, str]:
    left, right = spec.left.event_time, spec.right.event_time
    if left is None or right is None:
        raise unsaid("event_time", None)
    return f"a.{in_backticks(left)}", f"b.{in_backticks(right)}"


def _interval(spec: JoinOperator, match: Interval, table: str) -> str:
    if match.lower is None or match.upper is None:
        return _open_interval(spec, match, table)
    check_plain(match, Interval(match.lower, match.upper, match.closed), "match.")
    left, right = _times(spec)
    least = ">=" if match.closed in ("both", "left") else ">"
    most = "<=" if match.closed in ("both", "right") else "<"
    times = [
        f"{right} {least} {left} {_shift(match.lower)}",
        f"{right} {most} {left} {_shift(match.upper)}",
    ]
    first, second = _tables(spec, table)
    return f"{first} {_WORDS[spec.how]} {second}{_on(spec, times)}"


def _open_interval(spec: JoinOperator, match: Interval, table: str) -> str:
    """Returns a join of windows of CQL of which one is, or both are, unbounded."""
    unlimited = match == Interval(match.lower, match.upper, retain_for="unlimited")
    if (
        not unlimited
        or (match.lower is not None and match.lower.us > 0)
        or (match.upper is not None and match.upper.us < 0)
    ):
        raise unsaid("match", match)
    _times(spec)
    lengths = match.upper, None if match.lower is None else Duration(-match.lower.us)
    first, second = (_range(size, side) for size, side in zip(lengths, (spec.left, spec.right), strict=True))
    return _of_streams(spec, table, [first, second])


def _range(size: Duration | None, side: Side) -> str:
    """Returns the window of time of a table, None being without a bound."""
    column = "" if side.event_time is None else f" ON {in_backticks(side.event_time)}"
    if size is None:
        return f"[UNBOUNDED{column}]"
    return f"[NOW{column}]" if size == Duration(0) else f"[RANGE {length(size)}{column}]"


def _of_streams(spec: JoinOperator, table: str, windows: list[str]) -> str:
    """Returns a join of tables with windows of CQL."""
    options = (_options(spec.left), _options(spec.right))
    first, second = (
        f"{name}{option} {window} {alias}"
        for name, option, window, alias in zip((table, "u"), options, windows, ("a", "b"), strict=True)
    )
    return f"{first} {_WORDS[spec.how]} {second}{_on(spec, [])}"


def _windowed_streams(spec: JoinOperator, match: WindowedStreams, table: str) -> str:
    windows = [_stream_window(match.left, spec.left), _stream_window(match.right, spec.right)]
    kinds = {isinstance(part.window, Tumbling) for part in (match.left, match.right)}
    if None in windows or len(kinds) == 1:
        return _updated(spec, match, table)
    return _of_streams(spec, table, [window or "" for window in windows])


def _stream_window(part: JoinWindow, side: Side) -> str | None:
    """Returns the window of CQL of a side, None if it has none or releases its rows otherwise."""
    window = part.window
    if window is None or part != JoinWindow(window):
        return None
    if isinstance(window, Rows):
        return _rows(window.n, side.keys)
    if not isinstance(window, Tumbling) or window.origin:
        return None
    sized: Any = window.size  # of time, as that of all windows here
    return _range(sized, side)


def _updated(spec: JoinOperator, match: WindowedStreams, table: str) -> str:
    """Returns a join OVER (...) with its update policy in EMIT."""
    window, early = match.right.window, match.left.early
    if not isinstance(window, (Rows, Tumbling)) or not isinstance(early, (Every, Always)):
        raise unsaid("match", match)
    ranged, period = isinstance(window, Tumbling), early.period if isinstance(early, Every) else None
    kind, size = ("rows", window.n) if isinstance(window, Rows) else ("range", window.size)
    texts = {late: updated_match(kind, size, period, late=late) for late in (False, True)}
    said = next((late for late, streams in texts.items() if streams == match), None)
    times = {spec.left.event_time, spec.right.event_time}
    if said is None or (ranged and len(times) > 1):
        raise unsaid("match", match)
    over = f"ORDER BY {in_backticks(times.pop() or '')} RANGE {length(size)}" if ranged else f"ROWS {size}"
    emit = ["CHANGES" if period is None else f"EVERY {length(period)}"]
    late, other = spec.left.allowed_lateness, spec.right.allowed_lateness
    left, right, none = spec.left, spec.right, Duration(0)
    if said:
        if late != other:
            raise unsaid("allowed_lateness", late)
        emit.append(f"WITH LATENESS {length(late)}")
        left, right = replace(left, allowed_lateness=none), replace(right, allowed_lateness=none)
    first, second = f"{table}{_options(left)} a", f"u{_options(right)} b"
    return f"{first} JOIN {second} OVER ({over} PRECEDING){_on(spec, [])}\nEMIT {', '.join(emit)}"


def _shift(duration: Duration) -> str:
    """Returns what is added to a time."""
    return f"{'-' if duration.us < 0 else '+'} {length(Duration(abs(duration.us)))}"


def _as_of(spec: JoinOperator, match: AsOf, table: str) -> str:
    words = {
        "inner": "ASOF JOIN",
        "left": "LEFT ASOF JOIN",
        "semi": "ASOF SEMI JOIN",
        "anti": "ASOF ANTI JOIN",
    }
    if match.strategy == "nearest":
        raise unsaid("match", match)
    if spec.how not in words:
        raise unsaid("how", spec.how)
    left, right = _times(spec)
    backward = match.strategy == "backward"
    sign = (">" if backward else "<") + ("=" if match.allow_exact_matches else "")
    parts = [f"{left} {sign} {right}"]
    if match.tolerance is not None:
        shift = f"{'-' if backward else '+'} {length(match.tolerance)}"
        parts.append(f"{right} {'>=' if backward else '<='} {left} {shift}")
    first, second = _tables(spec, table)
    return f"{first} {words[spec.how]} {second} MATCH_CONDITION ({' AND '.join(parts)}){_on(spec, [])}"


def _same_window(spec: JoinOperator, match: SameWindow, table: str) -> str:
    merging = isinstance(match.window, Session) and match.window == Session(match.window.gap, "merge")
    known = isinstance(match.window, (Tumbling, Hopping, Cumulating, Calendar)) or merging
    if not known or getattr(match.window, "gaps", False) or match.drop_by != "window":
        raise unsaid("match", match)
    sources = [
        f"{table_function(match.window, _data(match, name, side), side.event_time)} {alias}"
        for name, side, alias in ((table, spec.left, "a"), ("u", spec.right, "b"))
    ]
    bounds = [f"a.{name} = b.{name}" for name in BOUNDS]
    emit = emit_parts(match, "discarding")
    emission = f"\nEMIT {', '.join(emit)}" if emit else ""
    return f"{sources[0]} {_WORDS[spec.how]} {sources[1]}{_on(spec, bounds)}{emission}"


def _data(match: SameWindow, name: str, side: Side) -> str:
    """Returns the table of a window function; sessions are those of the keys."""
    keys = ", ".join(map(in_backticks, side.keys)) if isinstance(match.window, Session) else ""
    return f"TABLE {name}{_options(side)}{f' PARTITION BY {keys}' if keys else ''}"


def _options(side: Side, deletes: str | None = None) -> str:
    more = []
    if side.allowed_lateness != Duration(0):
        more.append(f"allowed_lateness = {literal(str(side.allowed_lateness))}")
    if deletes is not None:
        more.append(f"deletes = {literal(deletes)}")
    options = options_of(side, side.order, nulls=True)
    if not more:
        return options
    return f"{options[:-1]}, {', '.join(more)})" if options else f" WITH ({', '.join(more)})"


def _last_rows(spec: JoinOperator, match: LastRows, table: str) -> str:
    counts = [_count(policy, match) for policy in (match.left, match.right)]
    if match.order != "arrival":
        raise unsaid("match", match)
    first, second = _tables(spec, table)
    if counts[0] == (MOST_ROWS if spec.how == "inner" else 0) and counts[1]:
        return f"{first} {_WORDS[spec.how]} {second} OVER (ROWS {counts[1]} PRECEDING){_on(spec, [])}"
    if spec.how == "inner" and counts == [0, 1] and spec.left.keys:
        return f"{first} JOIN u{_options(spec.right)} FOR SYSTEM_TIME AS OF PROCTIME() b{_on(spec, [])}"
    windows = [_rows(count, side.keys) for count, side in zip(counts, (spec.left, spec.right), strict=True)]
    if not any("ROWS " in window for window in windows):
        raise unsaid("match", match)
    return _of_streams(spec, table, windows)


def _count(policy: Any, match: Any) -> int:
    """Returns the number of rows of a window of rows, 0 for none."""
    if policy is None:
        return 0
    if not isinstance(policy, CountPolicy):
        raise unsaid("match", match)
    return policy.n


def _rows(count: int, keys: tuple[str, ...]) -> str:
    """Returns the window of rows of a table, for each key."""
    if count in (0, MOST_ROWS):
        return "[NOW]" if count == 0 else "[UNBOUNDED]"
    partition = f"PARTITION BY {', '.join(map(in_backticks, keys))} " if keys else ""
    return f"[{partition}ROWS {count}]"


def _latest(spec: JoinOperator, match: Latest, table: str) -> str:
    ttl = "" if match.ttl is None else f" {length(match.ttl)}"
    first, second = _tables(spec, table, match.deletes)
    return f"{first} {_WORDS[spec.how]} {second} OVER (LATEST{ttl}){_on(spec, [])}"


_WRITERS: Final[Mapping[str, Callable[[JoinOperator, Any, str], str]]] = {
    Interval.kind: _interval,
    AsOf.kind: _as_of,
    SameWindow.kind: _same_window,
    LastRows.kind: _last_rows,
    Latest.kind: _latest,
    WindowedStreams.kind: _windowed_streams,
}
