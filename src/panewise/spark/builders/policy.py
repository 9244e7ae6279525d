"""The fluent API of policy windows (semantics 10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import ColumnLike, SingleInputBuilder
from panewise.spark.builders.upstream_inputs import Source, check_source
from panewise.spark.results.single_input import PolicyResult
from panewise.spec import Aggregate, StreamWindow, WindowListener
from panewise.spec.column_expressions import names_of
from panewise.spec.operators.policy.policies import PartitionEviction, Policy


def policy_windows(df: Source) -> "PolicyBuilder":
    """Begins policy windows over a DataFrame, streaming or batch, or over the result of an operator.

    Args:
        df: the input. A stream needs no watermark.

    Example::

        from panewise.streamwindow import count, time

        result = (
            policy_windows(readings)
            .partition_by("sensor")
            .sliding(count(10), time("1 minute"))
            .clock("10 seconds")
            .agg(F.avg("v").alias("mean"))
        )
        result.write(events=ParquetSink("out/events"), checkpoint="out/checkpoint")

    :func:`panewise.spark.apply` takes a StreamWindow that is made already.

    Source: semantics 10.
    """
    check_source("policy_windows", df)
    return PolicyBuilder({INPUT: df}, {})


@dataclass(frozen=True)
class PolicyBuilder(SingleInputBuilder):
    """The description of policy windows. Every method returns a new description.

    It ends with what an event contains: :meth:`tuples`, :meth:`agg` or :meth:`listen`.
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset(
        {"null_keys", "only_when_full", "skip_unchanged", "flush_on_final"}
    )

    def tumbling(self, evict: Policy) -> Self:
        """Sets windows that evict all their tuples at once.

        Args:
            evict: the eviction policy: count, time, delta or punct.
        """
        return self._with(kind="tumbling", evict=evict, trigger=None)

    def sliding(self, evict: Policy, trigger: Policy | None = None) -> Self:
        """Sets windows that evict their oldest tuples, and emit their contents when the trigger fires.

        Args:
            evict: the eviction policy: count, time or delta.
            trigger: the trigger policy: count, time or delta. Default: count(1).
        """
        return self._with(kind="sliding", evict=evict, trigger=trigger)

    def partition_by(self, *columns: ColumnLike | Sequence[ColumnLike]) -> Self:
        """Sets the columns whose values form a partition, which is a window of its own.

        Default: none, one window. Columns are given one by one or as a list. An expression becomes a column
        of the events, under its alias or the name that Spark gives it.
        """
        return self._once(partition_by=names_of(columns))

    def partition_eviction(self, evict: PartitionEviction) -> Self:
        """Sets the policy that evicts whole partitions: partition_age, partition_count or tuple_count."""
        return self._with(partition_eviction=evict)

    def events(self, *events: str) -> Self:
        """Sets the events that are emitted or, with a listener, that it is called with.

        Default: all; with aggregates EVICTION (tumbling) or TRIGGER (sliding).
        """
        return self._once(events=events)

    def tuples(self, *columns: str) -> PolicyResult:
        """Ends the description with events that contain tuples, and returns the outputs.

        Args:
            columns: the columns of the tuples. Default: all.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if the state store is not RocksDB.
        """
        return apply(self.df, self._spec(columns=columns or None), **self._apply_options)

    def agg(self, *aggregates: Aggregate) -> PolicyResult:
        """Ends the description with aggregates over the tuples of an event, and returns the outputs.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if the state store is not RocksDB.
        """
        if not aggregates:
            raise SpecError(
                "agg()", "an event has one aggregate or more", "give one such as F.count(), or call .tuples()"
            )
        return apply(self.df, self._spec(aggregates=aggregates), **self._apply_options)

    def listen(self, listener: WindowListener, *columns: str) -> PolicyResult:
        """Ends the description with a listener that computes rows from the events, and returns the outputs.

        Args:
            listener: the listener.
            columns: the columns of the tuples that it is given. Default: all.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if the state store is not RocksDB.
        """
        spec = self._spec(listener=listener, columns=columns or None)
        return apply(self.df, spec, **self._apply_options)

    def _spec(self, **contents: Any) -> StreamWindow:
        if "kind" not in self.fields:
            raise SpecError(
                "no window",
                "policy windows are tumbling or sliding",
                "call .tumbling(count(10)) or .sliding(count(10)) before",
            )
        return StreamWindow(**self.fields, **contents)
