"""The outputs of OVER operators."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, overload

from pyspark.sql import Column, DataFrame

from panewise.errors import SpecError
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.results.single_input import SingleInputResult
from panewise.spec import Over, OverOperator, WindowSpec, over_operator


@dataclass(frozen=True, repr=False)
class OverResult(SingleInputResult):
    """The outputs of an OVER operator.

    Attributes:
        new_columns: the new columns, if :class:`panewise.spark.OverBuilder` made the specification.
        fields: the other arguments of `over_operator` that made it.
    """

    OUTPUT: ClassVar[str] = "rows"

    spec: OverOperator
    new_columns: Mapping[str, Over] | None = None
    fields: Mapping[str, Any] | None = None

    @cached_property
    def rows(self) -> DataFrame:
        """The OVER rows: each input row once, with the new columns. This query only counts late rows."""
        return self._alone("panes")

    @overload
    def withColumn(self, name: str, column: Over) -> "OverResult": ...

    @overload
    def withColumn(self, name: str, column: Column) -> ResultRows: ...

    def withColumn(self, name: str, column: Over | Column) -> "OverResult | ResultRows":  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        if isinstance(column, Over):
            return self.withColumns({name: column})
        return super().withColumn(name, column)

    @overload
    def withColumns(self, columns: Mapping[str, Over]) -> "OverResult": ...

    @overload
    def withColumns(self, columns: Mapping[str, Column]) -> ResultRows: ...

    def withColumns(self, columns: Mapping[str, Any]) -> "OverResult | ResultRows":  # noqa: N802 - PySpark's name
        """Returns the outputs with more new columns. One operator computes all of them.

        With Columns of PySpark instead, it returns the rows with these columns, as an input of another
        operator (:class:`panewise.spark.ResultRows`).

        Raises:
            SpecError: if a column reads one of the new columns, or as
                :meth:`panewise.spark.OverBuilder.withColumns` does.
        """
        if columns and not any(isinstance(column, Over) for column in columns.values()):
            return super().withColumns(columns)
        known, fields = self._description()
        for name, column in columns.items():
            if name in known:
                rule = "new columns have different names, so that none is lost (semantics 35.8)"
                raise SpecError(f"new column {name!r} twice", rule, "give one of them another name")
            read = column.what.columns if isinstance(column, Over) else ()
            new = [read_name for read_name in read if read_name in known]
            if new:
                raise SpecError(
                    f"{name!r} reads {new[0]!r}, a new column",
                    "the new columns of an operator are computed from those of its input",
                    "compute it in a second operator, as in over(result)",
                )
        together = {**known, **columns}
        result: OverResult = self.given.apply_again(over_operator(together, **fields))
        return replace(result, new_columns=together, fields=fields)

    def _description(self) -> tuple[Mapping[str, Over], Mapping[str, Any]]:
        """Returns the arguments of `over_operator` that make the specification."""
        spec = self.given.spec
        if self.new_columns is not None and self.fields is not None:
            return self.new_columns, self.fields
        assert isinstance(spec, OverOperator)
        timed = spec.event_time is not None
        window = WindowSpec(spec.keys, (spec.event_time, *spec.order) if spec.event_time is not None else ())
        window = replace(window, descending=spec.descending, nulls_last=spec.nulls_last)
        columns = {
            column.name: Over(column.what, replace(window, frame=column.frame)) for column in spec.columns
        }
        names = ("position", "null_keys", "max_future_skew", "watermark", *(() if timed else ("order",)))
        return columns, {name: getattr(spec, name) for name in names}
