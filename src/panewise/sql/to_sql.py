"""Writes a specification as SQL, as far as SQL can say it (semantics 46.22)."""

from collections.abc import Callable
from typing import Any

from panewise.chrono import Duration
from panewise.families import CHAIN, DEDUPLICATE, JOIN, OVER, WINDOWS
from panewise.spec import Frame, OverOperator, RowFunction, Specification
from panewise.spec.conditions.text import in_backticks
from panewise.sql.parameters import literal
from panewise.sql.writing.aggregates import aggregate as _aggregate
from panewise.sql.writing.deduplication import deduplication
from panewise.sql.writing.joins import join
from panewise.sql.writing.ranking import ranking_or_windows
from panewise.sql.writing.windows import chain
from panewise.sql.writing.words import different as _different
from panewise.sql.writing.words import joined as _joined
from panewise.sql.writing.words import length as _length
from panewise.sql.writing.words import options_of as _options
from panewise.sql.writing.words import unsaid as _unsaid


def to_sql(spec: Specification, table: str = "t") -> str:
    """Returns a text that compiles to this specification.

    Args:
        spec: a WindowOperator, Chain, OverOperator, JoinOperator or DeduplicateOperator. An event time that
            the match of a join does not compare is that of the watermark of its table.
        table: the name of its table. The right table of a join is `u`.

    Raises:
        SqlError: if SQL cannot say a field; the error names it.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> print(to_sql(WindowOperator(keys=["k"], window=Tumbling("1 hour"), event_time="ts",
    ...     aggregates=[F.sum("v").alias("total")])))
    SELECT `k`, window_start, window_end, sum(`v`) AS `total`
    FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(`ts`), SIZE => INTERVAL '1 hour'))
    GROUP BY `k`, window_start, window_end

    Source: semantics 46.22.
    """
    writers: dict[str, Callable[[Any, str], str]] = {
        WINDOWS.name: ranking_or_windows,
        CHAIN.name: chain,
        OVER.name: _over,
        JOIN.name: join,
        DEDUPLICATE.name: deduplication,
    }
    write = writers.get(spec.family.name)
    if write is None:
        raise _unsaid("spec", type(spec).__name__)
    return write(spec, table)


def _over(spec: OverOperator, table: str) -> str:
    if spec.watermark is not None:
        raise _unsaid("watermark", spec.watermark)
    if not spec.columns:
        return _ordered_rows(spec, table)
    calls = _different("columns", [_column(spec, column) for column in spec.columns])
    columns = [
        f"{call} AS {in_backticks(column.name)}" for call, column in zip(calls, spec.columns, strict=True)
    ]
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
    call = _row_function(what) if isinstance(what, RowFunction) else _aggregate(what)
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
    return f"{abs(bound) if kind == 'rows' else _length(Duration(abs(bound)))} {side}"


def _row_function(what: RowFunction) -> str:
    arguments = [] if what.column is None else [in_backticks(what.column), str(what.n)]
    arguments += [] if what.default is None else [literal(what.default).removesuffix("D").removesuffix("L")]
    return f"{what.fn}({', '.join(arguments)}){' IGNORE NULLS' if what.ignorenulls else ''}"
