"""The outputs of operators with one input, except OVER operators."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pyspark.sql import DataFrame

from panewise.spark.results.operator_result import OperatorResult
from panewise.spec import Aggregate, Chain, DeduplicateOperator, StreamWindow, WindowOperator


class OutputsOfInput(ABC):
    """The late rows, the invalid rows and the counts of one input. Each DataFrame is a query of its own."""

    @cached_property
    def late(self) -> DataFrame:
        """The late rows: row STRUCT, reason, windows ARRAY, late_by (microseconds), partial BOOLEAN.

        `windows` are the windows that the row missed, and `partial` is true if it was applied to others.
        Joins without windows have an empty array, and false.

        Source: semantics 13.4, 36.4, 37.11, 43.1.
        """
        return self._of_input("late")

    @cached_property
    def invalid(self) -> DataFrame:
        """The invalid rows: row STRUCT, reason (semantics 15)."""
        return self._of_input("invalid")

    @cached_property
    def counts(self) -> DataFrame:
        """The numbers of rows in, applied, replayed, late and invalid (semantics 15.1).

        There is one row for each shard and micro-batch.
        """
        return self._of_input("counts")

    @abstractmethod
    def _of_input(self, kind: str) -> DataFrame:
        """Returns one kind of output as a query of its own."""


@dataclass(frozen=True, repr=False)
class SingleInputResult(OutputsOfInput, OperatorResult):
    """The outputs of an operator with one input: its emitted rows, late rows, invalid rows and counts."""

    def _of_input(self, kind: str) -> DataFrame:
        return self._alone(kind)


@dataclass(frozen=True, repr=False)
class WindowResult(SingleInputResult):
    """The outputs of a window operator or a chain."""

    spec: WindowOperator | Chain

    @cached_property
    def panes(self) -> DataFrame:
        """The panes: keys, window_start, window_end, aggregates, timing, index and others (semantics 20).

        This query only counts late rows. :attr:`late` and :meth:`write` return them.
        """
        return self._alone("panes")

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "WindowResult":
        """Returns the outputs of a chain with one more stage, whose rows are these panes (semantics 30).

        Example::

            hourly = windowed(df, "ts").groupBy("origin", "carrier").window(pw.Tumbling("1 hour"))
            by_carrier = hourly.agg(F.count().alias("flights"))
            sums = [F.sum("flights").alias("flights"), F.max("flights").alias("most")]
            by_origin = by_carrier.then(keys=["origin"], aggregates=sums)

        Raises:
            SpecError: if the stage breaks a rule.
        """
        return self._with_spec(self.spec.then(keys=keys, aggregates=aggregates))


@dataclass(frozen=True, repr=False)
class DeduplicateResult(SingleInputResult):
    """The outputs of a deduplication."""

    OUTPUT: ClassVar[str] = "rows"

    spec: DeduplicateOperator

    @cached_property
    def rows(self) -> DataFrame:
        """The chosen rows with all their columns. With emit="retracting" also retractions, and a column `op`.

        This query only counts late rows. :attr:`late` and :meth:`write` return them.
        """
        return self._alone("panes")


@dataclass(frozen=True, repr=False)
class PolicyResult(SingleInputResult):
    """The outputs of policy windows. Only rows after the end of input are late."""

    OUTPUT: ClassVar[str] = "events"

    spec: StreamWindow

    @cached_property
    def events(self) -> DataFrame:
        """The events (semantics 10.16).

        Columns: those of partition_by, event, tuples and processing_time. The columns of aggregates or of a
        listener replace `tuples`.
        """
        return self._alone("panes")
