"""Joins as a SELECT from two tables, `a` and `b`."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec import (
    AsOf,
    Hopping,
    Interval,
    JoinOperator,
    LastRows,
    Latest,
    SameWindow,
    Selected,
    Side,
    Tumbling,
)
from panewise.spec.operators.policy.policies import CountPolicy
from panewise.spec.windows.size_in_rows import MOST_ROWS
from panewise.sql.texts import quoted
from panewise.sql.writing.conditions import condition
from panewise.sql.writing.emission import emit_parts
from panewise.sql.writing.windows import table_function
from panewise.sql.writing.words import length, options_of, unsaid

_NAMES: Final = {"left": "a", "right": "b"}
_WORDS: Final = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}


def join(spec: JoinOperator, table: str) -> str:
    """Returns a join of `table`, as `a`, with a table `u`, as `b`.

    Raises:
        SqlError: for what SQL cannot say.
    """
    _check_fields(spec)
    writers: dict[str, Callable[[JoinOperator, str], str]] = {
        Interval.kind: _interval,
        AsOf.kind: _as_of,
        SameWindow.kind: _same_window,
        LastRows.kind: _last_rows,
        Latest.kind: _latest,
    }
    write = writers.get(spec.match.kind)
    if write is None:
        raise unsaid("match", spec.match)
    return f"SELECT {', '.join(_columns(spec))}\nFROM {write(spec, table)}"


def _check_fields(spec: JoinOperator) -> None:
    """Refuses values of fields that SQL cannot say."""
    sides = [_plain_side(side) for side in (spec.left, spec.right)]
    for side, plain, name in zip((spec.left, spec.right), sides, _NAMES, strict=True):
        _compare(side, plain, f"{name}.")
    if spec.condition is not None and spec.how == "inner" and not isinstance(spec.match, AsOf):
        raise unsaid("condition of an inner join", str(spec.condition))
    plain_join = JoinOperator(
        left=sides[0],
        right=sides[1],
        match=spec.match,
        how=spec.how,
        condition=spec.condition,
        select=spec.select,
    )
    _compare(spec, plain_join, "")


def _plain_side(side: Side) -> Side:
    """Returns a side with the fields that SQL can say."""
    return Side(
        keys=side.keys,
        event_time=side.event_time,
        order=side.order,
        position=side.position,
        null_keys=side.null_keys,
        max_future_skew=side.max_future_skew,
    )


def _tables(spec: JoinOperator, table: str) -> tuple[str, str]:
    """Returns the tables with their options and names."""
    named = ((table, spec.left, "a"), ("u", spec.right, "b"))
    left, right = (f"{name}{_options(side)} {alias}" for name, side, alias in named)
    return left, right


def _compare(value: Any, plain: Any, prefix: str) -> None:
    for field in fields(value):
        if getattr(value, field.name) != getattr(plain, field.name):
            raise unsaid(prefix + field.name, getattr(value, field.name))


def _columns(spec: JoinOperator) -> list[str]:
    if spec.select is None:
        _check_different(spec)
        return ["*"]
    plain = [(column.side, column.column.lower()) for column in spec.select]
    if len({*plain}) < len(plain):
        raise unsaid("select: twice", max(plain, key=plain.count))
    return [f"{_column(spec, column)} AS {quoted(column.name)}" for column in spec.select]


def _check_different(spec: JoinOperator) -> None:
    """Refuses all columns of two sides that have a name in common: their rows would have it twice."""
    if spec.how in ("semi", "anti"):
        return
    left, right = ({name.lower() for name in spec.ports[side].columns_read} for side in _NAMES)
    if left & right:
        raise unsaid(f"select: {min(left & right)} of both sides", None)


def _column(spec: JoinOperator, column: Selected) -> str:
    if column.side != "either":
        return f"{_NAMES[column.side]}.{quoted(column.column)}"
    pairs = zip(spec.left.keys, spec.right.keys, strict=True)
    if spec.how in ("inner", "semi", "anti") or (column.column, column.column) not in pairs:
        raise unsaid("select", column)
    return quoted(column.column)


def _keys(spec: JoinOperator) -> list[str]:
    pairs = zip(spec.left.keys, spec.right.keys, strict=True)
    return [f"a.{quoted(left)} = b.{quoted(right)}" for left, right in pairs]


def _on(spec: JoinOperator, times: list[str]) -> str:
    conditions = [] if spec.condition is None else [condition(spec.condition, _NAMES)]
    parts = [*_keys(spec), *times, *conditions]
    return f"\nON {' AND '.join(parts)}" if parts else ""


def _times(spec: JoinOperator) -> tuple[str, str]:
    left, right = spec.left.event_time, spec.right.event_time
    if left is None or right is None:
        raise unsaid("event_time", None)
    return f"a.{quoted(left)}", f"b.{quoted(right)}"


def _interval(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    if match.lower is None or match.upper is None:
        raise unsaid("match", match)
    _compare(match, Interval(match.lower, match.upper, match.closed), "match.")
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
    bounds = [f"a.{name} = b.{name}" for name in ("window_start", "window_end")]
    emit = emit_parts(match, "discarding")
    behind = f"\nEMIT {', '.join(emit)}" if emit else ""
    return f"{sources[0]} {_WORDS[spec.how]} {sources[1]}{_on(spec, bounds)}{behind}"


def _options(side: Side) -> str:
    return options_of(side, side.order, nulls=True)


def _last_rows(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    counts = [_count(policy, match) for policy in (match.left, match.right)]
    if match.order != "arrival":
        raise unsaid("match", match)
    first, second = _tables(spec, table)
    if counts[0] == (MOST_ROWS if spec.how == "inner" else 0) and counts[1]:
        return f"{first} {_WORDS[spec.how]} {second} OVER (ROWS {counts[1]} PRECEDING){_on(spec, [])}"
    if spec.how == "inner" and counts == [0, 1]:
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
    partition = f"PARTITION BY {', '.join(map(quoted, keys))} " if keys else ""
    return f"[{partition}ROWS {count}]"


def _latest(spec: JoinOperator, table: str) -> str:
    match: Any = spec.match
    if match.deletes != (None, None):
        raise unsaid("match", match)
    ttl = "" if match.ttl is None else f" {length(match.ttl)}"
    first, second = _tables(spec, table)
    return f"{first} {_WORDS[spec.how]} {second} OVER (LATEST{ttl}){_on(spec, [])}"
