"""Each match as FROM and ON: what stands between the tables, and the comparisons of their times."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec import AsOf, Hopping, Interval, JoinOperator, LastRows, Latest, SameWindow, Side, Tumbling
from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.operators.policy.policies import CountPolicy
from panewise.spec.windows.size_in_rows import MOST_ROWS
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
    return write(spec, table)


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


def _interval(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    if match.lower is None or match.upper is None:
        raise unsaid("match", match)
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


def _shift(duration: Duration) -> str:
    """Returns what is added to a time."""
    return f"{'-' if duration.us < 0 else '+'} {length(Duration(abs(duration.us)))}"


def _as_of(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    words = {"inner": "ASOF JOIN", "left": "LEFT ASOF JOIN"}
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


def _same_window(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    fixed = isinstance(match.window, (Tumbling, Hopping)) and not getattr(match.window, "gaps", False)
    if not fixed or match.drop_by != "window":
        raise unsaid("match", match)
    sources = [
        f"{table_function(match.window, f'TABLE {name}{_options(side)}', side.event_time)} {alias}"
        for name, side, alias in ((table, spec.left, "a"), ("u", spec.right, "b"))
    ]
    bounds = [f"a.{name} = b.{name}" for name in BOUNDS]
    emit = emit_parts(match, "discarding")
    emission = f"\nEMIT {', '.join(emit)}" if emit else ""
    return f"{sources[0]} {_WORDS[spec.how]} {sources[1]}{_on(spec, bounds)}{emission}"


def _options(side: Side, deletes: str | None = None) -> str:
    options = options_of(side, side.order, nulls=True)
    if deletes is None:
        return options
    option = f"deletes = {literal(deletes)}"
    return f"{options[:-1]}, {option})" if options else f" WITH ({option})"


def _last_rows(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
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
    options = (_options(spec.left), _options(spec.right))
    named = [
        f"{name}{option} {window} {alias}"
        for name, option, window, alias in zip((table, "u"), options, windows, ("a", "b"), strict=True)
    ]
    return f"{named[0]} {_WORDS[spec.how]} {named[1]}{_on(spec, [])}"


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


def _latest(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    ttl = "" if match.ttl is None else f" {length(match.ttl)}"
    first, second = _tables(spec, table, match.deletes)
    return f"{first} {_WORDS[spec.how]} {second} OVER (LATEST{ttl}){_on(spec, [])}"


_WRITERS: Final[Mapping[str, Callable[[JoinOperator, str], str]]] = {
    Interval.kind: _interval,
    AsOf.kind: _as_of,
    SameWindow.kind: _same_window,
    LastRows.kind: _last_rows,
    Latest.kind: _latest,
}
