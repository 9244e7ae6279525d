"""What all outputs of operators with two sides have in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pyspark.sql import DataFrame

from panewise.spark.envelope import kind_of, labelled, port_of
from panewise.spark.query import WindowQuery
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.sinks import Sink
from panewise.spark.writer import WriteOptions
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

    def _write_sides(
        self,
        panes: Sink | None,
        of_sides: Mapping[str, Mapping[str, Sink | None]],
        options: WriteOptions,
        earlier: Mapping[str, Sink | None],
    ) -> WindowQuery:
        """Starts a query that writes outputs. `of_sides` are the sinks by side, then by kind."""
        sinks = {labelled(kind, side): sink for side, of in of_sides.items() for kind, sink in of.items()}
        return self._write({"panes": panes, **sinks}, options, earlier)

    def _argument(self, kind: str) -> str:
        return self.OUTPUT if kind == "panes" else f"{port_of(kind)}_{kind_of(kind)}"


@dataclass(frozen=True)
class JoinSide:
    """The late rows, the invalid rows and the counts of one side of a join or a cogroup.

    Each of the DataFrames is a query of its own.

    Attributes:
        result: the outputs of the operator.
        side: "left" or "right".
    """

    result: SidesResult
    side: Literal["left", "right"]

    @cached_property
    def late(self) -> DataFrame:
        """The late rows: row STRUCT, reason, windows ARRAY, late_by (microseconds), partial BOOLEAN.

        `windows` are the windows that the row missed, and `partial` says whether it is in others. Joins
        without windows have an empty array, and false.

        Source: semantics 36.4, 37.11, 43.1.
        """
        return self.result._alone(labelled("late", self.side), whole_rows=True)

    @cached_property
    def invalid(self) -> DataFrame:
        """The invalid rows: row STRUCT, reason (semantics 15)."""
        return self.result._alone(labelled("invalid", self.side), whole_rows=True)

    @cached_property
    def counts(self) -> DataFrame:
        """The numbers of rows in, applied, replayed, late and invalid (semantics 15.1).

        There is one row for each shard and micro-batch.
        """
        return self.result._alone(labelled("counts", self.side), whole_rows=False)
