"""SELECT lists and conditions in process, as expressions of Polars."""

from collections.abc import Sequence

import polars as pl

from panewise.engine.kernels.column_types import Dtypes
from panewise.errors import SqlError
from panewise.sql.column_syntax import star_of
from panewise.sql.spark_names import output_name
from panewise.sql.stages import OutputColumn
from panewise.standalone.sql_expressions import Scope


def selected(
    scope: Scope, outputs: Sequence[OutputColumn], hidden: frozenset[str] = frozenset()
) -> list[pl.Expr]:
    """Returns the expressions of a SELECT list. `*` has no hidden columns."""
    columns: list[pl.Expr] = []
    for output in outputs:
        star = star_of(output.text)
        if star is None:
            columns.append(scope.typed(output.text).expr.alias(output_name(output)))
            continue
        names = (name for name in scope.columns if name not in hidden and name.lower() not in star.without)
        columns += map(pl.col, names)
    return columns


def schema_of(schema: Dtypes, columns: list[pl.Expr] | None) -> Dtypes:
    """Returns the columns of a SELECT list."""
    if columns is None:
        return dict(schema)
    try:
        return dict(pl.LazyFrame(schema=schema).select(columns).collect_schema())
    except pl.exceptions.DuplicateError:
        names = [column.meta.output_name() for column in columns]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), "")
        rule = "in process each column has a name of its own"
        remedy = "give one of them another name with AS, also in the place of `*`"
        raise SqlError(f"two columns {twice}", rule, remedy) from None


def shaped(rows: pl.DataFrame, where: pl.Expr | None, columns: list[pl.Expr] | None) -> pl.DataFrame:
    """Returns the rows for which a condition is true, with the columns of a SELECT list."""
    rows = rows if where is None else rows.filter(where)
    if columns is None:
        return rows
    return rows.select(columns) if rows.height else rows.clear().select(columns).clear()
