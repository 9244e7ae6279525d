"""A SELECT list over the rows of a result, and its description."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as SF

from panewise.spark.queries.selection import Selection
from panewise.spark.results.rows_between import ResultRows
from panewise.spec.aggregates.expressions import Expression
from panewise.sql.stages import Computed, OutputColumn, Ranked, Ties
from panewise.sql.texts import one_line, quoted


def selected(rows: ResultRows, outputs: Iterable[OutputColumn]) -> ResultRows:
    """Returns rows with these columns, as `ResultRows.select` does.

    Spark is not called for names that are known, and a plain column stays as it is, also in reports.
    """
    columns = tuple(outputs)
    if any(output.name is None for output in columns):
        return rows.select(*map(column_of, columns))
    selection = Selection(tuple((output.text, str(output.name)) for output in columns))
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = (*rows.steps, selection)
    return replace(rows, steps=steps)


def column_of(output: OutputColumn) -> Column:
    """Returns the column of Spark for one of a SELECT list."""
    column = SF.expr(output.text)
    return column if output.name is None else column.alias(output.name)


def expression_of(computed: Computed) -> Expression:
    """Returns a computed column as the operator takes it: late rows do not contain it."""
    return Expression(computed.name, "column", (SF.expr(computed.text).alias(computed.name),))


def ranked_rows(df: DataFrame, ranked: Ranked) -> DataFrame:
    """Returns a row for each place of the lists of each pane."""
    rows, ties = _structs(ranked.lists), ranked.ties
    exploded = df.select("*", SF.posexplode(rows).alias("place", "row"))
    if ties is not None:
        exploded = _with_ties(exploded, ties, _orders(ties, rows), in_structs=ranked.lists == ("rows",))
    others = [SF.expr(text).alias(name) for name, text in ranked.others]
    rank = [] if ranked.rank is None else [(SF.col("place") + 1).cast("bigint").alias(ranked.rank)]
    columns: list[Column | str] = ["row.*", *others, *rank, *(["op"] if ranked.retracts else [])]
    return exploded.select(*columns)


def _with_ties(df: DataFrame, ties: Ties, orders: Column, *, in_structs: bool) -> DataFrame:
    """Returns the rows of the first n ranks, where equal rows have equal ranks.

    The lists are sorted. So the rank of a row is the first place of its values.
    """
    own = SF.element_at(orders, SF.col("place") + 1)
    known = SF.array_distinct(orders) if ties.function == "dense_rank" else orders
    placed = df.withColumn("place", SF.array_position(known, own) - 1).where(SF.col("place") < ties.n)
    return placed.withColumn("row", SF.col("row").dropFields(ties.field)) if in_structs else placed


def _structs(lists: tuple[str, ...]) -> Column:
    """Returns the lists as one list of structs."""
    if lists == ("rows",):
        return SF.col("rows")
    return SF.arrays_zip(*(SF.col(quoted(name)) for name in lists))


def _orders(ties: Ties, rows: Column) -> Column:
    """Returns the list of the values by which the rows are ranked."""
    return _structs(ties.lists) if ties.lists else SF.transform(rows, lambda row: row[ties.field])


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
