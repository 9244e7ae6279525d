"""The first panes of each window, as a stage of a chain."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from panewise import functions as F
from panewise.spec import Chain
from panewise.spec.conditions.text import in_backticks
from panewise.sql.bound_columns import STRUCT_TEXT
from panewise.sql.chained import ChainCompiler, emitting
from panewise.sql.function_calls import column_name, plain_name
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.stages import Ranked, WindowsStage
from panewise.sql.top_n.order import ALL_ROWS, order_of
from panewise.sql.top_n.pattern import Pattern, is_row_number
from panewise.sql.windows import retracts


def first_panes(
    parser: QueryParser, pattern: Pattern, described: exp.Expr, before: WindowsStage, names: frozenset[str]
) -> WindowsStage:
    """Returns the first panes of each window, as a stage of a chain.

    Raises:
        SqlError: if a part breaks a rule.
    """
    chain = ChainCompiler(parser, pattern.inner, pattern.emit, names, before)
    partition = described.args.get("partition_by") or ()
    others = [node for node in partition if plain_name(node, names) not in chain.ends]
    keys = [chain.columns.name_of(parser.expr_of(node)) for node in others]
    order = order_of(described, chain.columns, pattern.window)
    listed = list(_listed(pattern, chain))
    wanted = {name: chain.known[of.lower()] for name, of in listed if of.lower() in chain.known}
    ranked = [name for name, column in wanted.items() if column not in keys]
    ties = pattern.ties
    n = pattern.n if ties is None else ALL_ROWS
    aggregates = [F.top_n_by(wanted[name], order, n).alias(name) for name in ranked]
    if ties is not None:
        ties = replace(ties, lists=tuple(f"order {number}" for number in range(len(order))))
    if not aggregates:
        aggregates = [F.top_n_by(order[0].column, order, n).alias("first")]
    lists = tuple(aggregate.name for aggregate in aggregates)
    for name, column in zip(() if ties is None else ties.lists, order, strict=ties is not None):
        aggregates.append(F.top_n_by(column.column, order, n).alias(name))
    spec = _spec(parser, pattern, before, {"keys": keys, "aggregates": aggregates})
    constants = tuple((name, in_backticks(column)) for name, column in wanted.items() if column in keys)
    ends = tuple((name, _bound(of, chain)) for name, of in listed if of.lower() in chain.ends)
    shown = tuple(name for name, _ in listed if name)
    rows = Ranked(lists, pattern.rank, (*constants, *ends), retracts(spec), ties, shown)
    return replace(before, spec=spec, outputs=(), ranked=rows, naming=("", ""))


def _bound(name: str, chain: ChainCompiler) -> str:
    """Returns a bound over panes of a chain, which have no struct of both bounds."""
    text = chain.ends[name.lower()]
    return STRUCT_TEXT if text.strip("`") == chain.before.struct else text


def _spec(parser: QueryParser, pattern: Pattern, before: WindowsStage, fields: Mapping[str, Any]) -> Chain:
    with parser.placing(parser.span_of(pattern.window)):
        return emitting(before.spec, pattern.emit, parser).then(**fields)


def _listed(pattern: Pattern, chain: ChainCompiler) -> Iterator[tuple[str, str]]:
    """Yields the columns of the inner SELECT: their names, and the names that they have in the panes.

    The number has no name in the panes, and none at all if it is not selected.
    """
    for item in pattern.inner.items:
        name = column_name(item.expr.node, chain.columns.aliases) or ""
        if item.is_star:
            known = {*chain.known, *chain.ends}
            names = (output.name or "" for output in chain.before.outputs)
            yield from ((column, column) for column in names if column.lower() in known)
        elif is_row_number(item.expr.node):
            yield pattern.rank or "", ""
        else:
            if name.lower() not in chain.ends:
                chain.columns.name_of(item.expr)  # which refuses what is no column of the panes
            yield item.alias or name, name
