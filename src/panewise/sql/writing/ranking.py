"""A Top-N as the first rows by ROW_NUMBER: the window operator that such a query compiles to."""

from typing import Final

from panewise.families import INPUT
from panewise.spec import AfterWatermark, Aggregate, Always, Global, Session, WindowOperator, counted
from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.panes import BOUNDS
from panewise.sql.writing.emission import emit_parts
from panewise.sql.writing.windows import check_windows, function, windows
from panewise.sql.writing.words import check_fields, options_of, unsaid

_FIELD: Final = {"order": (), "position": None, "max_future_skew": None}  # a Top-N has no options


def ranking_or_windows(spec: WindowOperator, table: str) -> str:
    """Returns a Top-N, or a SELECT with GROUP BY if the operator is none.

    Raises:
        SqlError: for what SQL cannot say.
    """
    values = spec.aggregates
    if len(values) == 1 and _is_top_n(values[0]):
        return _ranking(spec, values[0], table)
    return windows(spec, table)


def _is_top_n(value: Aggregate) -> bool:
    """Returns whether an aggregate has the names of a Top-N, and its first order, which is never null."""
    names = (value.fn, value.column, value.name, value.by, value.ascending)
    plain = value.nulls == "skip" and not value.distinct and value.condition is None
    return plain and bool(value.then_by) and names == ("top_n_by", "row", "rows", "all rows", True)


def _ranking(spec: WindowOperator, value: Aggregate, table: str) -> str:
    check_windows(spec)
    check_fields(spec, _FIELD)
    endless = isinstance(spec.ports[INPUT].window, Global)
    if not endless and (counted(spec.window) or isinstance(spec.window, Session)):
        raise unsaid("window", spec.window)
    partition = [*map(in_backticks, spec.keys), *([] if endless else BOUNDS)]
    order = [
        f"{in_backticks(column.column)}{'' if column.ascending else ' DESC'}" for column in value.then_by
    ]
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    source = f"{table}{options_of(spec)}" if endless else f"TABLE({function(spec, table, [])})"
    if endless and source != table:
        raise unsaid("null_keys", spec.null_keys)
    lines = [
        "SELECT `row`, `place`",
        "FROM (",
        f"  SELECT `row`, ROW_NUMBER() OVER ({by}ORDER BY {', '.join(order)}) AS `place`",
        f"  FROM {source}",
        ")",
        f"WHERE `place` <= {value.n}",
    ]
    emit = _emit(spec, endless=endless)
    return "\n".join([*lines, *([f"EMIT {', '.join(emit)}"] if emit else [])])


def _emit(spec: WindowOperator, *, endless: bool) -> list[str]:
    if not endless:
        return emit_parts(spec, "accumulating", on_time=spec.on_time)
    changes = AfterWatermark(early=Always(), late=Always())
    if (spec.trigger, spec.on_time, spec.accumulation) == (changes, "if_pending", "retracting"):
        parts = emit_parts(spec, "retracting", on_time=spec.on_time)
        return parts if len(parts) > 1 else []
    return emit_parts(spec, "retracting", on_time=spec.on_time) or ["AFTER WATERMARK"]
