"""SELECTs of the first rows, and of the different rows: Top-N and deduplications (semantics 46.19, 46.33)."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.deduplicates import DeduplicateCompiler, order_of_first
from panewise.sql.emit import PLAIN
from panewise.sql.function_calls import windows_in
from panewise.sql.join_queries import JoinQueryCompiler, probe_of
from panewise.sql.joins.behind_joins import BehindJoin
from panewise.sql.options import options_of
from panewise.sql.rewriting import WrittenText, add_emit
from panewise.sql.sources import OperatorInput, WithQuery, names_of
from panewise.sql.spark_queries import expressions_of
from panewise.sql.stage_columns import over_rows
from panewise.sql.stages import Stage, is_ours
from panewise.sql.stars import check_stars
from panewise.sql.syntax import Derived, Emit, Join, NamedTable, Select, Source, TableFunction, TextSpan
from panewise.sql.top_n import Pattern, TopNCompiler, pattern_is_possible, pattern_of


class FirstRowsCompiler(JoinQueryCompiler):
    """Compiles Top-N and DISTINCT."""

    def top_n(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage | None:
        """Returns a Top-N, None if the SELECT is none."""
        pattern, source, inner = pattern_of(select, emit, self.parser), select.source, known
        named = known.get((source.name or "").lower()) if isinstance(source, NamedTable) else None
        if pattern is None and named is not None and named.query is not None:
            assert isinstance(source, NamedTable)
            if named.parser is not self.parser:
                return self._of_other_text(select, source, named, emit)
            written = Derived(named.query, source.alias or source.name, source.columns, None, source.span)
            pattern, inner = pattern_of(replace(select, source=written), emit, self.parser), named.known
            named.inlined = named.inlined or pattern is not None
        if pattern is None:
            return None
        numbered = pattern.inner
        of_join = self._numbered_join(select, emit, known) if named is None else None
        if of_join is not None:
            return of_join
        first = self.first_rows(pattern, inner)
        if first is not None:
            return first

        def read(source: Source) -> OperatorInput:
            whole = source is numbered.source
            return self.input(numbered, None, inner) if whole else self.single(source, inner)

        return TopNCompiler(self.parser, pattern, read).compile()

    def _of_other_text(
        self, select: Select, source: NamedTable, named: WithQuery, emit: Emit | None
    ) -> Stage | None:
        """Returns a Top-N of a query of WITH that stands in another text, None for another SELECT."""
        query, parser = named.query, named.parser
        if query is None or parser is None or not pattern_is_possible(query) or select.source_span is None:
            return None
        text = WrittenText()
        text.copy(self.parser.sql, TextSpan(select.span.start, source.span.start), {})
        text.add("(", source.span.start)
        text.add(parser.characters(query.span), source.span.start)
        text.add(f") AS {in_backticks(source.alias or source.name or '')}", source.span.end)
        text.copy(self.parser.sql, TextSpan(source.span.end, select.span.end), {})
        add_emit(text, self.parser.sql, emit)
        named.inlined = True
        return self.rewritten(text, named.known)

    def _numbered_join(
        self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]
    ) -> Stage | None:
        """Returns a Top-N whose inner query numbers the rows of a join of ours; None for another one.

        The join is written as a query of its own in FROM.
        """
        query = select.source.query if isinstance(select.source, Derived) else None
        numbered = None if query is None else query.body
        if not isinstance(numbered, Select) or not isinstance(numbered.source, Join) or numbered.others:
            return None
        join, sql = numbered.source, self.parser.sql
        probe = probe_of(join, numbered.where)
        if self.join(probe, None, known) is None:
            return None
        tables = frozenset(name.lower() for name in names_of(join))
        text = WrittenText()
        text.copy(sql, TextSpan(select.span.start, numbered.span.start), {})
        text.append(BehindJoin(self.parser, numbered, None, tables).written())
        text.copy(sql, TextSpan(numbered.span.end, select.span.end), {})
        add_emit(text, sql, emit)
        return self.rewritten(text, known)

    def first_rows(self, pattern: Pattern, known: Mapping[str, WithQuery]) -> Stage | None:
        """Returns the first row of each key as a deduplication, None if it is none."""
        inner = pattern.inner
        if isinstance(inner.source, TableFunction) or inner.source is None or pattern.n != 1:
            return None
        source = self.input(inner, None, known)
        order = order_of_first(pattern, source.time, self.parser)
        if order is None or is_ours(source.stage):
            return None
        check_stars(inner.items, source.names, self.parser)
        if pattern.items is not None:
            check_stars(pattern.items, () if pattern.alias is None else (pattern.alias,), self.parser)
        options = options_of(inner.source, self.parser)
        compiler = DeduplicateCompiler(self.parser, inner, source, pattern.emit, options)
        stage = compiler.first_rows(pattern, *order)
        if pattern.items is None and pattern.rest is None:
            return stage
        return over_rows(stage, pattern.alias, pattern.rest, pattern.outputs(self.parser))

    def distinct(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage | None:
        """Returns SELECT DISTINCT from a table with WATERMARK, None if it is Spark's."""
        if not isinstance(select.source, (NamedTable, Derived)) or select.others or select.having:
            return None
        stars = any(isinstance(item.expr.node, exp.Star) for item in select.items)
        if stars or any(windows_in(expr.node) for expr in expressions_of(select)):
            return None
        source = self.input(select, None, known)
        if source.time is None:
            return None
        if emit is not None:
            self.check_plain(emit)
        options = options_of(select.source, self.parser)
        return DeduplicateCompiler(self.parser, select, source, None, options).distinct()

    def check_plain(self, emit: Emit) -> None:
        """Refuses an EMIT of rows that are emitted more than once."""
        words = {phrase.words for phrase in emit.phrases}
        if not words <= PLAIN:
            rule = "a row is emitted once, when the watermark has passed it"
            raise self.parser.fail("EMIT", rule, "write EMIT AFTER WATERMARK, or leave it out", emit.span)

    def groups_of_first_rows(
        self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]
    ) -> Stage | None:
        """Returns GROUP BY over a Top-N whose limit stands beside it, None for another query.

        The Top-N is written as a query of its own in FROM.
        """
        source, where = select.source, select.where
        if not isinstance(source, Derived) or where is None or select.source_span is None:
            return None
        if pattern_of(replace(select, group=None, having=None), None, self.parser) is None:
            return None
        text, sql = WrittenText(), self.parser.sql
        text.copy(sql, TextSpan(select.span.start, select.source_span.start), {})
        text.add("(SELECT * FROM ", source.span.start)
        text.copy(sql, select.source_span, {})
        text.add(" WHERE ", where.span.start)
        text.copy(sql, where.span, {})
        text.add(")", where.span.end)
        text.add("" if source.alias is None else f" AS {in_backticks(source.alias)}", source.span.end)
        text.copy(sql, TextSpan(where.span.end, select.span.end), {})
        add_emit(text, sql, emit)
        return self.rewritten(text, known)
