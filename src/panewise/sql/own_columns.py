"""The specification of an operator with the names that its input has for columns (semantics 46.62, 46.66)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from panewise.errors import SqlError
from panewise.families import INPUT
from panewise.spec import parts
from panewise.spec.operators.chain import respecified
from panewise.spec.operators.join.columns import SIDES
from panewise.spec.operators.join.match_parts import match_parts
from panewise.spec.reserved_names import renamed
from panewise.sql.stages import WATERMARKED, JoinStage, WindowsStage


def own_names(spec: Any, columns: Sequence[str], time: Callable[[], str]) -> dict[str, str]:
    """Returns the columns of an input by the names that a query has for them, where these differ.

    Args:
        spec: the operator, with the names of the query.
        columns: the columns of the input.
        time: a function that returns the column of the watermark, for a query that names no event time.
    """
    names, known = dict[str, str](), {column.lower(): column for column in reversed(columns)}
    entry = spec.ports[INPUT]
    for name in (*entry.time_columns, *entry.columns_read):
        if name == WATERMARKED:
            names[name] = time()
        elif name not in columns and name.lower() in known:
            names[name] = known[name.lower()]
    return names


def with_own_names(spec: Any, names: Mapping[str, Any]) -> Any:
    """Returns an operator with other names of columns. In keys and aggregates these may be expressions."""
    plain = {name: own for name, own in names.items() if type(own) is str}  # an expression is one, too
    spec = renamed(spec, plain)
    others = {name: own for name, own in names.items() if name not in plain}
    return parts(spec).renamed(spec, INPUT, others) if others else spec


def with_window_time(stage: WindowsStage, time: str | None) -> WindowsStage:
    """Returns the stage of a window of CQL whose event time is that of its input.

    Raises:
        SqlError: if the input has none.
    """
    if time is None:
        rule = "a window of time has an event time"
        remedy = "write [RANGE 2 MINUTES ON ts], or add WATERMARK ts DELAY OF INTERVAL ... to the table"
        raise SqlError("a window of CQL", rule, remedy)
    return replace(stage, spec=respecified(stage.spec, event_time=time))


def times_of_sides(
    stage: JoinStage, own: Mapping[str, str | None], only: Callable[[str], str | None]
) -> tuple[str | None, str | None]:
    """Returns the event times of both sides: those of the query, of WATERMARK, or the only TIMESTAMP.

    Rows that match by arrival need none.

    Args:
        stage: the join.
        own: the columns of the watermarks of "left" and "right".
        only: a function that returns the only column of type TIMESTAMP of a side.
    """
    by_arrival = match_parts(stage.match).by_arrival(stage.match)
    left, right = (
        time or own[side] or (None if by_arrival else only(side))
        for side, time in zip(SIDES, stage.times, strict=True)
    )
    return left, right


def only_time(times: Sequence[str]) -> str:
    """Returns the event time of a window that names none: the only column that can be one.

    Raises:
        SqlError: if there is another number of them.
    """
    if len(times) == 1:
        return times[0]
    rule = "a window without a column of its event time has that of the watermark, or the only TIMESTAMP"
    remedy = "write the column, as in TUMBLE(ts, INTERVAL '1' HOUR), or WATERMARK behind the table"
    raise SqlError("no event time", rule, remedy)
