"""The fluent API of cogroups of two DataFrames (semantics 43)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from panewise.errors import SpecError
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import ColumnLike, WindowsBuilder
from panewise.spark.builders.two_sides import OF_EACH_SIDE, SidesBuilder, inputs_of_sides
from panewise.spark.builders.upstream_inputs import Source
from panewise.spark.results.sides import CogroupResult
from panewise.spec import Aggregate, CogroupOperator, MergeAggregate, Side
from panewise.spec.operators.join.columns import SIDES


def cogrouped(
    left: Source, right: Source, event_time: ColumnLike | tuple[ColumnLike, ColumnLike] | None = None
) -> "CogroupBuilder":
    """Begins a cogroup of two DataFrames, both streams or both batches, or of results of other operators.

    It emits a pane for each key and window, with aggregates of the rows of each side. A window that has rows
    of one side only has a pane, too.

    Args:
        left: the left side, as in :func:`panewise.spark.joined`.
        right: the right side, likewise.
        event_time: column of the event time, as in :func:`panewise.spark.joined`.

    Example::

        result = (
            cogrouped(
                orders.withWatermark("ordered", "10 minutes"),
                payments.withWatermark("paid", "10 minutes"),
            )
            .on("shop")
            .window(pw.Tumbling("1 hour"))
            .agg(
                left=[F.sum("amount").alias("ordered"), F.collect_list("id").alias("orders")],
                right=[F.sum("amount").alias("paid")],
            )
        )
        result.panes  # each shop and hour with the sums of both sides

    Raises:
        SpecError: if a side is no DataFrame, or `event_time` names no column or more than two.

    Source: semantics 43; pyspark cogroup, S4 merge operators.
    """
    inputs, sides = inputs_of_sides("cogrouped", "a cogroup", left, right, event_time)
    return CogroupBuilder(inputs, {}, sides=sides)


@dataclass(frozen=True)
class CogroupBuilder(WindowsBuilder, SidesBuilder):
    """The description of a cogroup. Every method returns a new description; :meth:`agg` ends it.

    Its options are on_time, closing, only_updated, timestamp, evaluate and strict of CogroupOperator, and
    null_keys and max_future_skew: a value for both sides, or a pair.
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset(
        {"on_time", "closing", "only_updated", "timestamp", "evaluate", "strict", *OF_EACH_SIDE}
    )

    def agg(
        self,
        *,
        left: Iterable[Aggregate] = (),
        right: Iterable[Aggregate] = (),
        both: Iterable[MergeAggregate] = (),
    ) -> CogroupResult:
        """Ends the description with the aggregates of a pane, and returns the outputs.

        Args:
            left: aggregates over the rows of the left side.
            right: aggregates over the rows of the right side.
            both: user-defined aggregates over the rows of both sides, which a
                :class:`panewise.UserMergeAggregate` makes.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if a stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        if "window" not in self.fields:
            rule, remedy = "a cogroup has a window", "call .window(pw.Tumbling('1 minute')) before .agg(...)"
            raise SpecError("no window", rule, remedy)
        left_side, right_side = (Side(**self.sides[side]) for side in SIDES)
        spec = CogroupOperator(
            left=left_side,
            right=right_side,
            left_aggregates=left,
            right_aggregates=right,
            both_aggregates=both,
            **self.fields,
        )
        return apply(self.inputs, spec, **self._apply_options)
