"""Resolves the columns of a specification as PySpark does, and makes the input of the operator from them.

A specification contains names. By default Spark ignores their case, and it takes expressions in the place of
columns. So the operator reads a DataFrame that is made for it: its columns are spelled as in the
specification, and each expression is a column (semantics 35.1, 35.2).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as SF

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.columns.schemas import column_names
from panewise.spark.inputs.checks import own_columns, same_name
from panewise.spec import Entry, Specification, parts
from panewise.spec.column_expressions import Expression
from panewise.spec.conditions.text import in_backticks

_DISTINCT = (
    "each expression becomes a column of the operator's input, and its name differs "
    "from those of all other columns"
)


@dataclass(frozen=True)
class Input:
    """The DataFrame that the operator reads, and the specification over it.

    `output_names` has the user's columns: it maps the name of each in `df` to the user's name. The other
    columns of `df` were added for expressions. `shape` renames and adds columns in the same way in another
    DataFrame with the user's columns.
    """

    df: DataFrame
    spec: Specification
    output_names: Mapping[str, str]
    shape: Callable[[DataFrame], DataFrame]


def input_of(df: DataFrame, spec: Specification, port: str = INPUT) -> Input:
    """Returns the input of a port, with the spelling of the specification, and expressions as columns."""
    names = dict[str, str]()
    computed = {
        expression: _computed(df, expression, names) for expression in _expressions(df, spec.ports[port])
    }
    _check_names(df, {expression: names[expression] for expression in computed})
    added = {
        names[expression]: column
        for expression, column in computed.items()
        if not _is_plain(df, expression, names[expression])
    }
    for name in added:
        if matches(df, name):
            fault = f"the expression {name!r} has the name of a column"
            raise SpecError(fault, _DISTINCT, "give the expression another .alias(...)")
    if names:
        spec = parts(spec).renamed(spec, port, names)
    spec = parts(spec).with_whole_rows(spec, tuple(own_columns(df))) if added else spec
    spelled = _spelled(df, [name for name in spec.ports[port].columns_read if name not in added])
    output_names = {spelled.get(name, name): name for name in own_columns(df)}

    def shape(df_of_user: DataFrame) -> DataFrame:
        seen = df_of_user.withColumnsRenamed(spelled) if spelled else df_of_user
        return seen.withColumns(added) if added else seen

    return Input(shape(df), spec, output_names, shape)


def column_named(name: str) -> Column:
    """Returns the column of this name, which may contain dots and backticks.

    It takes several calls of the JVM. The name as a text of SQL takes none.
    """
    return SF.col(in_backticks(name))


def matches(df: DataFrame, name: str) -> list[str]:
    """Returns the columns that Spark finds by the name."""
    columns = column_names(df)
    same = str if name in columns else same_name(df)
    return [column for column in columns if same(column) == same(name)]


def _computed(df: DataFrame, part: Any, names: dict[str, str]) -> Column:
    """Returns the pyspark Column of an expression or a name.

    Adds Spark's name of an expression to `names`. It comes from a DataFrame, because the texts of Columns
    differ between classic and Connect sessions.
    """
    if not isinstance(part, Expression):
        column: Column = column_named(part) if isinstance(part, str) else part
        return column
    parts = [_computed(df, inner, names) for inner in part.parts]
    called = [names.get(inner, inner) for inner in part.parts if isinstance(inner, str)]
    if part.kind == "column":
        names[str(part)] = df.select(parts[0]).columns[0]
        return parts[0]
    if part.kind == "filter":
        names[str(part)] = f"CASE WHEN {called[1]} THEN {called[0]} END"
        return SF.when(parts[1], parts[0])
    names[str(part)] = ", ".join(called)
    return SF.when(reduce(and_, (inner.isNotNull() for inner in parts)), SF.struct(*parts))


def _expressions(df: DataFrame, entry: Entry) -> list[Expression]:
    """Returns the expressions that stand in the place of columns, each once."""
    known: dict[str, Expression] = {}
    for value in (*entry.keys, *entry.columns_read):
        if isinstance(value, Expression) and not _same(df, value, known.setdefault(value, value)):
            raise SpecError(f"two expressions {str(value)!r}", _DISTINCT, "give one of them an .alias(...)")
    return list(known.values())


def _same(df: DataFrame, part: Any, other: Any) -> bool:
    """Returns whether two parts of expressions with equal texts are the same."""
    if part is other:
        return True
    if isinstance(part, Expression) and isinstance(other, Expression):
        return part.kind == other.kind and all(map(partial(_same, df), part.parts, other.parts))
    if isinstance(part, Column) and isinstance(other, Column):
        return bool(_plan(df, part) == _plan(df, other))
    return bool(part == other)


def _plan(df: DataFrame, column: Any) -> Any:
    """Returns a value that is equal for equal pyspark Columns: the JVM's column, or Connect's message."""
    return (
        column._jc
        if hasattr(column, "_jc")
        else column.to_plan(df.sparkSession.client).SerializeToString(deterministic=True)
    )


def _check_names(df: DataFrame, names: Mapping[Expression, str]) -> None:
    """Refuses two expressions to which Spark gives one name, such as the fields `id` of two structs."""
    same = same_name(df) if names else str
    seen: dict[str, str] = {}
    for expression, name in names.items():
        if seen.setdefault(same(name), expression) is not expression:
            raise SpecError(
                f"{str(seen[same(name)])!r} and {str(expression)!r}, both {name!r}",
                _DISTINCT,
                "give one of them an .alias(...)",
            )


def _is_plain(df: DataFrame, expression: Expression, name: str) -> bool:
    """Returns whether an expression is only a column, such as a name in backticks."""
    return (
        expression.kind == "column" and str(expression).replace("`", "") == name and name in column_names(df)
    )


def _spelled(df: DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Returns the columns that the specification spells differently, with its spelling.

    A name that no column has is refused later.
    """
    spelled: dict[str, str] = {}
    for name in names:
        matching = matches(df, name)
        if len(matching) > 1:
            raise SpecError(
                f"column {name!r}",
                f"several columns have this name, in this case or another: {matching}",
                "give the spelling of one of these, or rename all but one",
            )
        if matching and spelled.setdefault(matching[0], name) != name:
            rule = "an operator uses one spelling of a column's name"
            raise SpecError(
                f"column {matching[0]!r} as {spelled[matching[0]]!r} and {name!r}",
                rule,
                "use the same spelling everywhere",
            )
    return {column: name for column, name in spelled.items() if column != name}
