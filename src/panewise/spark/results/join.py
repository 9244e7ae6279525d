"""The outputs of joins."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pyspark.sql import DataFrame

from panewise.spark.query import WindowQuery
from panewise.spark.results.sides import SidesResult
from panewise.spark.results.windowed_join import WindowedJoinResult
from panewise.spark.sinks import Sink
from panewise.spark.writer import WriteOptions
from panewise.spec import Aggregate, AnyWindow, JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT


@dataclass(frozen=True, repr=False)
class JoinResult(SidesResult):
    """The outputs of a join.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    OUTPUT: ClassVar[str] = "rows"

    spec: JoinOperator

    @cached_property
    def rows(self) -> DataFrame:
        """The emitted rows: the selected columns, op, missing and join_time (semantics 40).

        Types "semi" and "anti" have no column `missing`. This query only counts late rows.
        """
        return self._alone("panes", whole_rows=False)

    def then(
        self, *, window: AnyWindow, aggregates: Iterable[Aggregate], keys: Iterable[str] = (), **options: Any
    ) -> WindowedJoinResult:
        """Returns the outputs of windows over these rows, in the same operator (semantics 42).

        Args:
            window: the windows, by the event time `join_time`.
            aggregates: the aggregates of a pane. They read columns of the rows.
            keys: the keys of the windows: columns whose values are keys of the join in every row.
            options: further fields of WindowOperator, such as `trigger` and `accumulation`.

        Example::

            pairs = joined(orders, shipments).on("shop", "id").within("-5 minutes", "1 hour").how("inner")
            shipped = F.count().alias("shipped")
            daily = pairs.then(keys=["shop"], window=pw.Tumbling("1 day"), aggregates=[shipped])

        Raises:
            SpecError: if a value breaks a rule, or the join emits retractions.
        """
        spec = self.spec.then(window=window, aggregates=aggregates, keys=keys, **options)
        return WindowedJoinResult(spec, self.dataflow.with_spec(spec), self.at_end, self.given, self.before)

    def write(  # noqa: PLR0913 - three outputs of each side
        self,
        *,
        checkpoint: str | None = None,
        rows: Sink | None = None,
        left_late: Sink | None = None,
        right_late: Sink | None = None,
        left_invalid: Sink | None = None,
        right_invalid: Sink | None = None,
        left_counts: Sink | None = None,
        right_counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
        **earlier: Sink | None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            rows: sink of the emitted rows.
            left_late: sink of the late rows of the left side.
            right_late: sink of the late rows of the right side.
            left_invalid: sink of the invalid rows of the left side.
            right_invalid: sink of the invalid rows of the right side.
            left_counts: sink of the counts of the left side.
            right_counts: sink of the counts of the right side.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.
            earlier: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: as in :meth:`panewise.spark.WindowResult.write`.
            StateError: as in :meth:`panewise.spark.WindowResult.write`.
        """
        of_sides = {
            LEFT: {"late": left_late, "invalid": left_invalid, "counts": left_counts},
            RIGHT: {"late": right_late, "invalid": right_invalid, "counts": right_counts},
        }
        options = WriteOptions(checkpoint, available_now, processing_time, name)
        return self._write_sides(rows, of_sides, options, earlier)
