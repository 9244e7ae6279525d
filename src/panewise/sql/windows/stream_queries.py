"""Aggregates over windows of CQL, and ISTREAM, DSTREAM and RSTREAM (semantics 46.23, 46.26)."""

from dataclasses import replace
from typing import Final

from sqlglot import exp

from panewise.spec import AnyWindow, Global, Hopping, Sliding, Tumbling, rows
from panewise.sql.expressions.function_calls import has_aggregate
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import (
    CqlWindow,
    Emit,
    Expr,
    NamedTable,
    Phrase,
    Query,
    Select,
    Streamed,
    TextSpan,
)
from panewise.sql.retracted import accumulating, retracting_stage, rows_with_op
from panewise.sql.stages import QueryStage, WindowsStage
from panewise.sql.windows.compiler import all_of
from panewise.sql.windows.window_functions import WindowSyntax

_OPS: Final = {"ISTREAM": "+", "DSTREAM": "-"}
_ACCUMULATIONS: Final = {"ISTREAM": "RETRACTING", "DSTREAM": "RETRACTING", "RSTREAM": "ACCUMULATING"}


def syntax_of(window: CqlWindow, time: str | None, parser: QueryParser) -> WindowSyntax:
    """Returns the windows over which a query aggregates.

    Args:
        window: the window after the table.
        time: the column of WATERMARK, None if there is none.
        parser: the parser, for errors.

    Raises:
        SqlError: if its length makes no window.
    """
    column = window.time or time
    timed = window.kind in ("range", "now")
    with parser.placing(window.span):
        windows = _window(window)
    expr = Expr(exp.column(column, quoted=True), window.span) if timed and column is not None else None
    return WindowSyntax(windows, expr, window.kind, window.span)


def _window(window: CqlWindow) -> AnyWindow:
    length, slide = window.length, window.slide
    if window.kind == "unbounded":
        return Global()
    if window.kind == "now":
        return Sliding(0)
    if window.kind == "rows":
        step = rows(1 if slide is None else slide)
        return Tumbling(rows(length)) if slide == length else Hopping(rows(length), step)
    if slide is None:
        return Sliding(length, "both")
    if slide == length:
        return Tumbling(length)
    return Hopping(length, slide, gaps=slide.us > length.us)


def needs_time(window: CqlWindow, time: str | None) -> bool:
    """Returns whether the event time of a window is that of its input, as the query does not name it."""
    return window.kind in ("range", "now") and window.time is None and time is None


def check_partition(window: CqlWindow, partition: set[str], keys: set[str], parser: QueryParser) -> None:
    """Refuses windows that count the rows of other keys than those of GROUP BY.

    Raises:
        SqlError: if they do.
    """
    if window.kind == "rows" and partition != keys:
        rule = "the rows of a window are counted for each key of GROUP BY"
        shown = f"PARTITION BY {', '.join(sorted(keys))} " if keys else ""
        remedy = f"write [{shown}ROWS {window.length}]"
        raise parser.fail(parser.characters(window.span), rule, remedy, window.span)


def emit_of(word: str, span: TextSpan) -> Emit:
    """Returns the EMIT of a query that has none: CHANGES without an end, FINAL for a whole input."""
    return Emit((Phrase((word,), None, span),), span)


def with_accumulation(streamed: Streamed) -> Query:
    """Returns the query, whose EMIT also has the accumulation that ISTREAM and the like need."""
    query = streamed.query
    if not isinstance(query.body, Select) or not _emits_again(query.body):
        return query
    accumulation = Phrase((_ACCUMULATIONS[streamed.word],), None, streamed.span)
    emit = query.emit or emit_of("CHANGES", streamed.span)
    return replace(query, emit=replace(emit, phrases=(*emit.phrases, accumulation)))


def _emits_again(select: Select) -> bool:
    """Returns whether a query has windows that may fire more than once."""
    window = select.source.window if isinstance(select.source, NamedTable) else None
    if window is not None and window.kind != "unbounded":
        return False
    return select.group is not None or any(has_aggregate(item.expr.node) for item in select.items)


def streamed_rows(streamed: Streamed, stage: QueryStage, parser: QueryParser) -> QueryStage:
    """Returns the insertions, the deletions or the whole contents of a query.

    Raises:
        SqlError: for deletions from rows that are never retracted, and for the contents of a deduplication.
    """
    again = retracting_stage(stage)
    if again is None:
        if streamed.word == "DSTREAM":
            rule = "DSTREAM has the retractions of a query whose windows fire more than once"
            raise parser.fail("DSTREAM", rule, "use ISTREAM, or aggregate without a window", _word(streamed))
        return stage
    if isinstance(stage, WindowsStage) and stage.ranked is None and streamed.word in _OPS:
        outputs = tuple(output for output in stage.outputs if output.name != "op")
        conditions = [*([] if stage.having is None else [stage.having]), f"op = '{_OPS[streamed.word]}'"]
        return replace(stage, outputs=outputs, having=all_of(conditions))
    if streamed.word != "RSTREAM":
        return rows_with_op(stage, _OPS[streamed.word])
    contents = accumulating(stage)
    if contents is None:
        rule = "RSTREAM has all rows of a result whenever it changes, and this query stores only the changes"
        raise parser.fail("RSTREAM", rule, "use ISTREAM", _word(streamed))
    return contents


def _word(streamed: Streamed) -> TextSpan:
    return TextSpan(streamed.span.start, streamed.span.start + len(streamed.word))
