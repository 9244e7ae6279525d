"""The rows of a result between two operators: filtered, and with computed columns (semantics 42.8).

Besides rows, the first operator emits reports for the second one, which are rows without values
(:mod:`panewise.spark.builders.upstream_inputs`). Each step passes them on as they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as SF

from panewise.errors import SpecError
from panewise.spark.inputs.checks import own_columns, same_name
from panewise.spark.inputs.names import column_named
from panewise.spark.shuffle.reports import PROGRESS

if TYPE_CHECKING:
    from panewise.spark.results.operator_result import OperatorResult


@dataclass(frozen=True)
class ResultRows:
    """The rows of a result, filtered and with computed columns, as the input of another operator.

    Every method returns new rows. They are computed in the query of the operator that takes them, between
    both operators, so they need no state.

    Example::

        hours = windowed(df, "ts").groupBy("k").window(pw.Tumbling("1 hour")).options(timestamp="end")
        busy = hours.agg(F.count().alias("n")).where("n > 10")
        windowed(busy, "timestamp").window(pw.Tumbling("1 day")).agg(F.count().alias("busy"))

    Attributes:
        result: the outputs of the first operator.
        steps: the functions that make the rows.
        computed: the names of the columns that a step has computed.

    Source: semantics 42.8.
    """

    result: "OperatorResult"
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = ()
    computed: frozenset[str] = frozenset()

    def where(self, condition: Column | str) -> "ResultRows":
        """Returns the rows for which a condition is true, like PySpark's `where`."""
        test = SF.expr(condition) if isinstance(condition, str) else condition

        def step(df: DataFrame) -> DataFrame:
            return df.where(test | SF.col(PROGRESS).isNotNull() if PROGRESS in df.columns else test)

        return replace(self, steps=(*self.steps, step))

    def withColumn(self, name: str, column: Column) -> "ResultRows":  # noqa: N802 - PySpark's name
        """Adds or replaces one column, like PySpark's `withColumn`."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Column]) -> "ResultRows":  # noqa: N802 - PySpark's name
        """Adds or replaces columns, like PySpark's `withColumns`."""

        def step(df: DataFrame) -> DataFrame:
            return df.withColumns({name: _of_rows(df, column) for name, column in columns.items()})

        return replace(self, steps=(*self.steps, step), computed=self.computed | {*columns})

    def select(self, *columns: Column | str) -> "ResultRows":
        """Returns the rows with these columns only, like PySpark's `select`. A string is a column name.

        The column of the event time has to be selected, by its name.
        """

        def step(df: DataFrame) -> DataFrame:
            wanted = [_named(df, column) for column in columns]
            return df.select(*wanted, PROGRESS) if PROGRESS in df.columns else df.select(*wanted)

        return replace(self, steps=(*self.steps, step))

    def of(self, df: DataFrame, time: str | None) -> DataFrame:
        """Returns these rows, made from those of the result, whose event time is in the column `time`.

        Raises:
            SpecError: if the column is missing, or a step has computed it.
        """
        rows_of_steps = reduce(lambda rows, step: step(rows), self.steps, df)
        if time is None:
            return rows_of_steps
        same = same_name(df)
        if time not in own_columns(rows_of_steps) or same(time) in map(same, self.computed):
            rule = f"the column {time} is the event time of these rows, and stays unchanged (semantics 42.8)"
            remedy = f"select {time!r} by name, unchanged"
            raise SpecError(f"rows without {time!r} as it was emitted", rule, remedy)
        return rows_of_steps


def _named(df: DataFrame, column: Column | str) -> Column:
    """Returns a column of a selection under its name."""
    if isinstance(column, str):
        return column_named(column)
    name: Any = df.select(column).columns[0]
    return _of_rows(df, column).alias(name)


def _of_rows(df: DataFrame, column: Column) -> Column:
    """Returns a column that is computed for rows, and is null for reports."""
    return SF.when(SF.col(PROGRESS).isNull(), column) if PROGRESS in df.columns else column
