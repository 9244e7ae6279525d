"""The fluent API of deduplication (semantics 45)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pyspark.sql import DataFrame

from panewise.chrono import DurationLike
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import ColumnLike, EventTimeBuilder
from panewise.spark.builders.upstream_inputs import Source, check_source, default_time, watermarked_column
from panewise.spark.results.single_input import DeduplicateResult
from panewise.spec import DeduplicateOperator
from panewise.spec.column_expressions import Expression, name_of, names_of
from panewise.spec.operators.deduplicate import By, Emit, Keep


def deduplicate(df: Source, event_time: ColumnLike | None = "event_time") -> "DeduplicateBuilder":
    """Begins a deduplication of a DataFrame, streaming or batch, or of the result of another operator.

    Args:
        df: the input: a DataFrame, or the result of another operator. A stream needs a watermark: call
            `withWatermark`, or .watermark(...). For a result, the watermark is the output watermark of that
            operator (semantics 42.5).
        event_time: the name of the column of the event time, a TIMESTAMP. Default: "event_time" for a
            DataFrame, or the column that has the watermark if the stream has no column "event_time"; for a
            result the column of its event time. None: there is no event time, which requires
            .within("unlimited").

    Example::

        result = deduplicate(df.withWatermark("ts", "10 minutes"), "ts").on("event_id").within("1 hour")
        result.rows  # the first row of each event_id within an hour

    Source: semantics 45; Spark's dropDuplicatesWithinWatermark.
    """
    check_source("deduplicate", df)
    time = name_of(event_time)
    _check_is_column("event_time=", time)
    if time == "event_time":
        time = watermarked_column(df) or time if isinstance(df, DataFrame) else default_time(df)
    return DeduplicateBuilder({INPUT: df}, {"event_time": time})


@dataclass(frozen=True)
class DeduplicateBuilder(EventTimeBuilder):
    """The description of a deduplication.

    Every method returns a new description. The last method to call is :meth:`within`, which returns the
    outputs.
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset({"null_keys", "max_future_skew"})

    def on(self, *columns: ColumnLike | Sequence[ColumnLike]) -> Self:
        """Sets the keys. Only rows that are equal in all of these columns are duplicates.

        Args:
            columns: names, or Columns that only name one, one by one or as a list, as in PySpark.

        Raises:
            SpecError: for an expression, because the emitted rows have no column for it.
        """
        names = names_of(columns)
        for name in names:
            _check_is_column("on", name)
        return self._once(keys=names)

    def within(
        self,
        duration: DurationLike | Literal["unlimited"],
        *,
        keep: Keep = "first",
        by: By = "arrival",
        emit: Emit | None = None,
    ) -> DeduplicateResult:
        """Ends the description, and returns the outputs.

        Args:
            duration: the limit of the distance of duplicates, in event time. A row that is this far away, or
                farther, is no duplicate. With "unlimited" there is no limit, and state is never deleted.
                An int is in microseconds.
            keep: as in :class:`panewise.DeduplicateOperator`.
            by: as in :class:`panewise.DeduplicateOperator`.
            emit: as in :class:`panewise.DeduplicateOperator`.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the input's columns.
            SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        if "keys" not in self.fields:
            rule = "rows are duplicates if they are equal in the keys"
            raise SpecError("deduplicate(...).within(...) without keys", rule, "call .on(...) before it")
        spec = DeduplicateOperator(within=duration, keep=keep, by=by, emit=emit, **self.fields)
        return apply(self.df, spec, **self._apply_options)


def _check_is_column(what: str, name: Any) -> None:
    """Refuses an expression, for which the emitted rows have no column."""
    if isinstance(name, Expression):
        rule = "keys and event time of a deduplication are columns of its input, whose rows it emits"
        raise SpecError(f"{what}({str(name)!r})", rule, "add the column with withColumn before")
