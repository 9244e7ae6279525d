"""Top-N: the first n rows of each partition by ROW_NUMBER, as a ranking of windows (semantics 46.19)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from panewise import functions as F
from panewise.errors import SpecError, SqlError
from panewise.spec import AfterWatermark, Aggregate, Always, Global, WindowOperator
from panewise.sql.chained import ChainCompiler, respecified
from panewise.sql.emit import emission
from panewise.sql.function_calls import column_name, conjuncts, constant, function_name, windows_in
from panewise.sql.parser import QueryParser
from panewise.sql.stages import OutputColumn, Ranked, Stage, WindowsStage, over_rows
from panewise.sql.syntax import Derived, Emit, Expr, Query, Select, SelectItem, Source, TableFunction
from panewise.sql.texts import quoted
from panewise.sql.window_functions import window_of_table
from panewise.sql.windows import END, Columns, is_first, reads_bounds, retracts

_ROW = "row"
JoinInput = Callable[[Source], tuple[Stage, str | None, frozenset[str], str | None]]


@dataclass(frozen=True)
class Pattern:
    """A Top-N as it is written.

    Attributes:
        inner: the SELECT with ROW_NUMBER.
        window: the call of ROW_NUMBER, with OVER.
        rank: the name of its column, None if it is not selected.
        n: the number of rows.
        rest: the condition of the outer query without the limit, None if there is none.
        alias: the name of the inner query in the outer one.
        items: the SELECT list of the outer query.
        names: the columns of its result, if the inner SELECT has further ones.
        emit: the EMIT clause.
    """

    inner: Select
    window: exp.Window
    rank: str | None
    n: int
    rest: str | None
    alias: str | None
    items: tuple[SelectItem, ...] | None
    emit: Emit | None
    names: tuple[str, ...] | None = None


def pattern_of(select: Select, emit: Emit | None, parser: QueryParser) -> Pattern | None:
    """Returns the Top-N that a SELECT is, None if it is none."""
    if select.group is not None or select.having is not None or select.distinct or select.others:
        return None
    if select.qualify is not None:
        return _of_qualify(select, emit, parser)
    source = select.source
    if not isinstance(source, Derived) or select.where is None or source.columns:
        return None
    query = source.query
    inner = query.body
    if not isinstance(inner, Select) or query.ctes or query.tail or inner.qualify or inner.group:
        return None
    for item in inner.items:
        if item.alias is None or not _is_row_number(item.expr.node):
            continue
        found = _limit(select.where, lambda node, name=item.alias: _is_column(node, name), parser)  # type: ignore[misc]
        if found is not None:
            window: Any = item.expr.node
            return Pattern(
                inner, window, item.alias, found[0], found[1], source.alias, select.items, emit or query.emit
            )
    return None


def pattern_is_possible(query: Query) -> bool:
    """Returns whether a query numbers rows, so that one over it may be a Top-N."""
    body = query.body
    return isinstance(body, Select) and any(_is_row_number(item.expr.node) for item in body.items)


def _of_qualify(select: Select, emit: Emit | None, parser: QueryParser) -> Pattern | None:
    assert select.qualify is not None
    named = {item.alias.lower(): item.expr.node for item in select.items if item.alias is not None}
    calls = [one for one in windows_in(select.qualify.node) if _is_row_number(one)]
    window: Any = calls[0] if calls else None
    rank = None
    for name, node in named.items():
        if _is_row_number(node) and (window is None or _same(node, window, parser)):
            window, rank = node, name
    if window is None:
        return None

    def is_rank(node: exp.Expr) -> bool:
        plain = isinstance(node, exp.Window) and _is_row_number(node)
        return plain or (rank is not None and _is_column(node, rank))

    limit = _limit(select.qualify, is_rank, parser)
    if limit is None:
        return None
    n, rest = limit
    inner = replace(select, qualify=None)
    if rest is None:
        return Pattern(inner, window, rank, n, None, None, None, emit)
    return _with_rest(
        Pattern(inner, window, rank, n, rest, None, None, emit), select.qualify, is_rank, parser
    )


def _with_rest(
    pattern: Pattern, qualify: Expr, is_rank: Callable[[exp.Expr], bool], parser: QueryParser
) -> Pattern | None:
    """Returns a Top-N whose rows have a further condition, None if that reads another function over a window.

    The inner SELECT also has the columns that only the condition reads.
    """
    others = [part for part in conjuncts(qualify.node) if _bound(part, is_rank) is None]
    if any(windows_in(part) for part in others):
        return None
    items = pattern.inner.items
    if any(isinstance(item.expr.node, exp.Star) for item in items):
        return pattern
    names = [item.alias or item.expr.node.name for item in items]
    known, further = {name.lower() for name in names}, list[SelectItem]()
    for node in (column for part in others for column in part.find_all(exp.Column)):
        if node.name.lower() not in known:
            known.add(node.name.lower())
            span = parser.span_of(node)
            further.append(SelectItem(Expr(node, span), None, span))
    if not further:
        return pattern
    return replace(pattern, inner=replace(pattern.inner, items=(*items, *further)), names=tuple(names))


def _same(node: exp.Expr, other: exp.Expr, parser: QueryParser) -> bool:
    return parser.characters(parser.span_of(node)) == parser.characters(parser.span_of(other))


def _is_row_number(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Window)
        and function_name(node.this) == "row_number"
        and "spec" not in {name for name, value in node.args.items() if value}
    )


def _is_column(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == name.lower()


def _limit(
    where: Expr, is_rank: Callable[[exp.Expr], bool], parser: QueryParser
) -> tuple[int, str | None] | None:
    """Returns n and the rest of a condition with `rank <= n`, None if it has no such part."""
    parts = list(conjuncts(where.node))
    for number, part in enumerate(parts):
        n = _bound(part, is_rank)
        if n is not None and n > 0:
            others = [
                parser.characters(parser.span_of(one)) for place, one in enumerate(parts) if place != number
            ]
            return n, " AND ".join(others) or None
    return None


def _bound(node: exp.Expr, is_rank: Callable[[exp.Expr], bool]) -> int | None:
    """Returns n of `rank <= n`, `rank < n + 1`, `rank = 1`, these turned around, or BETWEEN 1 AND n."""
    if isinstance(node, exp.Between) and is_rank(node.this) and constant(node.args["low"]) == (1,):
        node = exp.LTE(this=node.this, expression=node.args["high"])
    if not isinstance(node, (exp.LTE, exp.LT, exp.EQ, exp.GTE, exp.GT)):
        return None
    left, right, kind = node.this, node.expression, type(node)
    if is_rank(right):
        turned: dict[Any, Any] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}
        left, right, kind = right, left, turned.get(kind, exp.NEQ)
    known = constant(right)
    if not is_rank(left) or known is None or not isinstance(known[0], int) or isinstance(known[0], bool):
        return None
    if kind is exp.EQ:
        return 1 if known[0] == 1 else None
    return {exp.LTE: known[0], exp.LT: known[0] - 1}.get(kind)


class TopNCompiler:
    """Compiles a Top-N."""

    def __init__(self, parser: QueryParser, pattern: Pattern, single: JoinInput) -> None:
        self.parser, self.pattern, self.single = parser, pattern, single
        named = {str(one.this.name).lower(): one for one in pattern.inner.windows}
        alias = pattern.window.args.get("alias")
        self.described: exp.Expr = pattern.window if alias is None else named.get(alias.name.lower(), alias)

    def compile(self) -> Stage:
        """Returns the stages.

        Raises:
            SqlError: if a part breaks a rule.
        """
        pattern, source = self.pattern, self.pattern.inner.source
        if source is None:
            raise self._fail("no FROM", "a Top-N has a table", "write FROM and a table")
        if pattern.inner.having is not None or (pattern.inner.others and isinstance(source, TableFunction)):
            rule = "the query that numbers the rows of a Top-N has FROM and WHERE"
            raise self._fail("another clause", rule, "write it in a query in FROM")
        if isinstance(source, TableFunction):
            input, alias, names, _ = self.single(source.data)  # noqa: A001
            names |= frozenset({source.alias.lower()}) if source.alias is not None else frozenset()
            made: Stage = self._of_rows(input, source.alias or alias, names, source)
        else:
            input, alias, names, _ = self.single(source)  # noqa: A001
            partition = [column_name(one, names) for one in self.described.args.get("partition_by") or ()]
            bounds = {"window_start", "window_end"} <= {(one or "").lower() for one in partition}
            if isinstance(input, WindowsStage) and bounds:
                made = self._of_panes(input, names)
            else:
                made = self._of_rows(input, alias, names, None)
        if pattern.items is None and pattern.rest is None:
            return made
        return over_rows(made, pattern.alias, pattern.rest, self._outer())

    def _is_the_number(self, node: exp.Expr) -> bool:
        return _is_row_number(node) and _same(node, self.pattern.window, self.parser)

    def _fail(self, given: str, rule: str, remedy: str) -> SqlError:
        return self.parser.fail(given, rule, remedy, self.parser.span_of(self.pattern.window))

    def _of_rows(self, input: Stage, alias: str | None, names: frozenset[str], table: Any) -> WindowsStage:  # noqa: A002
        """Returns the first rows of each key: in windows, or without them in one global window."""
        columns = Columns(self.parser, names)
        keys = self._keys(columns, table is not None)
        row = columns.add(f"struct({', '.join(self._fields(names))})", _ROW)
        first = columns.add("0", "all rows")
        by = [F.asc(first), *self._order(columns)]
        aggregate = F.top_n_by(row, by, self.pattern.n).alias(_ROW + "s")
        spec = self._spec(table, keys, aggregate, names)
        where = self.pattern.inner.where
        if where is not None and table is not None and reads_bounds(where, names):
            rule = "WHERE selects rows before they have windows"
            raise self._fail("bounds in WHERE", rule, "select them in WHERE of the query over it")
        return WindowsStage(
            input,
            alias,
            None if where is None else self.parser.characters(where.span),
            tuple(one for one in columns.computed.values() if one.name in spec.columns_read),
            spec,
            (),
            ranked=Ranked((_ROW + "s",), self.pattern.rank, self._ends(names), retracts(spec)),
        )

    def _spec(
        self, table: Any, keys: list[str], aggregate: Aggregate, names: frozenset[str]
    ) -> WindowOperator:
        fields = emission(self.pattern.emit, self.parser.fail)
        if table is None:
            if not fields:
                fields = {"trigger": AfterWatermark(early=Always(), late=Always()), "on_time": "if_pending"}
            fields = {"accumulation": "retracting", **fields, "time": "processing", "window": Global()}
        else:
            made = window_of_table(table, self.parser)
            fields["window"] = made.window
            if made.time is not None:
                fields["event_time"] = column_name(made.time.node, names)
        try:
            return WindowOperator(keys=keys, aggregates=[aggregate], **fields)
        except SpecError as error:
            raise self._fail(error.given, error.rule, error.remedy) from None

    def _keys(self, columns: Columns, windows: bool) -> list[str]:
        found, bounds = list[str](), set[str]()
        for node in self.described.args.get("partition_by") or ():
            name = column_name(node, columns.aliases)
            if windows and (name or "").lower() in ("window_start", "window_end", "window_time"):
                bounds.add((name or "").lower())
            else:
                found.append(columns.name_of(Expr(node, self.parser.span_of(node))))
        if windows and not {"window_start", "window_end"} <= bounds:
            rule = "the first rows of windows have both bounds in PARTITION BY"
            raise self._fail("PARTITION BY", rule, "add window_start and window_end")
        return found

    def _order(self, columns: Columns) -> list[Any]:
        order = self.described.args.get("order")
        if order is None:
            raise self._fail("ROW_NUMBER", "it numbers rows in an order", "add ORDER BY")
        found = []
        for one in order.expressions:
            span, descends = self.parser.span_of(one.this), bool(one.args.get("desc"))
            if bool(one.args.get("nulls_first")) == descends:  # not where Spark has nulls by default
                null = columns.add(f"CASE WHEN ({self.parser.characters(span)}) IS NULL THEN 1 ELSE 0 END")
                found.append(F.desc(null) if descends else F.asc(null))
            name = columns.name_of(Expr(one.this, span))
            found.append(F.desc(name) if descends else F.asc(name))
        return found

    def _fields(self, names: frozenset[str]) -> Iterator[str]:
        """Yields the columns of the inner SELECT, without the number and the bounds of the window."""
        for item in self.pattern.inner.items:
            name = column_name(item.expr.node, names)
            if windows_in(item.expr.node) and not self._is_the_number(item.expr.node):
                rule = "a Top-N has one function over a window, that which numbers its rows"
                raise self.parser.fail(
                    self.parser.characters(item.expr.span), rule, "compute it in a query in FROM", item.span
                )
            if _is_row_number(item.expr.node) or (name or "").lower() in (
                "window_start",
                "window_end",
                "window_time",
            ):
                continue
            text = self.parser.characters(item.expr.span)
            if isinstance(item.expr.node, exp.Star) or (item.alias is None and name is not None):
                yield text
            elif item.alias is None:
                rule = "the columns of a Top-N have names"
                raise self.parser.fail(text, rule, "add AS and a name", item.span)
            else:
                yield f"{text} AS `{item.alias}`"

    def _ends(self, names: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """Returns the bounds of the window that the inner SELECT has: the names, and the texts."""
        found: list[tuple[str, str]] = []
        windows = isinstance(self.pattern.inner.source, TableFunction)
        for item in self.pattern.inner.items if windows else ():
            name = (column_name(item.expr.node, names) or "").lower()
            if isinstance(item.expr.node, exp.Star):
                found += [
                    ("window_start", "window_start"),
                    ("window_end", "window_end"),
                    ("window_time", END),
                ]
            elif name in ("window_start", "window_end", "window_time"):
                found.append((item.alias or name, END if name == "window_time" else name))
        return tuple(found)

    def _of_panes(self, before: WindowsStage, names: frozenset[str]) -> WindowsStage:
        """Returns the first panes of each window, as a stage of a chain."""
        for given, word in ((self.pattern.inner.where, "WHERE"), (before.having, "HAVING in FROM")):
            if given is not None:
                rule = "panes cannot be selected before the first of their windows are taken"
                raise self._fail(word, rule, "select them in WHERE of the query over it, or leave it out")
        chain = ChainCompiler(self.parser, self.pattern.inner, self.pattern.emit, names, before)
        keys, ends = list[str](), dict[str, str](chain.ends)
        for node in self.described.args.get("partition_by") or ():
            name = (column_name(node, names) or "").lower()
            if name not in ends:
                keys.append(chain.columns.name_of(Expr(node, self.parser.span_of(node))))
        order = self._order(chain.columns)
        wanted = self._wanted(chain, ends)
        aggregates = [
            F.top_n_by(column, order, self.pattern.n).alias(name)
            for name, column in wanted.items()
            if column not in keys
        ]
        if not aggregates:
            aggregates = [F.top_n_by(order[0].column, order, self.pattern.n).alias("first")]
        try:
            first: Any = before.spec
            if self.pattern.emit is not None and is_first(first):
                first = respecified(first, **emission(self.pattern.emit, self.parser.fail))
            spec = first.then(keys=keys, aggregates=aggregates)
        except SqlError:
            raise
        except SpecError as error:
            raise self._fail(error.given, error.rule, error.remedy) from None
        constant_columns = tuple((name, f"`{column}`") for name, column in wanted.items() if column in keys)
        bounds = tuple((name, text) for name, text in ends.items() if self._selects(name))
        ranked = Ranked(
            tuple(one.name for one in aggregates),
            self.pattern.rank,
            (*constant_columns, *bounds),
            retracts(spec),
        )
        return replace(before, spec=spec, outputs=(), ranked=ranked, naming=("", ""))

    def _wanted(self, chain: ChainCompiler, ends: dict[str, str]) -> dict[str, str]:
        """Returns the columns of the panes that the inner SELECT has, by their new names."""
        found: dict[str, str] = {}
        for item in self.pattern.inner.items:
            if _is_row_number(item.expr.node):
                continue
            if isinstance(item.expr.node, exp.Star):
                found |= chain.known
                continue
            name = column_name(item.expr.node, chain.columns.aliases) or ""
            if name.lower() not in ends:
                found[item.alias or name] = chain.columns.name_of(item.expr)
        return found

    def _selects(self, name: str) -> bool:
        nodes = [item.expr.node for item in self.pattern.inner.items]
        return any(isinstance(one, exp.Star) or _is_column(one, name) for one in nodes)

    def _outer(self) -> tuple[OutputColumn, ...] | None:
        items = self.pattern.items
        if self.pattern.names is not None:
            return tuple(OutputColumn(quoted(name), name, name) for name in self.pattern.names)
        if items is None or [self.parser.characters(one.expr.span) for one in items] == ["*"]:
            return None
        found = []
        for item in items:
            text = self.parser.characters(item.expr.span)
            plain = isinstance(item.expr.node, exp.Column)
            found.append(OutputColumn(text, item.alias or (item.expr.node.name if plain else None), text))
        return tuple(found)
