"""A SELECT list over the rows of a result, and its description."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as SF

from panewise.spark.columns.schemas import column_names, schema_of
from panewise.spark.queries.selection import Selection
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.shuffle.reports import PROGRESS
from panewise.spec.column_expressions import Expression
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.expressions.stars import check_left_out
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import Computed, OutputColumn, Ranked, Ties
from panewise.sql.text.pieces import one_line


def selected(rows: ResultRows, outputs: Iterable[OutputColumn]) -> ResultRows:
    """Returns rows with these columns, as `ResultRows.select` does.

    Spark is not called for names that are known, and a plain column stays as it is, also in reports.
    """
    columns = tuple(outputs)
    if any(map(is_star, columns)):
        return replace(rows, steps=(*rows.steps, lambda df: Selection(tuple(_listed(df, columns)))(df)))
    if any(output.name is None for output in columns):
        return rows.select(*map(column_of, columns))
    selection = Selection(tuple((output.text, str(output.name)) for output in columns))
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = (*rows.steps, selection)
    return replace(rows, steps=steps)


def _listed(df: DataFrame, outputs: Iterable[OutputColumn]) -> Iterator[tuple[str, str]]:
    """Yields the expressions of a SELECT list with their names. Columns stand for `*`."""
    for output in outputs:
        star = star_of(output.text)
        if star is None:
            yield output.text, output.name or df.selectExpr(output.text).columns[0]
            continue
        check_left_out(output.original, column_names(df))
        left_out = {PROGRESS, *star.without}
        yield from ((in_backticks(name), name) for name in column_names(df) if name.lower() not in left_out)


def column_of(output: OutputColumn) -> Column:
    """Returns the column of Spark for one of a SELECT list."""
    column = SF.expr(output.text)
    return column if output.name is None else column.alias(output.name)


def expression_of(computed: Computed) -> Expression:
    """Returns a computed column as the operator takes it: late rows do not contain it."""
    return Expression(computed.name, "column", (SF.expr(computed.text).alias(computed.name),))


def ranked_rows(df: DataFrame, ranked: Ranked) -> DataFrame:
    """Returns a row for each place of the lists of each pane. Reports, which have no lists, stay."""
    ties, reports = ranked.ties, _has_reports(df)
    rows = SF.col(ranked.lists[0]) if ranked.of_structs else _zipped(ranked.lists)
    explode = SF.posexplode_outer if reports else SF.posexplode
    exploded = df.select("*", explode(rows).alias("place", "row"))
    if reports:
        exploded = exploded.where(SF.col("place").isNotNull() | SF.col(PROGRESS).isNotNull())
    if ties is not None:
        exploded = _with_ties(exploded, ties, _orders(ties, rows))
    others = [SF.expr(text).alias(name) for name, text in ranked.others]
    rank = [] if ranked.rank is None else [(SF.col("place") + 1).cast("bigint").alias(ranked.rank)]
    more = map(SF.col, [*(["op"] if ranked.retracts else []), *([PROGRESS] if reports else [])])
    return exploded.select(*ranked.in_order(_fields(df, ranked), others, rank), *more)


def _has_reports(df: DataFrame) -> bool:
    return PROGRESS in column_names(df)


def _fields(df: DataFrame, ranked: Ranked) -> list[Column]:
    """Returns the fields of the elements of the lists."""
    rows: Any = schema_of(df)[ranked.lists[0]].dataType if ranked.of_structs else None
    names = ranked.listed(() if rows is None else rows.elementType.names)
    return [SF.col("row").getField(name).alias(name) for name in names]


def _with_ties(df: DataFrame, ties: Ties, orders: Column) -> DataFrame:
    """Returns the rows of the first n ranks, where equal rows have equal ranks.

    The lists are sorted. So the rank of a row is the first place of its values.
    """
    own = SF.element_at(orders, SF.col("place") + 1)
    known = SF.array_distinct(orders) if ties.function == "dense_rank" else orders
    placed = df.withColumn("place", SF.array_position(known, own) - 1)
    among = SF.col("place") < ties.n
    return placed.where(among | SF.col(PROGRESS).isNotNull() if _has_reports(df) else among)


def _orders(ties: Ties, rows: Column) -> Column:
    """Returns the list of the values by which the rows are ranked."""
    return _zipped(ties.lists) if ties.lists else SF.transform(rows, lambda row: row[ties.field])


def _zipped(lists: Iterable[str]) -> Column:
    """Returns lists as one list of structs."""
    return SF.arrays_zip(*(SF.col(in_backticks(name)) for name in lists))


def words_of(
    outputs: tuple[OutputColumn, ...] | None, computed: tuple[Computed, ...] = (), having: str | None = None
) -> str:
    """Returns a description of what Spark computes from the rows of a stage."""
    lines = []
    if computed:
        lines.append(
            f"SQL: before the operator Spark computes {', '.join(column.name for column in computed)}."
        )
    if having:
        lines.append(f"SQL: a condition selects the emitted rows: {one_line(having)}.")
    if outputs is not None:
        shown = ", ".join(
            f"{one_line(column.text)} AS {column.name}" if column.name else column.text for column in outputs
        )
        lines.append(f"SQL: the columns are {shown}.")
    return "\n".join(lines)
