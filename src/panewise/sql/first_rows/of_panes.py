"""The first panes of each window, as a stage of a chain."""

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from panewise import functions as F
from panewise.spec import Aggregate, Chain
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.expressions.function_calls import column_name, plain_name, windows_in
from panewise.sql.first_rows.order import ALL_ROWS, order_of
from panewise.sql.first_rows.pattern import Pattern
from panewise.sql.first_rows.row_list import check_distinct, number_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import SelectItem
from panewise.sql.retracted import retracts
from panewise.sql.stages import Place, Ranked, Ties, WindowsStage
from panewise.sql.windows.bound_columns import STRUCT_TEXT
from panewise.sql.windows.chained import ChainCompiler, emitting


def first_panes(
    parser: QueryParser, pattern: Pattern, described: exp.Expr, before: WindowsStage, names: frozenset[str]
) -> WindowsStage | None:
    """Returns the first panes of each window, as a stage of a chain.

    None if a `*` has a column that is no key, aggregate or bound of the panes, as a chain has no others.

    Raises:
        SqlError: if a part breaks a rule.
    """
    chain = ChainCompiler(parser, pattern.inner, pattern.emit, names, before)
    if not _has_all(pattern, chain):
        return None
    partition = described.args.get("partition_by") or ()
    others = [node for node in partition if plain_name(node, names) not in chain.ends]
    keys = [chain.columns.name_of(parser.expr_of(node)) for node in others]
    order = order_of(described, chain.columns, pattern.window)
    listed = list(_listed(pattern, chain))
    check_distinct((name for name, _ in listed), pattern, parser)
    wanted = {name: chain.known[of.lower()] for name, of in listed if of.lower() in chain.known}
    ranked = [name for name, column in wanted.items() if column not in keys]
    n = pattern.n if pattern.ties is None else ALL_ROWS
    aggregates = [F.top_n_by(wanted[name], order, n).alias(name) for name in ranked]
    if not aggregates:
        aggregates = [F.top_n_by(order[0].column, order, n).alias("first")]
    lists, ties = tuple(aggregate.name for aggregate in aggregates), _ties(pattern, len(order))
    for name, column in zip(() if ties is None else ties.lists, order, strict=ties is not None):
        aggregates.append(F.top_n_by(column.column, order, n).alias(name))
    spec = _spec(parser, pattern, before, keys, aggregates)
    constants = {name: in_backticks(column) for name, column in wanted.items() if column in keys}
    constants |= {name: _bound(of, chain) for name, of in listed if of.lower() in chain.ends}
    places: dict[str, Place] = dict.fromkeys(ranked, 1) | dict.fromkeys(constants, "other")
    order_of_columns = tuple(places.get(name, "rank") for name, _ in listed)
    rows = Ranked(lists, pattern.rank, tuple(constants.items()), retracts(spec), ties, order_of_columns)
    return replace(before, spec=spec, outputs=(), ranked=rows, naming=("", ""))


def _bound(name: str, chain: ChainCompiler) -> str:
    """Returns a bound over panes of a chain, which have no struct of both bounds."""
    text = chain.ends[name.lower()]
    return STRUCT_TEXT if text.strip("`") == chain.before.struct else text


def _spec(
    parser: QueryParser, pattern: Pattern, before: WindowsStage, keys: list[str], aggregates: list[Aggregate]
) -> Chain:
    with parser.placing(parser.span_of(pattern.window)):
        return emitting(before.spec, pattern.emit, parser).then(keys=keys, aggregates=aggregates)


def _ties(pattern: Pattern, count: int) -> Ties | None:
    """Returns how equal rows are ranked: by lists of the values of the order."""
    ties = pattern.ties
    return None if ties is None else replace(ties, lists=tuple(f"order {number}" for number in range(count)))


def _has_all(pattern: Pattern, chain: ChainCompiler) -> bool:
    """Returns whether the chain has all columns that a `*` stands for."""
    stars = [item for item in pattern.inner.items if item.is_star]
    columns = {name.lower() for item in stars for name in _columns_of_star(item, chain)}
    return columns <= {*chain.known, *chain.ends}


def _columns_of_star(item: SelectItem, chain: ChainCompiler) -> list[str]:
    star = star_of(chain.parser.characters(item.expr.span))
    without = frozenset[str]() if star is None else star.without
    names = (output.name or "" for output in chain.before.outputs)
    return [name for name in names if name.lower() not in without]


def _listed(pattern: Pattern, chain: ChainCompiler) -> Iterator[tuple[str, str]]:
    """Yields the columns of the inner SELECT: their names, and the names that they have in the panes.

    The number has no name in the panes. It comes last if only the condition reads it.
    """
    for item in pattern.inner.items:
        name = column_name(item.expr.node, chain.columns.aliases) or ""
        if item.is_star:
            yield from ((column, column) for column in _columns_of_star(item, chain))
        elif windows_in(item.expr.node):
            rank = number_of(item, pattern, chain.parser)
            yield from () if rank is None else ((rank, ""),)
        else:
            if name.lower() not in chain.ends:
                chain.columns.name_of(item.expr)  # which refuses what is no column of the panes
            yield item.alias or name, name
    if pattern.hidden:
        yield pattern.rank or "", ""
