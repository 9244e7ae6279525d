"""The fluent API of deduplication (semantics 45)."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pyspark.sql import DataFrame

from panewise.chrono import DurationLike
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import EventTimeBuilder
from panewise.spark.builders.upstream_inputs import Source, default_time
from panewise.spark.results.single_input import DeduplicateResult
from panewise.spec import DeduplicateOperator
from panewise.spec.operators.deduplicate import By, Emit, Keep


def deduplicate(df: Source, event_time: str | None = "event_time") -> "DeduplicateBuilder":
    """Begins a deduplication of a DataFrame, streaming or batch, or of the result of another operator.

    Args:
        df: the input: a DataFrame, or the result of another operator. A stream needs a watermark: call
            `withWatermark`, or .watermark(...). For a result, the watermark is the output watermark of that
            operator (semantics 42.5).
        event_time: the name of the column of the event time, a TIMESTAMP. Default: "event_time" for a
            DataFrame, for a result the column of its event time. None: there is no event time, which requires
            .within("unlimited").

    Example::

        result = deduplicate(df.withWatermark("ts", "10 minutes"), "ts").on("event_id").within("1 hour")
        result.rows  # the first row of each event_id within an hour

    Source: semantics 45; Spark's dropDuplicatesWithinWatermark.
    """
    if event_time == "event_time" and not isinstance(df, DataFrame):
        event_time = default_time(df)
    return DeduplicateBuilder({INPUT: df}, {"event_time": event_time})


@dataclass(frozen=True)
class DeduplicateBuilder(EventTimeBuilder):
    """The description of a deduplication.

    Every method returns a new description. The last method to call is :meth:`within`, which returns the
    outputs.
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset({"null_keys", "max_future_skew"})

    def on(self, *columns: str) -> Self:
        """Sets the keys. Only rows that are equal in all of these columns are duplicates."""
        return self._once(keys=columns)

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
