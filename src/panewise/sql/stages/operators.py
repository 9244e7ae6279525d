"""Stages that are operators over the rows of one stage."""

from dataclasses import dataclass
from typing import Literal

from panewise.spec import Chain, DeduplicateOperator, OverOperator, Specification, WindowOperator
from panewise.sql.stages.ranked import Ranked
from panewise.sql.stages.stage import FollowingStage, OutputColumn, QueryStage


@dataclass(frozen=True)
class Computed:
    """A column that Spark computes before an operator: its name, and the expression."""

    name: str
    text: str


@dataclass(frozen=True)
class SingleInputStage(FollowingStage):
    """An operator over the rows of one stage.

    Attributes:
        alias: the name by which expressions call the rows.
        where: the condition on the rows, None if there is none.
        computed: the columns that are computed from the rows.
        spec: the operator.
        outputs: the SELECT list over what it emits; None if all of that is selected.
        having: the condition of HAVING or QUALIFY on what it emits, None if there is none.
        naming: what stands before and after the table in a text for Spark, from which it gives names to
            columns without an alias.
    """

    alias: str | None
    where: str | None
    computed: tuple[Computed, ...]
    spec: Specification
    outputs: tuple[OutputColumn, ...] | None
    having: str | None = None
    naming: tuple[str, str] = ("", "")

    @property
    def new_columns(self) -> frozenset[str]:
        """The columns that are added to the rows of the input, which `*` does not have."""
        return frozenset()


@dataclass(frozen=True)
class WindowsStage(SingleInputStage):
    """A windowed aggregation.

    Attributes:
        struct: the name of the column with the bounds of the window, as Spark's `window` makes it; None if
            the query has none.
        exploded: the columns by which each row is repeated for every set of GROUPING SETS, and the expression
            that makes the sets.
        ranked: how panes become rows, if the query is a Top-N. `outputs` are then empty.
        own_time: whether the event time is the column of the watermark of the input, as the query names none.
        one_group: whether a whole input without rows has a group, too, as a SELECT without GROUP BY has one.
    """

    spec: WindowOperator | Chain
    outputs: tuple[OutputColumn, ...]
    struct: str | None = None
    exploded: Computed | None = None
    ranked: Ranked | None = None
    own_time: bool = False
    one_group: bool = False


@dataclass(frozen=True)
class RowPlace:
    """A column with the places of rows of a whole input in an order. An OVER operator takes it for the time.

    Attributes:
        name: the column.
        partition: the columns of PARTITION BY.
        order: the expressions of ORDER BY. Without one all rows have one place.
        descending: for each expression, whether it has DESC.
        nulls_last: for each expression, whether nulls come last.
        unit: what a RANGE counts from the value of the order: "number", or "time" for microseconds. If it is
            None, the places are numbered, and equal rows have one place.
        reach: the longest length of a RANGE.
        apart: whether a RANGE that counts leaves out the present row.
    """

    name: str
    partition: tuple[str, ...]
    order: tuple[str, ...]
    descending: tuple[bool, ...]
    nulls_last: tuple[bool, ...]
    unit: Literal["number", "time"] | None = None
    reach: int = 0
    apart: bool = False


@dataclass(frozen=True)
class OverStage(SingleInputStage):
    """Functions over windows: one operator for each different PARTITION BY and ORDER BY.

    Attributes:
        added_time: the column of the event time, if the input has it for this operator alone.
        position: the event time of a whole input, if it is a place in an order.
        whole: the same functions in the order of places, for a whole input whose order is no TIMESTAMP.
    """

    spec: OverOperator
    added_time: str | None = None
    position: RowPlace | None = None
    whole: QueryStage | None = None

    @property
    def new_columns(self) -> frozenset[str]:
        """The columns of the functions, also of the operators before it that are of the same SELECT.

        The event time that was added to the input is one of them.
        """
        before = self.input
        inner = (
            before.new_columns if isinstance(before, OverStage) and before.outputs is None else frozenset()
        )
        times = (self.added_time, None if self.position is None else self.position.name)
        added = frozenset(name for name in times if name is not None)
        return inner | added | {column.name for column in self.spec.columns}


@dataclass(frozen=True)
class DeduplicateStage(SingleInputStage):
    """A deduplication."""

    spec: DeduplicateOperator
    outputs: tuple[OutputColumn, ...]

    @property
    def new_columns(self) -> frozenset[str]:
        """The computed keys, and `op`."""
        return frozenset(("op", *(column.name for column in self.computed)))
