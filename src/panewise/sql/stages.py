"""What a text of SQL compiles to: a tree of stages, each a small value (semantics 46.2).

A stage of panewise has a specification, the columns that are computed before it, and the SELECT list over
its rows. All expressions are texts for Spark: characters of the query, in which only names are replaced.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal, TypeAlias, TypeVar

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.spec import (
    AnyWindow,
    Chain,
    Cumulating,
    DeduplicateOperator,
    Hopping,
    OverOperator,
    Tumbling,
    WindowOperator,
)

UNGROUPED: Final = (  # why rows have no bounds of windows, and what to do
    "without GROUP BY the rows of a table have the bounds of TUMBLE, CUMULATE and HOP of time without gaps",
    "add GROUP BY window_start, window_end",
)
UNSORTED: Final = (  # why ORDER BY, LIMIT and OFFSET are refused on a stream, and what to do
    "the rows of a stream have no end, so they cannot be sorted or limited",
    "leave it out, sort in the sink, or use ROW_NUMBER() OVER (...)",
)
Place: TypeAlias = int | Literal["other", "rank"] | None  # in the SELECT list of a Top-N: see `Ranked`
T = TypeVar("T")
WATERMARKED: Final = "event time of the watermark"  # stands for the column of the table's watermark


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
class Computed:
    """A column that Spark computes before an operator: its name, and the expression."""

    name: str
    text: str


@dataclass(frozen=True)
class OutputColumn:
    """A column of a SELECT list.

    Attributes:
        text: the expression over the rows of the stage.
        name: the name of the column, None if it is the one that Spark gives to `original`.
        original: the expression as it is written.
    """

    text: str
    name: str | None
    original: str


@dataclass(frozen=True)
class TableStage:
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
    def inputs(self) -> tuple["Stage", ...]:
        """The stages before it: none."""
        return ()


class EndlessError(SqlError):
    """A query has no result on a stream, though it has one on a batch."""


@dataclass(frozen=True)
class Endless:
    """Why a query has no result on a stream: the parts of an error, and the characters of its place.

    They are those of the text that is compiled, which may be another one than the user's. A pipe, for
    example, is compiled as a query in FROM.
    """

    given: str
    rule: str
    remedy: str
    start: int
    end: int
    written: str

    @classmethod
    def at(cls, error: EndlessError, start: int, end: int, written: str) -> "Endless":
        """Returns why a query has no result: an error, and the characters that it is about."""
        return cls(error.given, error.rule, error.remedy, start, end, written)

    def error(self, sql: str) -> EndlessError:
        """Returns the error in the user's text. The place may be all of it."""
        start, end = self.start, self.end
        if sql[start:end] != self.written:
            start = max(sql.find(self.written), 0)
            end = start + len(self.written) if self.written in sql else len(sql)
        return EndlessError(self.given, self.rule, self.remedy, sql=sql, start=start, end=end)


@dataclass(frozen=True)
class SparkStage:
    """A query that Spark runs.

    Attributes:
        parts: the text, cut where a table stands. Between two parts stands an input.
        tables: the inputs, each with the name by which expressions call it.
        endless: why it is refused on a stream, None if it is not.
        unbounded: what is said if two of its inputs are streams, None without a join.
    """

    parts: tuple[str, ...]
    tables: tuple[tuple["Stage", str | None], ...]
    endless: Endless | None = None
    unbounded: Endless | None = None

    @property
    def inputs(self) -> tuple["Stage", ...]:
        """The stages before it."""
        return tuple(stage for stage, _ in self.tables)


@dataclass(frozen=True)
class FollowingStage:
    """A stage that follows another one: `input`."""

    input: "Stage"

    @property
    def inputs(self) -> tuple["Stage", ...]:
        """The stage before it."""
        return (self.input,)


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


@dataclass(frozen=True)
class Ties:
    """Equal ranks of equal rows, as RANK and DENSE_RANK give them.

    Attributes:
        function: "rank" or "dense_rank".
        n: the greatest rank.
        lists: the lists with the values of the order. Empty: the structs have them in the field `field`.
    """

    function: str
    n: int
    lists: tuple[str, ...] = ()
    field: str = "__order"


@dataclass(frozen=True)
class Ranked:
    """How panes with lists become rows: one for each place of the lists.

    Attributes:
        lists: the columns with lists of equal length. A list of structs gives the fields of the structs.
        rank: the name of a column with the place, from 1; None if there is none.
        others: further columns: their names, and expressions over panes.
        retracts: whether the rows have the column `op`.
        ties: how equal rows are ranked; None if each has a rank of its own.
        order: what stands in each place of the SELECT list: a number of fields, None for as many fields as
            `*` has, "other" for the next of `others`, and "rank". Empty: the fields, `others`, the rank.
        fields: the SELECT list of the fields of structs, over the rows of the input.
    """

    lists: tuple[str, ...]
    rank: str | None
    others: tuple[tuple[str, str], ...]
    retracts: bool
    ties: Ties | None = None
    order: tuple[Place, ...] = ()
    fields: tuple[OutputColumn, ...] = ()

    def in_order(self, fields: Sequence[T], others: Iterable[T], rank: Iterable[T]) -> list[T]:
        """Returns the columns of the rows in the order of the SELECT list.

        >>> Ranked(("rows",), "n", (), False, None, ("rank", None, "other", 1)).in_order("abc", "x", "n")
        ['n', 'a', 'b', 'x', 'c']
        """
        if not self.order:
            return [*fields, *others, *rank]
        counted = sum(place for place in self.order if isinstance(place, int))
        ours: dict[Place, Iterator[T]] = {"other": iter(others), "rank": iter(rank)}
        rest, columns = iter(fields), list[T]()
        for place in self.order:
            if isinstance(place, str):
                columns.append(next(ours[place]))
            else:
                columns += islice(rest, len(fields) - counted if place is None else place)
        return columns


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
        naming: a text for Spark from which it gives names to columns without an alias; `{}` stands for the
            table.
    """

    alias: str | None
    where: str | None
    computed: tuple[Computed, ...]
    spec: Any
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
    """

    spec: WindowOperator | Chain
    outputs: tuple[OutputColumn, ...]
    struct: str | None = None
    exploded: Computed | None = None
    ranked: Ranked | None = None
    own_time: bool = False


@dataclass(frozen=True)
class OverStage(SingleInputStage):
    """Functions over windows: one operator for each different PARTITION BY and ORDER BY.

    Attributes:
        added_time: the column of the event time, if the input has it for this operator alone.
    """

    spec: OverOperator
    added_time: str | None = None

    @property
    def new_columns(self) -> frozenset[str]:
        """The columns of the functions, also of the operators before it that are of the same SELECT.

        The event time that was added to the input is one of them.
        """
        before = self.input
        inner = (
            before.new_columns if isinstance(before, OverStage) and before.outputs is None else frozenset()
        )
        added = frozenset() if self.added_time is None else frozenset({self.added_time})
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


@dataclass(frozen=True)
class Referring:
    """An expression over the rows of a join, cut where columns stand, as only the tables show whose they are.

    Attributes:
        parts: the text, cut where a column stands.
        columns: the columns: the name of the table, None if there is none, and the name.
        name: the name of the expression, None if it is Spark's.
        original: the expression as it is written.
        with_tables: whether it is `*`, whose columns get the names of their tables, too.
    """

    parts: tuple[str, ...]
    columns: tuple[tuple[str | None, str], ...]
    name: str | None
    original: str
    with_tables: bool = False


@dataclass(frozen=True)
class OpenCondition:
    """A part of ON with a column without a table, as only the tables show whose it is.

    Attributes:
        condition: the part, as a condition with such columns.
        key: whether the join has a key if it compares a column of each side.
        rows: the same as a condition on the rows of the join, None if it selects pairs.
    """

    condition: Any
    key: bool
    rows: Referring | None


@dataclass(frozen=True)
class JoinStage:
    """A join of two stages.

    Attributes:
        left: the left side.
        right: the right side.
        names: the names by which expressions call the sides.
        keys: the pairs of equal columns.
        times: the columns of the event times; None for that of the watermark.
        match: the match.
        how: the type.
        condition: a further condition on pairs, None if there is none.
        where: the conditions on its rows.
        items: the SELECT list.
        spark: the same query for Spark alone, for a join with a static table; None if Spark does not have it.
        timestamp: the side whose event time is that of the rows, if another operator reads it.
        lateness: the allowed lateness of both sides, None if there is none.
        options: further fields of each side.
        open: the parts of ON with columns without a table.
        hidden: the columns of both sides that are computed for ON, which `*` does not have.
        added_times: the columns of the event times that sides have for this join alone, which `*` does not
            have.
        deletes: the columns of both sides in which null deletes the row of a key; None for none.
        members: the tables of the left side, if it is a join itself; its columns are called `table.column`.
        ends: the names that both sides have for the bounds of the windows of a window join, with their texts.
    """

    left: "Stage"
    right: "Stage"
    names: tuple[str, str]
    keys: tuple[tuple[str, str], ...]
    times: tuple[str | None, str | None]
    match: Any
    how: str
    condition: Any
    where: tuple[Referring, ...]
    items: tuple[Referring, ...]
    spark: SparkStage | None
    timestamp: Literal["left", "right"] | None = None
    lateness: Duration | None = None
    options: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    open: tuple[OpenCondition, ...] = ()
    hidden: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    deletes: tuple[str | None, str | None] = (None, None)
    ends: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    added_times: tuple[str | None, str | None] = (None, None)

    @property
    def inputs(self) -> tuple["Stage", ...]:
        """The stages before it."""
        return (self.left, self.right)


OurStage: TypeAlias = SingleInputStage | JoinStage
Stage: TypeAlias = TableStage | SparkStage | WatermarkedStage | RowsStage | AssignedStage | OurStage
OURS: Any = (SingleInputStage, JoinStage)


@dataclass(frozen=True)
class CompiledQuery:
    """A compiled query.

    Attributes:
        stage: the last stage.
        tail: what Spark does with the finished rows of a batch: ORDER BY, LIMIT, OFFSET. Columns in ORDER BY
            have the names that the SELECT list gives to them.
        place: where the tail begins in the text.
        sql: the whole text.
        written: the tail as it is written.
    """

    stage: Stage
    tail: str | None = None
    place: int = 0
    sql: str = field(default="", repr=False)
    written: str = field(default="", repr=False)

    @property
    def last(self) -> OurStage | None:
        """The last stage of panewise, None if Spark alone runs the query."""
        return next((stage for stage in walk(self.stage) if isinstance(stage, OURS)), None)

    def tail_error(self, rule: str, remedy: str) -> SqlError:
        """Returns an error at the tail."""
        place = {"start": self.place, "end": self.place + len(self.written)}
        return SqlError(self.written, rule, remedy, sql=self.sql, **place)


def walk(stage: Stage) -> Iterator[Stage]:
    """Yields a stage and those before it, the last one first."""
    yield stage
    for before in stage.inputs:
        yield from walk(before)


def is_ours(stage: Stage) -> bool:
    """Returns whether the rows of a stage are those of an operator."""
    return isinstance(stage, OURS) or (isinstance(stage, RowsStage) and is_ours(stage.input))


def has_operator(stage: Stage) -> bool:
    """Returns whether a stage, or one before it, is an operator."""
    return any(isinstance(before, OURS) for before in walk(stage))


def run_options(stage: Stage) -> dict[str, Any]:
    """Returns how Spark runs an operator: the options of the tables that it reads itself."""
    options: dict[str, Any] = {}
    for before in stage.inputs:
        if isinstance(before, TableStage):
            options |= before.run
        elif not isinstance(before, OURS):
            options |= run_options(before)
    return options
