"""Window operators as a SELECT with GROUP BY, and chains as a SELECT over it."""

from collections.abc import Mapping
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec import (
    AnyWindow,
    Calendar,
    Chain,
    Cumulating,
    Global,
    Hopping,
    Session,
    Sliding,
    Tumbling,
    WindowOperator,
)
from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.panes import BOUNDS
from panewise.sql.parsing.intervals import EXACT
from panewise.sql.text.parameters import literal
from panewise.sql.writing.aggregates import named_aggregates
from panewise.sql.writing.emission import emit_parts
from panewise.sql.writing.words import check_fields, length, options_of, unsaid

# Fields that SQL cannot say, with the value that it means.
_PLAIN: Final[Mapping[str, Any]] = {
    "drop_by": "window",
    "closing": "if_pending",
    "only_updated": False,
    "timestamp": None,
    "evaluate": "batch",
    "evictor": None,
    "delta": False,
    "watermark": None,
}


def windows(spec: WindowOperator, table: str) -> str:
    """Returns a window operator.

    Raises:
        SqlError: for what SQL cannot say.
    """
    check_windows(spec)
    keys = [in_backticks(name) for name in spec.keys]
    endless, sliding = isinstance(spec.window, Global), isinstance(spec.window, Sliding)
    bounds = [] if endless else [*BOUNDS]
    group = keys if sliding else [*keys, *bounds]
    source = f"{table}{options_of(spec, spec.order)}"
    plain = f"{source} {_sliding(spec)}" if sliding else source
    lines = [
        f"SELECT {', '.join([*keys, *bounds, *named_aggregates(spec.aggregates)])}",
        f"FROM {plain}" if endless or sliding else f"FROM TABLE({function(spec, source, keys)})",
        *([f"GROUP BY {', '.join(group)}"] if group else []),
    ]
    emit = emit_parts(spec, "accumulating", on_time=spec.on_time)
    if endless and not emit:
        emit = ["AFTER WATERMARK"]  # without EMIT the query would be Spark's
    return "\n".join([*lines, *([f"EMIT {', '.join(emit)}"] if emit else [])])


def chain(spec: Chain, table: str) -> str:
    """Returns a chain: each stage is a SELECT over the one before it.

    Raises:
        SqlError: for what SQL cannot say, and for a global window, whose panes have no bounds to group by.
    """
    if isinstance(spec.first.window, Global):
        raise unsaid("window", spec.first.window)
    text = windows(spec.first, table)
    for stage in spec.stages:
        group = [*(in_backticks(name) for name in stage.keys), *BOUNDS]
        inner = "\n".join(f"  {line}" for line in text.split("\n"))
        columns = ", ".join([*group, *named_aggregates(stage.aggregates)])
        text = f"SELECT {columns}\nFROM (\n{inner}\n)\nGROUP BY {', '.join(group)}"
    return text


def _sliding(spec: WindowOperator) -> str:
    """Returns the window of CQL behind a table, with its event time."""
    window: Any = spec.window
    column = "" if spec.event_time is None else f" ON {in_backticks(spec.event_time)}"
    if window == Sliding(0):
        return f"[NOW{column}]"
    if window.size == Duration(0) or window != Sliding(window.size, "both") or not spec.aggregates:
        raise unsaid("window", window)
    return f"[RANGE {length(window.size)}{column}]"


def check_windows(spec: WindowOperator) -> None:
    """Refuses values of fields that SQL cannot say.

    Raises:
        SqlError: for the first of them.
    """
    check_fields(spec, _PLAIN)
    if (spec.time == "processing") != isinstance(spec.window, Global):
        raise unsaid("time", spec.time)


def function(spec: WindowOperator, source: str, keys: list[str]) -> str:
    """Returns the call of the window function over a source.

    Raises:
        SqlError: for other windows.
    """
    of_rows = table_function(spec.window, "", None).endswith("ROWS)")
    partitioned = keys and (of_rows or isinstance(spec.window, Session))
    partition = f" PARTITION BY {', '.join(keys)}" if partitioned else ""
    return table_function(spec.window, f"TABLE {source}{partition}", spec.event_time)


def table_function(window: AnyWindow, data: str, time: str | None) -> str:
    """Returns the call of a window function.

    Raises:
        SqlError: for windows that it does not have.
    """
    match window:
        case Tumbling():
            name, arguments = "TUMBLE", _size(window)
        case Hopping(only_when_full=False):
            name, arguments = "HOP", {"SLIDE": length(window.hop), **_size(window)}
        case Cumulating():
            name, arguments = "CUMULATE", {"STEP": length(window.step), **_size(window)}
        case Session():
            name, arguments = "SESSION", _session(window)
        case Calendar():
            name, arguments = "TUMBLE", _calendar(window)
        case _:
            raise unsaid("window", window)
    column = [] if time is None else [f"DESCRIPTOR({in_backticks(time)})"]
    texts = [f"{argument} => {text}" for argument, text in arguments.items()]
    return f"{name}({', '.join([data, *column, *texts])})"


def _size(window: Tumbling | Hopping | Cumulating) -> dict[str, str]:
    """Returns SIZE and OFFSET, which windows of rows do not have."""
    size = {"SIZE": length(window.size)}
    if not window.origin:
        return size
    if not isinstance(window.size, Duration):
        raise unsaid("window", window)
    return size | {"OFFSET": length(Duration(window.origin))}


def _session(window: Session) -> dict[str, str]:
    touching: Any = "merge" if isinstance(window.gap, Duration) else "separate"
    if isinstance(window.gap, str) or window != Session(window.gap, touching):
        raise unsaid("window", window)
    return {"GAP": length(window.gap)}


def _calendar(window: Calendar) -> dict[str, str]:
    """Returns the arguments of calendar windows. A zone makes days and weeks calendar windows."""
    texts = {"SIZE": f"INTERVAL '{window.n}' {window.unit.upper()}"}
    if window.zone != "UTC" or window.unit in EXACT:
        texts["ZONE"] = literal(window.zone)
    return texts if window.week_start == "monday" else {**texts, "WEEK_START": literal(window.week_start)}
