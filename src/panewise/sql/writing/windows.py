"""Window operators as a SELECT with GROUP BY, and chains as a SELECT over it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec import AnyWindow, Chain, Global, Session, WindowOperator
from panewise.sql.texts import quoted
from panewise.sql.writing.aggregates import named_aggregates
from panewise.sql.writing.emission import emit_parts
from panewise.sql.writing.words import length, options_of, unsaid

BOUNDS: Final = ["window_start", "window_end"]
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
    check_fields(spec)
    keys = [quoted(name) for name in spec.keys]
    endless = isinstance(spec.window, Global)
    group = [*keys, *([] if endless else BOUNDS)]
    source = f"{table}{options_of(spec, spec.order)}"
    lines = [
        f"SELECT {', '.join([*group, *named_aggregates(spec.aggregates)])}",
        f"FROM {source}" if endless else f"FROM TABLE({function(spec, source, keys)})",
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
        group = [*(quoted(name) for name in stage.keys), *BOUNDS]
        inner = "\n".join(f"  {line}" for line in text.split("\n"))
        columns = ", ".join([*group, *named_aggregates(stage.aggregates)])
        text = f"SELECT {columns}\nFROM (\n{inner}\n)\nGROUP BY {', '.join(group)}"
    return text


def check_fields(spec: WindowOperator) -> None:
    """Refuses values of fields that SQL cannot say.

    Raises:
        SqlError: for the first of them.
    """
    for name, plain in _PLAIN.items():
        if getattr(spec, name) != plain:
            raise unsaid(name, getattr(spec, name))
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
    parts: Any = window
    lengths: dict[str, Callable[[], dict[str, Any]]] = {
        "tumbling": lambda: {"size": parts.size},
        "hopping": lambda: {"slide": parts.hop, "size": parts.size},
        "cumulating": lambda: {"step": parts.step, "size": parts.size},
        "session": lambda: {"gap": parts.gap},
    }
    names = {"tumbling": "TUMBLE", "hopping": "HOP", "cumulating": "CUMULATE", "session": "SESSION"}
    kind = parts.kind
    if kind not in names or getattr(window, "only_when_full", False):
        raise unsaid("window", window)
    values = lengths[kind]()
    of_rows = not isinstance(next(iter(values.values())), Duration)
    if isinstance(window, Session):
        touching: Any = "separate" if of_rows else "merge"
        if isinstance(window.gap, str) or window != Session(window.gap, touching):
            raise unsaid("window", window)
    origin = getattr(window, "origin", 0)
    if origin and of_rows:
        raise unsaid("window", window)
    texts = [f"{name.upper()} => {length(value)}" for name, value in values.items()]
    texts += [f"OFFSET => {length(Duration(origin))}"] if origin else []
    column = [] if time is None else [f"DESCRIPTOR({quoted(time)})"]
    return f"{names[kind]}({', '.join([data, *column, *texts])})"
