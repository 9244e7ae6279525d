"""Compiles a text of SQL to a tree of stages. It needs neither Spark nor the tables (semantics 46.2)."""

from dataclasses import replace

from panewise.chrono import DurationLike
from panewise.errors import SqlError
from panewise.sql.first_rows.pattern import pattern_is_possible
from panewise.sql.parsing.limits import compiling, too_deep
from panewise.sql.parsing.parser import parse
from panewise.sql.parsing.syntax import Body, Cte, Emit, Query, Select, Streamed, TextSpan
from panewise.sql.parsing.written_text import Origin
from panewise.sql.retracted import check_retractions
from panewise.sql.scope import QueryScope, WithQuery
from panewise.sql.select_clauses import selected_orders
from panewise.sql.selects import select_stage
from panewise.sql.sources import renamed_columns
from panewise.sql.spark_queries import spark_query, tailed_query
from panewise.sql.stages import (
    UNSORTED,
    CompiledQuery,
    Endless,
    EndlessError,
    QueryStage,
    SparkStage,
    has_operator,
)
from panewise.sql.text.named_places import placed
from panewise.sql.text.pieces import replaced
from panewise.sql.text.pipes import without_pipes
from panewise.sql.whole_tails import with_tail
from panewise.sql.windows.session_rows import with_session_rows
from panewise.sql.windows.stream_queries import streamed_rows, with_accumulation


def compile_sql(sql: str, *, update: DurationLike | None = None) -> CompiledQuery:
    """Returns the stages of a query.

    Args:
        sql: the text.
        update: the update policy of joins `OVER (...)` that say none: a period of processing time, or "each".
            Default: rows are joined when they arrive (semantics 46.25).

    Raises:
        SqlError: if the text breaks a rule. The error shows the place.

    >>> text = "SELECT k, sum(v) AS total FROM t GROUP BY k, window(ts, '1 hour')"
    >>> compile_sql(text).stage.spec.window
    Tumbling(size=Duration('1 hour'), origin=0)
    """
    return _guarded(sql, update, whole=False)


def compile_whole(sql: str, *, update: DurationLike | None = None) -> CompiledQuery:
    """Returns the stages of a query over whole inputs in process, which may need their last rows.

    Raises:
        SqlError: as :func:`compile_sql`.
    """
    return _guarded(sql, update, whole=True)


def _guarded(sql: str, update: DurationLike | None, *, whole: bool) -> CompiledQuery:
    with compiling():
        try:
            return _compiled(sql, update, whole=whole)
        except RecursionError:
            raise too_deep(Origin(sql), TextSpan(0, len(sql))) from None
        except SqlError as error:
            if error.line is not None:
                raise
            raise placed(error, sql) from None


def _compiled(sql: str, update: DurationLike | None, *, whole: bool) -> CompiledQuery:
    plain, origin = without_pipes(sql), Origin(sql)
    query, parser = parse(sql) if plain is None else parse(plain.sql, origin.behind(plain))
    scope = QueryScope(parser, query_stage, update=update, whole=whole)
    stage = scope.query(query if whole else replace(query, tail=(), order=()))
    parser.unread.check(parser.origin, parser.sql)
    stage = with_session_rows(stage)
    if whole or not query.tail:
        return CompiledQuery(stage, sql=sql)
    span = TextSpan(query.tail[0][1].start, query.tail[-1][1].end)
    if not has_operator(stage):
        return CompiledQuery(scope.query(query), sql=sql)
    tail = replaced(parser.sql, span, selected_orders(query, parser))
    return CompiledQuery(stage, tail, parser.origin.place(span).start, sql, parser.characters(span))


def query_stage(query: Query, scope: QueryScope) -> QueryStage:
    """Returns the stage of a query that stands in this scope."""
    for cte in query.ctes:
        scope = scope.within({**scope.known, cte.name.lower(): _with_query(cte, scope)})
    stage = _body_stage(query.body, query.emit, scope)
    for cte in query.ctes:
        failed = scope.known[cte.name.lower()]
        if failed.error is not None and not failed.inlined:
            raise failed.error
    return _sorted(stage, query, scope) if query.tail else stage


def _with_query(cte: Cte, scope: QueryScope) -> WithQuery:
    """Returns a query of WITH. One that is a part of a Top-N need not stand alone."""
    try:
        stage = scope.query(cte.query)
    except SqlError as error:
        if pattern_is_possible(cte.query) and not cte.columns:
            return WithQuery(cte.query, scope, None, error)
        raise
    if cte.columns:
        stage = renamed_columns(stage, cte.columns, cte.name)
    return WithQuery(None if cte.columns else cte.query, scope, stage)


def _body_stage(body: Body, emit: Emit | None, scope: QueryScope) -> QueryStage:
    """Returns the stage of a query without WITH."""
    if isinstance(body, Query):
        return scope.query(body if emit is None else replace(body, emit=body.emit or emit))
    if isinstance(body, Select):
        stage = select_stage(body, emit, scope)
        check_retractions(stage, scope.parser, body.span)
        return stage
    if isinstance(body, Streamed):
        inner = body.query if emit is None else replace(body.query, emit=body.query.emit or emit)
        streamed = replace(body, query=inner)
        return streamed_rows(streamed, scope.query(with_accumulation(streamed)), scope.parser)
    if emit is not None:
        rule = "EMIT belongs to a SELECT with windows"
        raise scope.parser.fail("EMIT", rule, "write it into each SELECT, in parentheses", emit.span)
    return spark_query(body, scope)


def _sorted(stage: QueryStage, query: Query, scope: QueryScope) -> QueryStage:
    """Returns a query with its tail, which is Spark's."""
    if scope.whole:
        return with_tail(stage, query, scope.parser)
    first, last, parser = query.tail[0][1], query.tail[-1][1], scope.parser
    if has_operator(stage):
        raise parser.fail(parser.characters(first), *UNSORTED, first)
    text = parser.characters(TextSpan(first.start, last.end))
    sorts = next((span for word, span in query.tail if word == "ORDER BY"), None)
    endless = None
    if sorts is not None:
        written = parser.characters(sorts)
        endless = Endless.at(EndlessError(written, *UNSORTED), parser.origin, sorts)
    if query.ctes:
        return SparkStage(("SELECT * FROM ", f" {text}"), ((stage, None),), endless)
    return replace(tailed_query(query, text, scope), endless=endless)
