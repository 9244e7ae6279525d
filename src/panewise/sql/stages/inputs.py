"""Stages of rows that no operator emits: tables, Spark's queries, rows with a watermark or with windows."""

from dataclasses import dataclass
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.spec import AnyWindow, Cumulating, Hopping, Tumbling
from panewise.sql.stages.endless import Endless
from panewise.sql.stages.stage import FollowingStage, OutputColumn, QueryStage

WATERMARKED: Final = "event time of the watermark"  # stands for the column of the table's watermark
UNGROUPED: Final = (  # why rows have no bounds of windows, and what to do
    "without GROUP BY the rows of a table have the bounds of windows of time without gaps",
    "add GROUP BY window_start, window_end",
)


@dataclass(frozen=True)
class TableWatermark:
    """A watermark of a table.

    Attributes:
        name: the column of the event time.
        delay: the delay.
        computed: the expression of the column, if it is computed.
        skew: how far an event time may be ahead of the processing time and move the watermark; None for any.
    """

    name: str
    delay: Duration
    computed: str | None = None
    skew: Duration | None = None


@dataclass(frozen=True)
class TableStage(QueryStage):
    """A table: a DataFrame that was given, a view of the session, or what Spark reads by `text`.

    Attributes:
        text: the table as it is written.
        name: its name, None for what is no name, such as a function.
        alias: the name by which expressions call it.
        columns: the names that an alias gives to its columns.
        watermark: that of WATERMARK, None if there is none.
        run: how Spark runs the operator that reads it: `finish`, `shards` and `clock`, if given.
    """

    text: str
    name: str | None
    alias: str | None
    columns: tuple[str, ...] = ()
    watermark: TableWatermark | None = None
    run: tuple[tuple[str, Any], ...] = ()

    @property
    def inputs(self) -> tuple[QueryStage, ...]:
        """The stages before it: none."""
        return ()


@dataclass(frozen=True)
class SparkStage(QueryStage):
    """A query that Spark runs.

    Attributes:
        parts: the text, cut where a table stands. Between two parts stands an input.
        tables: the inputs, each with the name by which expressions call it.
        endless: why it is refused on a stream, None if it is not.
        unbounded: what is said if two of its inputs are streams, None without a join.
        plain: the same rows by stages that need no Spark, None if only Spark has them.
    """

    parts: tuple[str, ...]
    tables: tuple[tuple[QueryStage, str | None], ...]
    endless: Endless | None = None
    unbounded: Endless | None = None
    plain: QueryStage | None = None

    @property
    def inputs(self) -> tuple[QueryStage, ...]:
        """The stages before it."""
        return tuple(stage for stage, _ in self.tables)


@dataclass(frozen=True)
class PairStage(QueryStage):
    """A stage that reads two others.

    Attributes:
        left: the first stage.
        right: the second stage.
    """

    left: QueryStage
    right: QueryStage

    @property
    def inputs(self) -> tuple[QueryStage, ...]:
        """The stages before it."""
        return (self.left, self.right)


@dataclass(frozen=True)
class UnionStage(PairStage):
    """The rows of two stages, one after the other, with the names of the first."""


@dataclass(frozen=True)
class SetStage(PairStage):
    """The rows of one whole input that are, or are not, those of another one. Nulls are equal.

    The columns have the names of the first stage.

    Attributes:
        word: EXCEPT or INTERSECT.
        every: whether each row counts; otherwise equal rows are one.
    """

    word: str
    every: bool


@dataclass(frozen=True)
class Ordering:
    """A term of ORDER BY behind a query.

    Attributes:
        text: the expression over the columns of the query.
        written: the expression as it is written.
        descending: whether it has DESC.
        nulls_last: whether nulls come last.
        place: the place of the column in the SELECT list, from 1, if it is a number.
    """

    text: str
    written: str
    descending: bool
    nulls_last: bool
    place: int | None = None


@dataclass(frozen=True)
class TailStage(FollowingStage):
    """The sorted rows of a query over whole inputs, or some of them.

    Attributes:
        alias: the name by which ORDER BY calls the rows.
        ordering: the order, empty if it is that of the query.
        limit: the greatest number of rows, None if there is none.
        offset: how many rows are left out.
    """

    alias: str | None
    ordering: tuple[Ordering, ...]
    limit: int | None
    offset: int


@dataclass(frozen=True)
class DistinctStage(FollowingStage):
    """The different rows of a stage, once each."""


@dataclass(frozen=True)
class WatermarkedStage(FollowingStage):
    """The rows of a query, with a watermark.

    Attributes:
        watermark: the watermark.
        alias: the name by which this expression calls the rows.
    """

    watermark: TableWatermark
    alias: str | None


@dataclass(frozen=True)
class RowsStage(FollowingStage):
    """A SELECT without aggregates over one stage: a filter and a SELECT list, without state.

    Attributes:
        alias: the name by which expressions call it.
        where: the condition, None if there is none.
        outputs: the SELECT list, None for all columns.
    """

    alias: str | None
    where: str | None
    outputs: tuple[OutputColumn, ...] | None


@dataclass(frozen=True)
class AssignedStage(FollowingStage):
    """Rows with the bounds of their windows, once for each window.

    Attributes:
        window: the windows, of time.
        time: the column of the event time.
        partition: the columns of PARTITION BY, in lower case.
    """

    window: AnyWindow
    time: str
    partition: frozenset[str] = frozenset()

    @property
    def fixed(self) -> Tumbling | Hopping | Cumulating:
        """The windows, if the event time of a row alone says in which windows it is.

        Raises:
            SqlError: if not. Such windows are those of a join, or of GROUP BY.
        """
        window = self.window
        if isinstance(window, (Tumbling, Cumulating)):
            return window
        if isinstance(window, Hopping) and not window.gaps:
            return window
        raise SqlError(type(window).__name__, *UNGROUPED)
