"""The outputs of operators with two sides: joins, windows over joins, and cogroups."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from pyspark.sql import DataFrame

from panewise.spark.results.operator_result import OperatorResult, output_of
from panewise.spark.results.single_input import OutputsOfInput
from panewise.spark.shuffle.envelope import kind_of, labelled, port_of
from panewise.spec import Aggregate, AnyWindow, CogroupOperator, JoinOperator, WindowedJoin
from panewise.spec.operators.join.columns import LEFT, RIGHT


@dataclass(frozen=True, repr=False)
class SidesResult(OperatorResult):
    """The outputs of an operator with two sides. Each side has late rows, invalid rows and counts."""

    @property
    def left(self) -> "JoinSide":
        """The late rows, the invalid rows and the counts of the left side."""
        return JoinSide(self, LEFT)

    @property
    def right(self) -> "JoinSide":
        """The late rows, the invalid rows and the counts of the right side."""
        return JoinSide(self, RIGHT)

    def _argument(self, kind: str) -> str:
        return self.OUTPUT if kind == "panes" else f"{port_of(kind)}_{kind_of(kind)}"


@dataclass(frozen=True)
class JoinSide(OutputsOfInput):
    """The late rows, the invalid rows and the counts of one side of a join or a cogroup.

    Each of the DataFrames is a query of its own.

    Attributes:
        result: the outputs of the operator.
        side: "left" or "right".
    """

    result: SidesResult
    side: Literal["left", "right"]

    def _of_input(self, kind: str) -> DataFrame:
        return output_of(self.result, labelled(kind, self.side))


@dataclass(frozen=True, repr=False)
class PanesOfSides(SidesResult):
    """The outputs of an operator with two sides that emits panes."""

    @cached_property
    def panes(self) -> DataFrame:
        """The panes, as those of window operators (semantics 20).

        This query only counts late rows.
        """
        return self._alone("panes")


@dataclass(frozen=True, repr=False)
class WindowedJoinResult(PanesOfSides):
    """The outputs of windows over a join."""

    spec: WindowedJoin

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "WindowedJoinResult":
        """Returns the outputs with one more stage, whose rows are these panes (semantics 30).

        Raises:
            SpecError: if the stage breaks a rule.
        """
        return self._with_spec(self.spec.then(keys=keys, aggregates=aggregates))


@dataclass(frozen=True, repr=False)
class JoinResult(SidesResult):
    """The outputs of a join."""

    OUTPUT: ClassVar[str] = "rows"

    spec: JoinOperator

    @cached_property
    def rows(self) -> DataFrame:
        """The emitted rows: the selected columns, op, missing and join_time (semantics 40).

        Types "semi" and "anti" have no column `missing`. This query only counts late rows.
        """
        return self._alone("panes")

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


@dataclass(frozen=True, repr=False)
class CogroupResult(PanesOfSides):
    """The outputs of a cogroup."""

    spec: CogroupOperator
