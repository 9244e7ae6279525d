"""A SELECT list over the rows of a result, and its description."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as SF

from panewise.spark.reports import PROGRESS
from panewise.spark.results.rows_between import ResultRows
from panewise.spec.aggregates.expressions import Expression
from panewise.sql.stages import Computed, OutputColumn, Ranked
from panewise.sql.texts import one_line, quoted


def selected(rows: ResultRows, outputs: Iterable[OutputColumn]) -> ResultRows:
    """Returns rows with these columns, as `ResultRows.select` does.

    Spark is not called for names that are known, and a plain column stays as it is, also in reports.
    """
    columns = [(column_of(output), output.name, output.text.strip("`") == output.name) for output in outputs]
    if any(name is None for _, name, _ in columns):
        return rows.select(*(column for column, _, _ in columns))

    def step(df: DataFrame) -> DataFrame:
        if PROGRESS not in df.columns:
            return df.select(*(column for column, _, _ in columns))
        of_row = SF.col(PROGRESS).isNull()
        return df.select(
            *(
                column if plain else SF.when(of_row, column).alias(str(name))
                for column, name, plain in columns
            ),
            PROGRESS,
        )

    steps: tuple[Callable[[DataFrame], DataFrame], ...] = (*rows.steps, step)
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
    lists = ranked.lists
    places = (
        SF.col(quoted(lists[0]))
        if lists == ("rows",)
        else SF.arrays_zip(*(SF.col(quoted(name)) for name in lists))
    )
    exploded = df.select("*", SF.posexplode(places).alias("place", "row"))
    others = [SF.expr(text).alias(name) for name, text in ranked.others]
    rank = [] if ranked.rank is None else [(SF.col("place") + 1).cast("bigint").alias(ranked.rank)]
    return exploded.select("row.*", *others, *rank, *(["op"] if ranked.retracts else []))


def words_of(stage: Any) -> str:
    """Returns a description of what Spark computes from the rows of a stage."""
    lines = []
    computed = getattr(stage, "computed", ())
    if computed:
        lines.append(
            f"SQL: before the operator Spark computes {', '.join(column.name for column in computed)}."
        )
    if getattr(stage, "having", None):
        lines.append(f"SQL: a condition selects the emitted rows: {one_line(stage.having)}.")
    if stage.outputs is not None:
        shown = ", ".join(
            f"{one_line(column.text)} AS {column.name}" if column.name else column.text
            for column in stage.outputs
        )
        lines.append(f"SQL: the columns are {shown}.")
    return "\n".join(lines)
