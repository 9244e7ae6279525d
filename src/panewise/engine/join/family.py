"""Joins, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from panewise.engine.columns import (
    DELETES,
    END,
    NUMBER,
    ONE_KEY,
    ORDINAL,
    ROW_COUNT,
    SINCE,
    START,
    TIME,
)
from panewise.engine.join.plan import JoinPlan
from panewise.engine.protocol import EngineParts, Inspection, Operator, Schemas, TableReader
from panewise.spec import JoinOperator, merging
from panewise.spec.aggregates.functions import max as max_
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.match import AsOf, Interval, LastRows, Latest, by_event_time
from panewise.spec.operators.join.same_window import SameWindow, has_ends
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.spec.operators.join.windowing import ROW_NUMBER, row_key, window_operator
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy

if TYPE_CHECKING:
    from panewise.engine.join.same_window.base import SameWindowEngine


def compile(spec: JoinOperator, schemas: Schemas) -> JoinPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return JoinPlan.of(spec, schemas)


def operator(spec: JoinOperator, schemas: Schemas) -> Operator:
    """Returns an operator that has taken no step."""
    if isinstance(spec.match, SameWindow):
        return _window_join(spec, spec.match, schemas)
    if isinstance(spec.match, WindowedStreams):
        from panewise.engine.join.streams.operator import StreamsEngine  # noqa: PLC0415 - see above

        return StreamsEngine(spec, schemas)
    from panewise.engine.join.operator import JoinEngine  # noqa: PLC0415 - see above

    return JoinEngine(spec, schemas)


def _window_join(spec: JoinOperator, match: SameWindow, schemas: Schemas) -> "SameWindowEngine":
    from panewise.engine.join.same_window.operator import WindowJoinEngine  # noqa: PLC0415 - see above
    from panewise.engine.join.same_window.single_firing import (  # noqa: PLC0415 - see above
        SingleFiringEngine,
        fires_once,
    )

    return (SingleFiringEngine if fires_once(match) else WindowJoinEngine)(spec, schemas)


def inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored rows that have not expired, with their event times; by event time left rows only.

    Left rows of semi and anti are among them even if they had a partner (semantics 41).
    """
    from panewise.engine.join.state import read_clocks  # noqa: PLC0415 - see above

    if isinstance(spec.match, SameWindow):
        return _inspect_windows(spec, header, read)
    if isinstance(spec.match, WindowedStreams):
        return _inspect_streams(spec, spec.match, header, read)
    clocks, keys = read_clocks(header), list(spec.keys) or [ONE_KEY]
    rows = []
    by_time = by_event_time(spec.match)
    for table, side in enumerate((LEFT,) if by_time else (LEFT, RIGHT)):
        names = list(spec.sides[side].keys) or [ONE_KEY]
        if isinstance(spec.match, (LastRows, Latest)) and not by_time:
            found = _in_windows(spec.match, side, names, read, table, clocks.horizon_in_windows(spec, side))
        else:
            found = _waiting(spec, side, names, read, table, clocks.passed(spec, OTHER[side]))
        stored = [found]
        if isinstance(spec.match, AsOf) and spec.match.waits_for_partner:
            passed, columns = clocks.passed(spec, RIGHT), [*names, TIME, NUMBER, END]
            stored.append(read(2, columns, [*names, NUMBER], names, passed, names))
        for one in stored:
            if one.width:
                shown = (pl.col(mine).alias(name) for mine, name in zip(names, keys, strict=True))
                rows.append(one.select(*shown, pl.col(TIME).alias(END)))
    found = pl.concat(rows) if rows else pl.DataFrame()
    return Inspection(clocks, found, keys, ends_in_time=spec.has_event_times)


def _waiting(
    spec: JoinOperator, side: str, keys: list[str], read: TableReader, table: int, horizon: int | None
) -> pl.DataFrame:
    """Returns the rows of a side that can get a partner. Of a limited number a table may have more."""
    from panewise.engine.join.outcome import remembered_sides  # noqa: PLC0415 - see above

    match = spec.match
    if not isinstance(match, Interval) or match.retain_rows is None or side not in match.retained:
        return read(table, [*keys, TIME, END], [TIME, NUMBER], [], horizon, keys)
    found = read(table, [*keys, TIME, END, ORDINAL], [TIME, NUMBER], [], horizon, keys)
    queues = spec.outer_sides if spec.unmatched == "final" else ()
    place = 2 + len(remembered_sides(spec)) + len(queues) + match.retained.index(side)
    counts = read(place, [*keys, ROW_COUNT, END], [NUMBER, NUMBER], [], horizon, keys)
    if not found.width or not counts.width:
        return found
    both = pl.concat([found, counts], how="diagonal")
    both = both.filter(pl.col(ORDINAL) >= pl.col(ROW_COUNT).max().over(keys) - match.retain_rows)
    return both.select(*keys, TIME, END)


def _in_windows(
    match: LastRows | Latest, side: str, keys: list[str], read: TableReader, table: int, horizon: int | None
) -> pl.DataFrame:
    """Returns the rows in the windows of a side. A table may have more, which no merge has dropped yet."""
    window = CountPolicy(1) if isinstance(match, Latest) else match.windows[side]
    since = [SINCE] if isinstance(window, DeltaPolicy) else []
    deletes = [DELETES] if isinstance(match, Latest) and match.deletes_by_side[side] is not None else []
    found = read(table, [*keys, TIME, NUMBER, END, *since, *deletes], [NUMBER, NUMBER], [], horizon, keys)
    number = pl.col(NUMBER)
    if isinstance(window, CountPolicy) and found.width:
        found = found.filter(number.rank("ordinal", descending=True).over(keys) <= window.n)
    if deletes and found.width:
        found = found.filter(~pl.col(DELETES))
    return found.filter(number >= pl.col(SINCE).max().over(keys)) if since and found.width else found


def _inspect_streams(
    spec: JoinOperator, match: WindowedStreams, header: Mapping[str, Any], read: TableReader
) -> Inspection:
    """Returns the rows that wait, and the released rows that can match (41.5)."""
    from panewise.engine.join.streams.clocks import read_streams_clocks  # noqa: PLC0415 - see above
    from panewise.engine.join.streams.contents import listed  # noqa: PLC0415 - see above

    clocks, keys, rows = read_streams_clocks(header), list(spec.keys) or [ONE_KEY], []
    for number, (side, window) in enumerate(match.windows.items()):
        names = list(spec.sides[side].keys) or [ONE_KEY]
        identity = [TIME if window.count is None else NUMBER, NUMBER]
        columns = [*names, TIME, NUMBER, END]
        released = read(number, columns, identity, [], clocks.table_horizon(spec, side), names)
        waiting = read(number + len(match.windows), columns, [NUMBER], [], None, names)
        if released.width:
            released = listed(released, window, names, clocks.listed_from(spec, side))
        for found in (released, waiting):
            if found.width:
                shown = (pl.col(mine).alias(name) for mine, name in zip(names, keys, strict=True))
                rows.append(found.select(*shown, pl.col(TIME).alias(END)))
    return Inspection(clocks, pl.concat(rows) if rows else pl.DataFrame(), keys)


def _inspect_windows(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the live windows of a window join."""
    from panewise.engine.join.clocks import of_windows  # noqa: PLC0415 - see above
    from panewise.engine.join.same_window.single_firing import fires_once  # noqa: PLC0415 - see above
    from panewise.engine.join.state import read_clocks  # noqa: PLC0415 - see above

    clocks, match = read_clocks(header), spec.match
    assert isinstance(match, SameWindow)
    horizon = of_windows(clocks).horizon(window_operator(spec, max_(ROW_NUMBER)))
    if fires_once(match):
        return Inspection(clocks, _windows_of_rows(spec, match, read, horizon), list(spec.keys) or [ONE_KEY])
    names = [row_key(place) for place in range(len(spec.keys))] or [ONE_KEY]
    identity, keys = [*names, START, END], list(spec.keys) or [ONE_KEY]
    found = read(
        2,
        identity,
        identity,
        names if merging(match.window) else identity,
        horizon,
        names if spec.keys else identity,
    )
    if found.width:
        found = found.rename(dict(zip(names, keys, strict=True)))
    return Inspection(clocks, found, keys, has_ends(match))


def _windows_of_rows(
    spec: JoinOperator, match: SameWindow, read: TableReader, horizon: int | None
) -> pl.DataFrame:
    """Returns the windows of the stored rows of both sides, for windows that fire once."""
    from panewise.engine.windowing.slicing import slicing_of  # noqa: PLC0415 - see above

    slicing, keys, windows = slicing_of(match.window), list(spec.keys) or [ONE_KEY], []
    assert slicing is not None
    for table, side in enumerate((LEFT, RIGHT)):
        names = list(spec.sides[side].keys) or [ONE_KEY]
        found = read(table, [*names, TIME, END], [TIME, NUMBER], [], horizon, names)
        if found.width:
            start = slicing.slices(found).alias(START)
            windows.append(found.rename(dict(zip(names, keys, strict=True))).with_columns(start))
    if not windows:
        return pl.DataFrame()
    return pl.concat(windows).select(*keys, START, END).unique(maintain_order=True)


PARTS: Final = EngineParts(compile=compile, operator=operator, inspect=inspect)
