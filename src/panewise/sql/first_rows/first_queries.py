"""SELECTs of the first rows, and of the different rows: Top-N and deduplications (semantics 46.19, 46.33)."""

from dataclasses import replace

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import windows_in
from panewise.sql.expressions.stars import check_stars
from panewise.sql.first_rows.deduplicates import DeduplicateCompiler, order_of_first
from panewise.sql.first_rows.pattern import Pattern, pattern_is_possible, pattern_of
from panewise.sql.first_rows.top_n import TopNCompiler
from panewise.sql.joins.join_queries import join_query, probe_of
from panewise.sql.joins.selects_over_joins import SelectOverJoin
from panewise.sql.options import options_of
from panewise.sql.parsing.emit import check_plain
from panewise.sql.parsing.syntax import Derived, Emit, Join, NamedTable, Select, TableFunction, TextSpan
from panewise.sql.parsing.written_text import WrittenText
from panewise.sql.rewriting import compiled_again, with_part
from panewise.sql.scope import QueryScope, WithQuery
from panewise.sql.sources import operator_input, table_names
from panewise.sql.stage_columns import over_rows
from panewise.sql.stages import QueryStage, is_ours


def top_n_rows(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns a Top-N, None if the SELECT is none."""
    pattern, source, inner = pattern_of(select, emit, scope.parser), select.source, scope
    named = scope.named(source)
    if pattern is None and named is not None and named.query is not None:
        assert isinstance(source, NamedTable)
        if named.scope.parser is not scope.parser:
            return _of_other_text(select, source, named, emit, scope)
        written = Derived(named.query, source.alias or source.name, source.columns, None, source.span)
        pattern, inner = pattern_of(replace(select, source=written), emit, scope.parser), named.scope
        if pattern is not None:
            named.note_inlined()
    if pattern is None:
        return None
    of_join = _numbered_join(select, emit, scope) if named is None else None
    return of_join or _first_rows(pattern, inner) or TopNCompiler(pattern, inner).compile()


def _of_other_text(
    select: Select, source: NamedTable, named: WithQuery, emit: Emit | None, scope: QueryScope
) -> QueryStage | None:
    """Returns a Top-N of a query of WITH that stands in another text, None for another SELECT."""
    query, parser = named.query, named.scope.parser
    if query is None or not pattern_is_possible(query) or select.source_span is None:
        return None
    text = WrittenText()
    text.add(f"({parser.characters(query.span)}", source.span.start)
    text.add(f") AS {in_backticks(source.alias or source.name or '')}", source.span.end)
    named.note_inlined()
    written = with_part(select, emit, source.span, text, scope.parser.sql)
    return compiled_again(written, scope.within(named.scope.known))


def _numbered_join(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns a Top-N whose inner query numbers the rows of a join of ours; None for another one.

    The join is written as a query of its own in FROM.
    """
    query = select.source.query if isinstance(select.source, Derived) else None
    numbered = None if query is None else query.body
    if not isinstance(numbered, Select) or not isinstance(numbered.source, Join) or numbered.others:
        return None
    if join_query(probe_of(numbered.source, numbered.where), None, scope) is None:
        return None
    tables = table_names(numbered.source)
    text = SelectOverJoin(scope.parser, numbered, None, tables).written()
    return compiled_again(with_part(select, emit, numbered.span, text, scope.parser.sql), scope)


def _first_rows(pattern: Pattern, scope: QueryScope) -> QueryStage | None:
    """Returns the first row of each key as a deduplication, None if it is none."""
    inner = pattern.inner
    if isinstance(inner.source, TableFunction) or inner.source is None or pattern.n != 1:
        return None
    source = operator_input(inner, None, scope)
    order = order_of_first(pattern, source.time, scope.parser)
    if order is None or is_ours(source.stage):
        return None
    check_stars(inner.items, source.names, scope.parser)
    if pattern.items is not None:
        check_stars(pattern.items, () if pattern.alias is None else (pattern.alias,), scope.parser)
    options = options_of(inner.source, scope.parser)
    compiler = DeduplicateCompiler(scope.parser, inner, source, pattern.emit, options)
    stage = compiler.first_rows(pattern, *order)
    if pattern.items is None and pattern.rest is None:
        return stage
    return over_rows(stage, pattern.alias, pattern.rest, pattern.outputs(scope.parser))


def distinct_rows(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns SELECT DISTINCT from a table with WATERMARK, None if it is Spark's."""
    if not isinstance(select.source, (NamedTable, Derived)) or select.others or select.having:
        return None
    stars = any(item.is_star for item in select.items)
    if stars or any(windows_in(expr.node) for expr in select.expressions):
        return None
    source = operator_input(select, None, scope)
    if source.time is None:
        return None
    check_plain(emit, scope.parser.fail)
    options = options_of(select.source, scope.parser)
    return DeduplicateCompiler(scope.parser, select, source, None, options).distinct()


def groups_of_first_rows(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns GROUP BY over a Top-N whose limit stands beside it, None for another query.

    The Top-N is written as a query of its own in FROM.
    """
    source, where = select.source, select.where
    if not isinstance(source, Derived) or where is None or select.source_span is None:
        return None
    if pattern_of(replace(select, group=None, having=None), None, scope.parser) is None:
        return None
    text, sql = WrittenText(), scope.parser.sql
    text.add("(SELECT * FROM ", source.span.start)
    text.copy(sql, select.source_span)
    text.add(" WHERE ", where.span.start)
    text.copy(sql, where.span)
    text.add(")", where.span.end)
    text.add("" if source.alias is None else f" AS {in_backticks(source.alias)}", source.span.end)
    span = TextSpan(select.source_span.start, where.span.end)
    return compiled_again(with_part(select, emit, span, text, sql), scope)
