"""The fluent API of OVER operators, which emit each row with new columns (semantics 29).

It reads like pyspark.sql.Window.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import ColumnLike, EventTimeBuilder
from panewise.spark.builders.upstream_inputs import Source, check_source, watermarked_column
from panewise.spark.results.over import OverResult
from panewise.spec import Over, OverOperator, over_operator
from panewise.spec.column_expressions import name_of


def over(df: Source, event_time: ColumnLike | None = None) -> "OverBuilder":
    """Begins an OVER operator over a DataFrame, streaming or batch, or over the result of an operator.

    Args:
        df: the input. A stream whose windows have an order needs a watermark: call `withWatermark`, or
            .watermark(...).
        event_time: column of the event time, a TIMESTAMP. Default: the first column of the windows' order. If
            the windows have no order, rows are taken as they arrive, and those of one micro-batch in the
            order of this column.

    Example::

        from panewise import Window, functions as F

        w = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
        columns = {"total": F.sum("v").over(w), "before": F.lag("v", 1).over(w)}
        result = over(df.withWatermark("ts", "10 seconds")).withColumns(columns)
        result.rows  # a row for each row of df

    Source: semantics 29; pyspark.sql.Window.
    """
    check_source("over", df)
    return OverBuilder({INPUT: df}, {} if event_time is None else {"event_time": name_of(event_time)})


@dataclass(frozen=True)
class OverBuilder(EventTimeBuilder):
    """The description of an OVER operator.

    Every method returns a new description. :meth:`withColumns` or :meth:`ordered` ends it.
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset({"null_keys", "max_future_skew"})

    def withColumn(self, name: str, column: Over) -> OverResult:  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Over]) -> OverResult:  # noqa: N802 - PySpark's name
        """Ends the description with the new columns, and returns the outputs.

        The columns are functions over windows that have the same keys and order.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the input's columns.
            SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        result = apply(self.df, over_operator(columns, **self.fields), **self._apply_options)
        return replace(result, new_columns=columns, fields=self.fields)

    def ordered(self, *keys: str) -> OverResult:
        """Ends the description without new columns: rows come in the order of their event time.

        Each row is emitted when the watermark passes its event time. `keys` are the columns whose values have
        an order of their own. Without them all rows have one order, and are in one shard.

        Example::

            over(df.withWatermark("ts", "10 seconds"), "ts").ordered("device").rows

        Raises:
            SpecError: if the description breaks a rule, or names no event time.
            SetupError: as :meth:`withColumns`.

        Source: semantics 29.11; Flink's temporal sort, RisingWave's EMIT ON WINDOW CLOSE.
        """
        fields = {"event_time": watermarked_column(self.df), **self.fields}
        return apply(self.df, OverOperator(keys=keys, **fields), **self._apply_options)
