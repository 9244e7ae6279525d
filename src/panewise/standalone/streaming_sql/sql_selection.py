"""SELECT lists and conditions in process, as expressions of Polars."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from panewise.engine.kernels.column_types import Dtypes
from panewise.errors import SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.column_syntax import generates, star_of
from panewise.sql.expressions.expression_tree import CallNode, tree_of
from panewise.sql.expressions.spark_names import output_name
from panewise.sql.expressions.stars import check_left_out, names_before_star
from panewise.sql.stages import OutputColumn
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_typed import Typed, check_types_of, refusal

_NUMBER: Final = "\0"  # which no text of SQL can name
ELEMENT: Final = "element of a list"  # the column that explode makes


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
        fields = _fields(scope, output.text)
        check_left_out(
            output.original,
            scope.columns if fields is None else (field.meta.output_name() for field in fields),
        )
        if fields is not None:
            columns += [field for field in fields if field.meta.output_name().lower() not in star.without]
            continue
        names = (name for name in scope.columns if name not in hidden and name.lower() not in star.without)
        columns += map(pl.col, names)
    return columns


def exploded_list(scope: Scope, outputs: Sequence[OutputColumn]) -> Typed | None:
    """Returns the list of `explode(list)` in a SELECT list, None if there is none.

    Raises:
        SqlError: if there are two, or it is no list.
    """
    lists = [tree.arguments for output in outputs if (tree := _explode(output)) is not None]
    if not lists:
        return None
    if len(lists) > 1 or len(lists[0]) != 1:
        raise refusal("explode", "a SELECT list has one call of explode, with one array")
    value = scope.typed_node(lists[0][0])
    check_types_of("explode", [value], accepted=isinstance(value.dtype, pl.List), rule="it takes a list")
    return value


def after_explode(
    scope: Scope, outputs: Sequence[OutputColumn], elements: Typed
) -> tuple[Scope, tuple[OutputColumn, ...]]:
    """Returns the rows with an element of a list each, and the SELECT list over them."""
    assert isinstance(elements.dtype, pl.List), "a list"
    columns = {**scope.columns, ELEMENT: pl.Series(dtype=elements.dtype.inner).dtype}
    element = in_backticks(ELEMENT)
    listed = (
        output if _explode(output) is None else replace(output, text=element, name=output.name or "col")
        for output in outputs
    )
    return replace(scope, columns=columns), tuple(listed)


def _explode(output: OutputColumn) -> CallNode | None:
    """Returns the call of explode that an expression of a SELECT list is, None for another one."""
    tree = tree_of(output.text) if generates(output.text) else None
    return tree if isinstance(tree, CallNode) and tree.name == "explode" else None


def _fields(scope: Scope, star: str) -> list[pl.Expr] | None:
    """Returns the fields of a struct for `s.*`, None for the columns of the table."""
    names = names_before_star(star)
    columns = {name.lower(): dtype for name, dtype in scope.columns.items()}
    alias = (scope.alias or "").lower()
    if not names or names == (alias,) or not isinstance(columns.get(names[-1]), pl.Struct):
        return None
    value = scope.typed(".".join(map(in_backticks, names)))
    fields = value.dtype.fields if isinstance(value.dtype, pl.Struct) else []
    return [value.expr.struct.field(field.name) for field in fields]


def schema_of(schema: Dtypes, columns: list[pl.Expr] | None) -> Dtypes:
    """Returns the columns of a SELECT list."""
    if columns is None:
        return dict(schema)
    check_names(columns)
    return dict(pl.LazyFrame(schema=schema).select(columns).collect_schema())


def check_names(columns: Sequence[pl.Expr]) -> None:
    """Refuses two columns of one name.

    Raises:
        SqlError: if there are some.
    """
    names = [column.meta.output_name() for column in columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        rule = "in process each column has a name of its own"
        remedy = "give one of them another name with AS, also in the place of `*`"
        raise SqlError(f"two columns {twice}", rule, remedy)


def shaped(rows: pl.DataFrame, where: pl.Expr | None, columns: list[pl.Expr] | None) -> pl.DataFrame:
    """Returns the rows for which a condition is true, with the columns of a SELECT list."""
    rows = rows if where is None else rows.filter(where)
    if columns is None:
        return rows
    if not rows.height:
        return rows.clear().select(columns).clear()
    # Polars makes one row of constants alone, so a column with a value for each row stands beside them.
    return rows.select(pl.int_range(pl.len()).alias(_NUMBER), *columns).drop(_NUMBER)
