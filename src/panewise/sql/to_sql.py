"""Writes a specification as SQL, as far as SQL can say it (semantics 46.22)."""

from collections.abc import Callable
from typing import Any

from panewise.chrono import Duration
from panewise.families import CHAIN, DEDUPLICATE, JOIN, OVER, WINDOWS
from panewise.spec import OverOperator, RowFunction, Specification
from panewise.sql.parameters import literal
from panewise.sql.texts import quoted
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

    >>> from panewise import Tumbling, functions as F
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
        raise _unsaid("columns", spec.columns)
    calls = _different("columns", [_column(spec, one) for one in spec.columns])
    columns = [f"{call} AS {quoted(one.name)}" for call, one in zip(calls, spec.columns, strict=True)]
    options = _options(spec)
    if spec.event_time is None and spec.order:
        order = f"order = {_joined('order', spec.order)}"
        options = f" WITH ({order})" if not options else options.replace("(", f"({order}, ", 1)
    return f"SELECT *, {', '.join(columns)}\nFROM {table}{options}"


def _column(spec: OverOperator, column: Any) -> str:
    window = []
    if spec.keys:
        window.append(f"PARTITION BY {', '.join(map(quoted, spec.keys))}")
    if spec.event_time is not None:
        window.append(f"ORDER BY {', '.join(map(quoted, (spec.event_time, *spec.order)))}")
    if column.frame is not None:
        bounds = (_bound(column.frame.kind, one) for one in (column.frame.start, column.frame.end))
        window.append(f"{column.frame.kind.upper()} BETWEEN {' AND '.join(bounds)}")
    what = column.what
    call = _row_function(what) if isinstance(what, RowFunction) else _aggregate(what)
    return f"{call} OVER ({' '.join(window)})"


def _bound(kind: str, bound: int | None) -> str:
    if bound is None or bound == 0:
        return "UNBOUNDED PRECEDING" if bound is None else "CURRENT ROW"
    side = "PRECEDING" if bound < 0 else "FOLLOWING"
    return f"{abs(bound) if kind == 'rows' else _length(Duration(abs(bound)))} {side}"


def _row_function(one: RowFunction) -> str:
    given = [] if one.column is None else [quoted(one.column), str(one.n)]
    given += [] if one.default is None else [literal(one.default).removesuffix("D").removesuffix("L")]
    return f"{one.fn}({', '.join(given)})"
