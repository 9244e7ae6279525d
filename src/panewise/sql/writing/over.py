"""OVER operators as a SELECT with functions over windows."""

from typing import Any

from panewise.chrono import Duration
from panewise.spec import Frame, OverOperator, RowFunction
from panewise.spec.conditions.text import in_backticks
from panewise.sql.text.parameters import literal
from panewise.sql.writing.aggregates import aggregate
from panewise.sql.writing.words import check_fields, comma_separated, different, length, options_of, unsaid


def over_text(spec: OverOperator, table: str) -> str:
    """Returns an OVER operator: functions over windows, or only the order of the event times.

    Raises:
        SqlError: for what SQL cannot say.
    """
    check_fields(spec, {"watermark": None})
    if not spec.columns:
        return _ordered_rows(spec, table)
    calls = different("columns", [_column(spec, column) for column in spec.columns])
    columns = [
        f"{call} AS {in_backticks(column.name)}" for call, column in zip(calls, spec.columns, strict=True)
    ]
    options = options_of(spec)
    if spec.event_time is None and spec.order:
        order = f"order = {comma_separated('order', spec.order)}"
        options = f" WITH ({order})" if not options else options.replace("(", f"({order}, ", 1)
    return f"SELECT *, {', '.join(columns)}\nFROM {table}{options}"


def _ordered_rows(spec: OverOperator, table: str) -> str:
    """Returns a query whose rows come in the order of their event times (semantics 46.15)."""
    for field in ("keys", "order", "descending", "position", "max_future_skew"):
        if getattr(spec, field):
            raise unsaid(field, getattr(spec, field))
    if spec.null_keys or spec.event_time is None:
        raise unsaid("null_keys", spec.null_keys)
    # The text has to name the event time, and only WATERMARK does. A specification has no delay.
    watermark = f"WATERMARK {in_backticks(spec.event_time)} DELAY OF INTERVAL '0 seconds'"
    return f"SELECT * FROM {table} {watermark}\nEMIT AFTER WATERMARK"


def _column(spec: OverOperator, column: Any) -> str:
    window = []
    if spec.keys:
        window.append(f"PARTITION BY {', '.join(map(in_backticks, spec.keys))}")
    if spec.event_time is not None:
        window.append(
            f"ORDER BY {', '.join(_ordered(spec, name) for name in (spec.event_time, *spec.order))}"
        )
    if column.frame is not None:
        window.append(_frame(column.frame))
    what = column.what
    call = _row_function(what) if isinstance(what, RowFunction) else aggregate(what)
    return f"{call} OVER ({' '.join(window)})"


def _ordered(spec: OverOperator, name: str) -> str:
    """Returns a column of ORDER BY, with its direction where that is not Spark's default."""
    descends, nulls_last = name in spec.descending, name in spec.nulls_last
    nulls = "" if descends == nulls_last or name == spec.event_time else " NULLS "
    nulls += "" if not nulls else "LAST" if nulls_last else "FIRST"
    return f"{in_backticks(name)}{' DESC' if descends else ''}{nulls}"


def _frame(frame: Frame) -> str:
    start = "UNBOUNDED PRECEDING" if frame.start is None else _bound(frame.kind, frame.start)
    end = "UNBOUNDED FOLLOWING" if frame.end is None else _bound(frame.kind, frame.end)
    exclude = "" if frame.exclude == "no others" else f" EXCLUDE {frame.exclude.upper()}"
    return f"{frame.kind.upper()} BETWEEN {start} AND {end}{exclude}"


def _bound(kind: str, bound: int) -> str:
    if bound == 0:
        return "CURRENT ROW"
    side = "PRECEDING" if bound < 0 else "FOLLOWING"
    return f"{abs(bound) if kind == 'rows' else length(Duration(abs(bound)))} {side}"


def _row_function(what: RowFunction) -> str:
    arguments = [] if what.column is None else [in_backticks(what.column), str(what.n)]
    arguments += [] if what.default is None else [literal(what.default).removesuffix("D").removesuffix("L")]
    return f"{what.fn}({', '.join(arguments)}){' IGNORE NULLS' if what.ignorenulls else ''}"
