"""Panes with lists as rows in process: one for each place of a Top-N."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from panewise.engine.kernels.column_types import Dtypes
from panewise.sql.stages import Ranked
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_selection import check_names

_PLACE: Final = "place of the row"


def ranking(ranked: Ranked, emitted: Dtypes) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Returns the function that makes rows of the places of the lists of panes."""
    lists, ties = list(ranked.lists), ranked.ties
    scope = Scope(emitted)
    others = [scope.typed(text).expr.alias(f"other {place}") for place, (_, text) in enumerate(ranked.others)]
    named = [pl.col(f"other {place}").alias(name) for place, (name, _) in enumerate(ranked.others)]
    rank = [] if ranked.rank is None else [pl.col(_PLACE).alias(ranked.rank)]
    columns = ranked.in_order(_fields(ranked, emitted), named, rank)
    columns += [pl.col("op")] if ranked.retracts else []
    check_names(columns)

    def rows_of(panes: pl.DataFrame) -> pl.DataFrame:
        places = pl.Series(_PLACE, [_places(pane, ranked) for pane in panes.to_dicts()], pl.List(pl.Int64))
        rows = panes.with_columns(*others, places)
        rows = rows.filter(pl.col(lists[0]).list.len() > 0).explode(*lists, _PLACE)
        rows = rows if ties is None else rows.filter(pl.col(_PLACE) <= ties.n)
        return rows.select(columns)

    return rows_of


def _fields(ranked: Ranked, emitted: Dtypes) -> list[pl.Expr]:
    """Returns the columns of the elements of the lists: those of structs are their fields."""
    if not ranked.of_structs:
        return [pl.col(name) for name in ranked.listed(())]
    (rows,) = ranked.lists
    dtype = emitted[rows]
    assert isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct), "the lists have structs"
    names = [field.name for field in dtype.inner.fields]
    return [pl.col(rows).struct.field(name) for name in ranked.listed(names)]


def _places(pane: Mapping[str, Any], ranked: Ranked) -> list[int]:
    """Returns the places of the rows of a pane, from 1. With RANK and DENSE_RANK equal rows have one."""
    ties, first = ranked.ties, pane[ranked.lists[0]] or []
    if ties is None:
        return list(range(1, len(first) + 1))
    if ties.lists:
        orders = list(zip(*(pane[name] or [] for name in ties.lists), strict=True))
    else:
        orders = [row[ties.field] for row in first]
    different = [order for number, order in enumerate(orders) if order not in orders[:number]]
    places = different if ties.function == "dense_rank" else orders
    return [places.index(order) + 1 for order in orders]
