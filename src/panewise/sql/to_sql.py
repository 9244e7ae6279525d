"""Writes a specification as SQL, as far as SQL can say it (semantics 46.22)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.families import OVER, WINDOWS
from panewise.spec import (
    Aggregate,
    Frame,
    Global,
    OverOperator,
    RowFunction,
    Session,
    Specification,
    WindowOperator,
)
from panewise.spec.aggregates.aggregate import PAIRS
from panewise.spec.triggers.composite import AfterWatermark, default_on_time
from panewise.spec.triggers.simple import AfterCount, AfterProcessingTime, Always, Every, Never
from panewise.sql.functions import AGGREGATES
from panewise.sql.parameters import literal
from panewise.sql.texts import quoted

_DISTINCT: Final = {"count_distinct": "count", "sum_distinct": "sum", "avg_distinct": "avg"}
# Fields that SQL cannot say, with the value that it means.
_WINDOWS: Final[Mapping[str, Any]] = {
    "drop_by": "window",
    "closing": "if_pending",
    "only_updated": False,
    "timestamp": None,
    "evaluate": "batch",
    "evictor": None,
    "delta": False,
    "watermark": None,
}


def to_sql(spec: Specification, table: str = "t") -> str:
    """Returns a text that compiles to this specification.

    Args:
        spec: a WindowOperator or an OverOperator.
        table: the name of its table.

    Raises:
        SqlError: if SQL cannot say a field; the error names it.

    >>> from panewise import Tumbling, functions as F
    >>> print(to_sql(WindowOperator(keys=["k"], window=Tumbling("1 hour"), event_time="ts",
    ...     aggregates=[F.sum("v").alias("total")])))
    SELECT `k`, window_start, window_end, sum(`v`) AS `total`
    FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(`ts`), SIZE => INTERVAL '1 hour'))
    GROUP BY `k`, window_start, window_end

    Source: semantics 46.22.
    """
    writers: dict[str, Callable[[Any, str], str]] = {WINDOWS.name: _windows, OVER.name: _over}
    write = writers.get(spec.family.name)
    if write is None:
        raise _unsaid("spec", type(spec).__name__)
    return write(spec, table)


def _unsaid(field: str, value: Any) -> SqlError:
    rule = "SQL says windows and OVER, and of these not every field (semantics 46.7, 46.22)"
    return SqlError(f"{field}={value!r}", rule, "use the fluent API, or apply")


def _different(field: str, calls: list[str]) -> list[str]:
    """Returns the calls, of which none is there twice: a query computes equal calls once."""
    twice = sorted({one for one in calls if calls.count(one) > 1})
    if twice:
        raise _unsaid(f"{field}: twice", twice[0])
    return calls


def _windows(spec: WindowOperator, table: str) -> str:
    for name, plain in _WINDOWS.items():
        if getattr(spec, name) != plain:
            raise _unsaid(name, getattr(spec, name))
    endless = isinstance(spec.window, Global)
    if (spec.time == "processing") != endless:
        raise _unsaid("time", spec.time)
    keys = [quoted(name) for name in spec.keys]
    bounds = [] if endless else ["window_start", "window_end"]
    calls = _different("aggregates", [_aggregate(one) for one in spec.aggregates])
    aggregates = [f"{call} AS {quoted(one.name)}" for call, one in zip(calls, spec.aggregates, strict=True)]
    source = f"{table}{_options(spec, spec.order)}"
    group = [*keys, *bounds]
    lines = [
        f"SELECT {', '.join([*group, *aggregates])}",
        f"FROM {source}" if endless else f"FROM TABLE({_function(spec, source, keys)})",
        *([f"GROUP BY {', '.join(group)}"] if group else []),
    ]
    emit = _emit(spec)
    if endless and not emit:
        emit = ["AFTER WATERMARK"]  # without EMIT the query would be Spark's
    return "\n".join([*lines, *([f"EMIT {', '.join(emit)}"] if emit else [])])


def _function(spec: WindowOperator, source: str, keys: list[str]) -> str:
    window: Any = spec.window
    lengths: dict[str, Callable[[], dict[str, Any]]] = {
        "tumbling": lambda: {"size": window.size},
        "hopping": lambda: {"slide": window.hop, "size": window.size},
        "cumulating": lambda: {"step": window.step, "size": window.size},
        "session": lambda: {"gap": window.gap},
    }
    names = {"tumbling": "TUMBLE", "hopping": "HOP", "cumulating": "CUMULATE", "session": "SESSION"}
    if window.kind not in names or getattr(window, "only_when_full", False):
        raise _unsaid("window", window)
    given = lengths[window.kind]()
    of_rows = not isinstance(next(iter(given.values())), Duration)
    if isinstance(window, Session) and window != Session(window.gap, "separate" if of_rows else "merge"):
        raise _unsaid("window", window)
    if isinstance(window, Session) and isinstance(window.gap, str):
        raise _unsaid("window", window)
    partition = f" PARTITION BY {', '.join(keys)}" if keys and (of_rows or window.kind == "session") else ""
    origin = getattr(window, "origin", 0)
    if origin and of_rows:
        raise _unsaid("window", window)
    texts = [f"{name.upper()} => {_length(length)}" for name, length in given.items()]
    texts += [f"OFFSET => {_length(Duration(origin))}"] if origin else []
    time = [] if spec.event_time is None else [f"DESCRIPTOR({quoted(spec.event_time)})"]
    return f"{names[window.kind]}({', '.join([f'TABLE {source}{partition}', *time, *texts])})"


def _length(length: Any) -> str:
    if not isinstance(length, Duration):
        return f"{length.n} ROWS"
    sign = "- " if length.us < 0 else ""
    return f"{sign}INTERVAL '{str(length).removeprefix('-')}'"


def _options(spec: WindowOperator | OverOperator, order: tuple[str, ...] = ()) -> str:
    found = {}
    if order:
        found["order"] = _joined("order", order)
    if spec.position is not None:
        position = spec.position
        if not position.ordered:
            raise _unsaid("position", position)
        source = () if position.source is None else (position.source,)
        found["position"] = _joined("position", (position.partition, position.offset, *source))
    if spec.max_future_skew is not None:
        found["max_future_skew"] = literal(str(spec.max_future_skew))
    if spec.null_keys != bool(spec.keys):
        found["null_keys"] = str(spec.null_keys).lower()
    return f" WITH ({', '.join(f'{name} = {text}' for name, text in found.items())})" if found else ""


def _joined(field: str, names: tuple[str, ...]) -> str:
    if any("," in name or name != name.strip() for name in names):
        raise _unsaid(field, names)
    return literal(", ".join(names))


def _emit(spec: WindowOperator) -> list[str]:
    trigger, found = spec.trigger, list[str]()
    if isinstance(trigger, Never):
        found.append("FINAL")
        expected = "if_pending"
    elif isinstance(trigger, AfterWatermark):
        expected = default_on_time(trigger)
        always = isinstance(trigger.early, Always) and isinstance(trigger.late, Always)
        if always and spec.on_time == "if_pending":
            found.append("CHANGES")
            expected = "if_pending"
        else:
            found += _rates(trigger)
    else:
        raise _unsaid("trigger", trigger)
    if spec.on_time != expected:
        raise _unsaid("on_time", spec.on_time)
    if spec.accumulation != "accumulating":
        found.append(spec.accumulation.upper())
    if spec.allowed_lateness == "unlimited":
        found.append("WITH LATENESS UNLIMITED")
    elif spec.allowed_lateness != Duration(0):
        found.append(f"WITH LATENESS {_length(spec.allowed_lateness)}")
    return found


def _rates(trigger: AfterWatermark) -> Iterator[str]:
    if trigger.early is not None:
        yield f"EARLY {_rate(trigger.early)}"
    if trigger.late is None:
        yield "LATE NEVER"
    elif not isinstance(trigger.late, Always):
        if isinstance(trigger.late, AfterProcessingTime):
            raise _unsaid("trigger", trigger)
        yield f"LATE {_rate(trigger.late)}"


def _rate(trigger: Any) -> str:
    if isinstance(trigger, Always):
        return "UPDATE"
    if isinstance(trigger, AfterCount):
        return f"EVERY {trigger.n} ROWS"
    if isinstance(trigger, Every) and trigger == Every(trigger.period):
        return f"EVERY {_length(trigger.period)}"
    if isinstance(trigger, AfterProcessingTime) and trigger.align is None:
        return f"AFTER DELAY {_length(trigger.delay)}"
    raise _unsaid("trigger", trigger)


def _aggregate(one: Aggregate) -> str:
    """Returns a call of an aggregate."""
    columns = [quoted(name) for name in (one.column, one.by) if name is not None]
    condition = "" if one.condition is None else f" FILTER (WHERE {quoted(one.condition)})"
    if one.fn in _DISTINCT:
        return f"{_DISTINCT[one.fn]}(DISTINCT {columns[0]})"
    known = one.fn in AGGREGATES and not one.then_by and one.nulls == "skip" and not one.distinct
    if not known or (one.by is not None and one.fn not in PAIRS and one.fn not in ("max_by", "min_by")):
        raise _unsaid("aggregates", one.fn)
    constants = [repr(value) for value in (one.percentage,) if value is not None]
    if one.fn == "approx_count_distinct":
        constants.append(repr(one.rsd))
    ignore = " IGNORE NULLS" if one.ignorenulls else ""
    return f"{one.fn}({', '.join([*(columns or ['*']), *constants])}){ignore}{condition}"


def _over(spec: OverOperator, table: str) -> str:
    if spec.watermark is not None:
        raise _unsaid("watermark", spec.watermark)
    if not spec.columns:
        return _ordered_rows(spec, table)
    calls = _different("columns", [_column(spec, column) for column in spec.columns])
    columns = [f"{call} AS {quoted(column.name)}" for call, column in zip(calls, spec.columns, strict=True)]
    options = _options(spec)
    if spec.event_time is None and spec.order:
        order = f"order = {_joined('order', spec.order)}"
        options = f" WITH ({order})" if not options else options.replace("(", f"({order}, ", 1)
    return f"SELECT *, {', '.join(columns)}\nFROM {table}{options}"


def _ordered_rows(spec: OverOperator, table: str) -> str:
    """Returns a query whose rows come in the order of their event times (semantics 46.15)."""
    for field in ("keys", "order", "descending", "position", "max_future_skew"):
        if getattr(spec, field):
            raise _unsaid(field, getattr(spec, field))
    if spec.null_keys or spec.event_time is None:
        raise _unsaid("null_keys", spec.null_keys)
    # The text has to name the event time, and only WATERMARK does. A specification has no delay.
    watermark = f"WATERMARK {quoted(spec.event_time)} DELAY OF INTERVAL '0 seconds'"
    return f"SELECT * FROM {table} {watermark}\nEMIT AFTER WATERMARK"


def _column(spec: OverOperator, column: Any) -> str:
    window = []
    if spec.keys:
        window.append(f"PARTITION BY {', '.join(map(quoted, spec.keys))}")
    if spec.event_time is not None:
        window.append(
            f"ORDER BY {', '.join(_ordered(spec, name) for name in (spec.event_time, *spec.order))}"
        )
    if column.frame is not None:
        window.append(_frame(column.frame))
    what = column.what
    call = _row_function(what) if isinstance(what, RowFunction) else _aggregate(what)
    return f"{call} OVER ({' '.join(window)})"


def _ordered(spec: OverOperator, name: str) -> str:
    """Returns a column of ORDER BY, with its direction where that is not Spark's default."""
    descends, nulls_last = name in spec.descending, name in spec.nulls_last
    nulls = "" if descends == nulls_last or name == spec.event_time else " NULLS "
    nulls += "" if not nulls else "LAST" if nulls_last else "FIRST"
    return f"{quoted(name)}{' DESC' if descends else ''}{nulls}"


def _frame(frame: Frame) -> str:
    start = "UNBOUNDED PRECEDING" if frame.start is None else _bound(frame.kind, frame.start)
    end = "UNBOUNDED FOLLOWING" if frame.end is None else _bound(frame.kind, frame.end)
    exclude = "" if frame.exclude == "no others" else f" EXCLUDE {frame.exclude.upper()}"
    return f"{frame.kind.upper()} BETWEEN {start} AND {end}{exclude}"


def _bound(kind: str, bound: int) -> str:
    if bound == 0:
        return "CURRENT ROW"
    side = "PRECEDING" if bound < 0 else "FOLLOWING"
    return f"{abs(bound) if kind == 'rows' else _length(Duration(abs(bound)))} {side}"


def _row_function(what: RowFunction) -> str:
    arguments = [] if what.column is None else [quoted(what.column), str(what.n)]
    arguments += [] if what.default is None else [literal(what.default).removesuffix("D").removesuffix("L")]
    return f"{what.fn}({', '.join(arguments)}){' IGNORE NULLS' if what.ignorenulls else ''}"
