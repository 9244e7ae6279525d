"""What the outputs of all operator families have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame

from panewise.errors import SetupError, SpecError
from panewise.spark.dataflow import Dataflow, unpacked
from panewise.spark.emitted import emitted
from panewise.spark.envelope import kind_of, port_of
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.sinks import Sink, check_sinks
from panewise.spark.static_side import check_output
from panewise.spark.timely import timely_column, with_watermark_of_query
from panewise.spark.writer import WindowQuery, WriteOptions, start
from panewise.spec import Specification
from panewise.spec.describe import describe


@dataclass(frozen=True)
class Given:
    """What `apply` was called with.

    Attributes:
        spec: the specification, which may contain expressions.
        apply_again: a function that applies another specification to the same input, with the same options.
    """

    spec: Specification
    apply_again: Callable[[Specification], Any]


@dataclass(frozen=True)
class OperatorResult:
    """The outputs of an operator.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.

    Attributes:
        spec: the specification, with names in the place of expressions.
        dataflow: the operator as a Spark plan.
        at_end: whether the end of a stream ends the input.
        given: what `apply` was called with.
    """

    OUTPUT: ClassVar[str] = "panes"  # what the family calls its first output

    spec: Specification
    dataflow: Dataflow
    at_end: bool
    given: Given

    def explain(self) -> str:
        """Returns a description in words of what is emitted and when."""
        return describe(self.spec)

    def where(self, condition: Column | str) -> ResultRows:
        """Returns the rows of the first output for which a condition is true, as an input of an operator.

        Example::

            busy = hourly.where("n > 10")
            windowed(busy, "timestamp").window(pw.Tumbling("1 day")).agg(F.count().alias("busy"))

        Source: semantics 42.8; SQL's HAVING.
        """
        return ResultRows(self).where(condition)

    def select(self, *columns: Column | str) -> ResultRows:
        """Returns the rows of the first output with these columns, as an input of another operator.

        See :class:`panewise.spark.ResultRows`.
        """
        return ResultRows(self).select(*columns)

    def withColumn(self, name: str, column: Column) -> ResultRows:  # noqa: N802 - PySpark's name
        """Returns the rows of the first output with one more column, as an input of another operator.

        See :class:`panewise.spark.ResultRows`.
        """
        return ResultRows(self).withColumn(name, column)

    def withColumns(self, columns: Mapping[str, Column]) -> ResultRows:  # noqa: N802 - PySpark's name
        """Returns the rows of the first output with more columns, as an input of another operator.

        See :class:`panewise.spark.ResultRows`.
        """
        return ResultRows(self).withColumns(columns)

    def _write(self, sinks: Mapping[str, Sink | None], options: WriteOptions) -> WindowQuery:
        """Starts a query that writes outputs; `sinks` are by the kinds of envelopes, None for no sink."""
        given = {kind: sink for kind, sink in sinks.items() if sink is not None}
        for kind in given:
            check_output(port_of(kind), kind_of(kind), self.dataflow.static)
        check_sinks({self._argument(kind): sink for kind, sink in given.items()}, self.OUTPUT)
        if self.at_end and self.dataflow.df.isStreaming and not options.available_now:
            raise SpecError(
                "finish='at_end' without available_now",
                "only a run that ends can end its input",
                "give available_now=True",
            )
        return start(self.dataflow, given, options, at_end=self.at_end)

    def _argument(self, kind: str) -> str:
        """Returns the name that an output has in `write`, given its kind of envelopes."""
        return self.OUTPUT if kind == "panes" else kind

    def _alone(self, kind: str, *, whole_rows: bool) -> DataFrame:
        """Returns one kind of output as a query of its own."""
        dataflow = self.dataflow
        check_output(port_of(kind), kind_of(kind), dataflow.static)
        if dataflow.df.isStreaming and self.at_end:
            raise SetupError(
                "finish='at_end' without write()",
                "only write() can end the input of a stream",
                f"use result.write({self._argument(kind)}=..., checkpoint=..., available_now=True)",
            )
        packed = dataflow.packed(late_wanted=kind_of(kind) == "late", all_columns=whole_rows)
        schemas = dataflow.schemas(all_columns=whole_rows)
        unpack = dataflow.unpacker(kind, all_columns=whole_rows)
        if not dataflow.df.isStreaming:
            return unpacked(dataflow.stepped(packed, schemas), unpack)
        if unpack.flat:
            rows = dataflow.stepped(packed, schemas, direct=unpack)
        else:
            rows = unpacked(dataflow.stepped(packed, schemas), unpack)
        column = timely_column(dataflow) if kind == "panes" else None
        return emitted(rows if column is None else with_watermark_of_query(rows, column), column)
