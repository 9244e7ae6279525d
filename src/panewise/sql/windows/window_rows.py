"""Rows of windows from a query in FROM, as the windows of the query over it (semantics 46.140)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from panewise.spec import AnyWindow, Session
from panewise.sql.expressions.column_syntax import plain_column, star_of
from panewise.sql.expressions.function_calls import columns_in, conjuncts, plain_name
from panewise.sql.parsing.parser import QueryParser, parse
from panewise.sql.parsing.syntax import Emit, Expr, Select, TextSpan
from panewise.sql.stages import AssignedStage, OutputColumn, QueryStage, RowsStage
from panewise.sql.text.pieces import replaced
from panewise.sql.windows.compiler import WindowCompiler, all_of
from panewise.sql.windows.panes import BOUND_OF, BOUND_TEXTS
from panewise.sql.windows.window_functions import WindowSyntax, identifies


@dataclass(frozen=True)
class WindowRows:
    """Rows whose windows a query over them has.

    Attributes:
        stage: the rows, without the bounds of their windows.
        window: the windows.
        time: the column of the event time.
        partition: the columns of PARTITION BY, in lower case.
        ends: the texts of the bounds, by the lower-case names that the query has for them.
        conditions: conditions on bounds, as texts over panes.
        hidden: whether the event time is a column that the query over the rows does not have.
        columns: the columns of the query in their order: bounds, other names, and None for columns without a
            known name.
    """

    stage: QueryStage
    window: AnyWindow
    time: str
    partition: frozenset[str] = frozenset()
    ends: Mapping[str, str] = field(default_factory=lambda: BOUND_TEXTS)
    conditions: tuple[str, ...] = ()
    hidden: bool = False
    columns: tuple[str | None, ...] = (None, *BOUND_TEXTS)

    def syntax(self, function: str, span: TextSpan) -> WindowSyntax:
        """Returns the windows as a query has them, for errors at these characters."""
        return WindowSyntax(self.window, Expr(exp.column(self.time, quoted=True), span), function, span)

    def identified_by(self, names: set[str]) -> bool:
        """Returns whether columns with these lower-case names distinguish the windows of a key."""
        return identifies(self.window, {BOUND_OF[self.ends[name]] for name in names & self.ends.keys()})


def window_rows(stage: QueryStage) -> WindowRows | None:
    """Returns rows that have the bounds of their windows; None if a query computes with a bound."""
    if isinstance(stage, AssignedStage):
        return WindowRows(stage.input, stage.window, stage.time, stage.partition)
    inner = window_rows(stage.input) if isinstance(stage, RowsStage) else None
    if inner is None:
        return None
    assert isinstance(stage, RowsStage)
    selected = _selected(stage, inner)
    return selected if selected is None or stage.outputs is None else _listed(stage.outputs, selected)


def _selected(stage: RowsStage, rows: WindowRows) -> WindowRows | None:
    """Returns the rows for which WHERE is true; None if a part of it has a bound beside another column."""
    of_rows, of_bounds = list[str](), list(rows.conditions)
    for text, names, over_panes in () if stage.where is None else _parts(stage.where, rows.ends):
        if not names & rows.ends.keys():
            of_rows.append(text)
        elif names <= rows.ends.keys():
            of_bounds.append(over_panes)
        else:
            return None
    following = replace(stage, input=rows.stage, where=all_of(of_rows), outputs=None)
    return replace(rows, stage=following, conditions=tuple(of_bounds))


def _parts(where: str, ends: Mapping[str, str]) -> list[tuple[str, set[str], str]]:
    """Returns the parts of a condition: each with its columns, and as a text over panes."""
    query, parser = parse(f"SELECT * FROM t WHERE {where}")
    condition: Any = query.body
    parts = list[tuple[str, set[str], str]]()
    for node in conjuncts(condition.where.node):
        columns = list(columns_in(node))
        changes = {parser.span_of(column): ends.get(column.name.lower(), "") for column in columns}
        span = parser.span_of(node)
        names = {column.name.lower() for column in columns}
        parts.append((parser.characters(span), names, replaced(parser.sql, span, changes)))
    return parts


def _listed(outputs: tuple[OutputColumn, ...], rows: WindowRows) -> WindowRows | None:
    """Returns the rows with a SELECT list: bounds in it have its names, the event time may be added."""
    ends, listed, time = dict[str, str](), list[OutputColumn](), None
    for output in outputs:
        name, star = plain_column(output.text), star_of(output.text)
        if star is not None:
            if star.without & {*rows.ends, rows.time.lower()}:
                return None
            ends, time = {**ends, **rows.ends}, time or rows.time
            listed.append(output)
        elif name in rows.ends:
            ends[(output.name or name).lower()] = rows.ends[name]
        elif _reads(output.text, rows.ends):
            return None
        else:
            time = output.name if name == rows.time.lower() and time is None else time
            listed.append(output)
    hidden = time is None
    if time is None:
        if any((output.name or "").lower() == rows.time.lower() for output in listed):
            return None
        time = rows.time
        listed.append(OutputColumn(f"`{time}`", time, time))
    assert isinstance(rows.stage, RowsStage)
    following = replace(rows.stage, outputs=tuple(listed))
    columns = tuple(_names(outputs, rows))
    return replace(rows, stage=following, time=time, ends=ends, hidden=hidden, columns=columns)


def _names(outputs: tuple[OutputColumn, ...], rows: WindowRows) -> Iterator[str | None]:
    """Yields the columns of a SELECT list, None for columns without a known name."""
    for output in outputs:
        name, star = plain_column(output.text), star_of(output.text)
        if star is None:
            yield output.name or (name if name in rows.ends else None)
        else:
            yield from (known for known in rows.columns if (known or "").lower() not in star.without)


def _reads(text: str, ends: Mapping[str, str]) -> bool:
    """Returns whether an expression has a word that is the name of a bound."""
    return not {word.lower() for word in re.findall(r"\w+", text)}.isdisjoint(ends)


def groups_of_rows(
    parser: QueryParser, select: Select, emit: Emit | None, stage: QueryStage, names: frozenset[str]
) -> QueryStage | None:
    """Returns the groups of rows by their windows, None if the rows have none or GROUP BY does not name them.

    Raises:
        SqlError: if a part breaks a rule.
    """
    rows = window_rows(stage)
    if rows is None or select.group is None:
        return None
    compiler = WindowCompiler(
        parser,
        select,
        emit,
        None,
        names,
        renamed_time=rows.time,
        window=rows.syntax("GROUP BY", select.span),
        ends=rows.ends,
        conditions=rows.conditions,
    )
    grouped = {plain_name(expr.node, names) for expr in compiler.group.grouped()} & rows.ends.keys()
    if not grouped:
        return None
    if not rows.identified_by(grouped):
        rule = "GROUP BY has both bounds of the windows of CUMULATE"
        raise parser.fail("one bound", rule, "add the other", select.group.span)
    if isinstance(rows.window, Session):
        compiler.check_keys("SESSION", rows.partition, select.span)
    return compiler.compile(rows.stage, next(iter(names), None))
