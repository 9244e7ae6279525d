"""Stages of a text in process that need no operator: tables, watermarks, selections and bounds of windows.

A step passes rows through the nodes, then moves the clocks, and may then end the inputs. So what an operator
emits enters the operator after it in the same step.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, cast

import polars as pl

from panewise.chrono import Duration
from panewise.engine.columns import END, PLACE, SLICE, START
from panewise.engine.kernels.column_types import Dtypes
from panewise.engine.kernels.small_frames import sorted_distinct
from panewise.engine.windowing.slicing import Slicing
from panewise.errors import SqlError
from panewise.sql.stages import AssignedStage, RowsStage, TableStage, TableWatermark, WatermarkedStage
from panewise.sql.windows.panes import WINDOW_COLUMNS
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_selection import (
    ELEMENT,
    after_explode,
    exploded_list,
    schema_of,
    selected,
    shaped,
)

INSTANT: Final = pl.Datetime("us", "UTC")


def check_instant(name: str, dtype: pl.DataType | None) -> None:
    """Refuses an event time that is no instant, as Spark does (semantics 46.132).

    Raises:
        SqlError: for a column of another type.
    """
    if dtype is not None and not (isinstance(dtype, pl.Datetime) and dtype.time_zone is not None):
        rule = f"the event time is a TIMESTAMP, which names an instant (semantics 1), and this is {dtype}"
        raise SqlError(f"event time {name}", rule, _remedy_of(dtype).format(name=name))


def _remedy_of(dtype: pl.DataType) -> str:
    """Returns how a column of this type becomes an event time."""
    if isinstance(dtype, pl.Datetime):
        return "give it a time zone, as with pl.col('{name}').dt.replace_time_zone('UTC')"
    if isinstance(dtype, pl.String):
        return "parse it, as with pl.col('{name}').str.to_datetime(time_zone='UTC')"
    return "compute it before, as in timestamp_micros(id) AS ts"


@dataclass(frozen=True)
class StepInput:
    """What happens in a step.

    Attributes:
        tables: the rows that arrive, by table.
        watermarks: the watermarks that tables have after the rows, in microseconds.
        clock: the processing time in microseconds, None if it does not move.
        finish: whether the inputs end.
    """

    tables: Mapping[str, pl.DataFrame]
    watermarks: Mapping[str, int] = field(default_factory=dict)
    clock: int | None = None
    finish: bool = False


@dataclass
class Rejected:
    """Late and invalid rows of all operators, in the order of the operators."""

    late: list[pl.DataFrame] = field(default_factory=list)
    invalid: list[pl.DataFrame] = field(default_factory=list)

    def add(self, late: pl.DataFrame, invalid: pl.DataFrame) -> None:
        """Adds the late and the invalid rows of a step."""
        self.late += [late] if late.height else []
        self.invalid += [invalid] if invalid.height else []

    def __add__(self, other: "Rejected") -> "Rejected":
        return Rejected([*self.late, *other.late], [*self.invalid, *other.invalid])


Undo: TypeAlias = Callable[[], None]


class SqlPart(Protocol):
    """What steps change: a node, an operator, or a watermark."""

    def savepoint(self) -> Undo:
        """Returns a function that undoes the steps from now on."""

    def rejected(self) -> Rejected:
        """Returns late and invalid rows of all operators in it, without rows."""


class SqlNode(ABC):
    """A stage that runs.

    Attributes:
        schema: the columns of its rows.
        watermark: the watermark of its rows in microseconds, None if there is none yet.
        event_time: the column with this watermark, None if none has it.
        parts: what its steps change besides its watermark, the nodes before it among them.
    """

    schema: Dtypes
    watermark: int | None = None
    event_time: str | None = None
    parts: Sequence[SqlPart]

    @abstractmethod
    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Takes a step, and returns the rows that it emits."""

    def rejected(self) -> Rejected:
        """Returns late and invalid rows of all operators, in their order, without rows."""
        return sum((part.rejected() for part in self.parts), Rejected())

    def savepoint(self) -> Undo:
        """Returns a function that undoes the steps from now on, also those of the nodes before it."""
        watermark, undos = self.watermark, [part.savepoint() for part in self.parts]

        def undo() -> None:
            self.watermark = watermark
            for undo_part in undos:
                undo_part()

        return undo


class WatermarkedRows:
    """Rows whose watermark follows them: the highest time so far minus the delay.

    Args:
        watermark: the watermark, None if there is none.
        schema: the columns of the rows.
        alias: the name by which expressions call them.
        follows: whether the watermark follows the rows, as on a stream. On a batch it has no effect.

    Attributes:
        schema: the columns, with the one that the watermark computes.
        event_time: the column of the watermark.
        reached: the watermark in microseconds.
        clock: the processing time in microseconds.
    """

    def __init__(
        self, watermark: TableWatermark | None, schema: Dtypes, alias: str | None, *, follows: bool
    ) -> None:
        self.schema, self.follows, self.delay, self.clock = dict(schema), follows, 0, 0
        self.event_time: str | None = None
        self.reached: int | None = None
        self.skew: Duration | None = None
        self._computed: pl.Expr | None = None
        if watermark is None:
            return
        name, text = watermark.name, watermark.computed
        own = next((column for column in schema if column.lower() == name.lower()), None)
        if own is None and text is None:
            rule = f"the columns are {list(schema)}"
            raise SqlError(f"WATERMARK {name}", rule, "correct the name")
        self.event_time, self.delay, self.skew = own or name, watermark.delay.us, watermark.skew
        if text is not None:
            typed = Scope(self.schema, alias).typed(text)
            self._computed, self.schema[self.event_time] = typed.expr, typed.dtype
        check_instant(self.event_time, self.schema[self.event_time])

    def savepoint(self) -> Undo:
        """Returns a function that moves the watermark and the clock back to where they are now."""
        reached, clock = self.reached, self.clock

        def undo() -> None:
            self.reached, self.clock = reached, clock

        return undo

    def rejected(self) -> Rejected:
        """Returns nothing: all rows stay."""
        return Rejected()

    def read(self, clock: int | None) -> None:
        """Reads the clock, which never decreases; None changes nothing."""
        self.clock = max(self.clock, clock or 0)

    def watermarked(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows with the column of the watermark, which they move."""
        if self._computed is not None and self.event_time is not None:
            rows = rows.with_columns(self._computed.alias(self.event_time))
        if self.follows and self.event_time is not None:
            self._follow(rows[self.event_time].cast(pl.Datetime("us")).to_physical())
        return rows

    def _follow(self, times: pl.Series) -> None:
        """Moves the watermark behind event times, but for those that are too far ahead of the clock."""
        if self.skew is not None:
            times = times.filter(times <= self.clock + self.skew.us)
        highest = cast(int | None, times.max())
        self.move(None if highest is None else highest - self.delay)

    def move(self, watermark: int | None) -> None:
        """Moves the watermark forward; a lower one, or None, changes nothing."""
        if watermark is not None:
            self.reached = watermark if self.reached is None else max(self.reached, watermark)


class TableNode(SqlNode):
    """A table."""

    def __init__(self, stage: TableStage, schema: Dtypes, *, follows: bool) -> None:
        self.name, self._own = (stage.name or "").lower(), schema
        named = dict(zip(stage.columns or schema, schema.values(), strict=False))
        self._rows = WatermarkedRows(stage.watermark, named, stage.alias, follows=follows)
        self._names, self.parts = list(named), [self._rows]
        self.schema, self.event_time = self._rows.schema, self._rows.event_time

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows that arrive."""
        rows = self._arrived(event)
        self._rows.read(event.clock)
        rows = self._rows.watermarked(rows.rename(dict(zip(rows.columns, self._names, strict=False))))
        self._rows.move(event.watermarks.get(self.name))
        self.watermark = self._rows.reached
        return rows

    def _arrived(self, event: StepInput) -> pl.DataFrame:
        rows = event.tables.get(self.name)
        return pl.DataFrame(schema=self._own) if rows is None else rows


class SharedNode(SqlNode):
    """A node whose rows several nodes read, such as a query of WITH. It takes each step once."""

    def __init__(self, source: SqlNode) -> None:
        self.source, self.parts = source, [source]
        self.schema, self.event_time = source.schema, source.event_time
        self._last: tuple[StepInput, pl.DataFrame] | None = None

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows of the step, also if it is taken again."""
        if self._last is None or self._last[0] is not event:
            self._last = event, self.source.step(event, rejected)
            self.watermark = self.source.watermark
        return self._last[1]


class MarkedNode(SqlNode):
    """The rows of a query, with a watermark."""

    def __init__(self, stage: WatermarkedStage, source: SqlNode, *, follows: bool) -> None:
        self._rows = WatermarkedRows(stage.watermark, source.schema, stage.alias, follows=follows)
        self.source, self.parts = source, [source, self._rows]
        self.schema, self.event_time = self._rows.schema, self._rows.event_time

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows."""
        self._rows.read(event.clock)
        rows = self._rows.watermarked(self.source.step(event, rejected))
        self.watermark = self._rows.reached
        return rows


class RowsNode(SqlNode):
    """A filter and a SELECT list."""

    def __init__(self, stage: RowsStage, source: SqlNode) -> None:
        self.source, self.parts = source, [source]
        scope = Scope(source.schema, stage.alias)
        self._where = None if stage.where is None else scope.condition(stage.where)
        outputs = stage.outputs
        self._list = None if outputs is None else exploded_list(scope, outputs)
        if outputs is not None and self._list is not None:
            scope, outputs = after_explode(scope, outputs, self._list)
        self._columns = None if outputs is None else selected(scope, outputs, frozenset({ELEMENT}))
        self.schema = schema_of(dict(scope.columns), self._columns)
        self.event_time = source.event_time if source.event_time in self.schema else None

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the selected rows."""
        rows = shaped(self.source.step(event, rejected), self._where, None)
        if self._list is not None:
            elements = self._list.expr.alias(ELEMENT)
            rows = rows.with_columns(elements).filter(pl.col(ELEMENT).list.len() > 0).explode(ELEMENT)
        self.watermark = self.source.watermark
        return shaped(rows, None, self._columns)


class AssignedNode(SqlNode):
    """Rows with the bounds of their windows, once for each window."""

    def __init__(self, stage: AssignedStage, source: SqlNode) -> None:
        self.source, self.parts = source, [source]
        self.event_time, self._slicing = source.event_time, Slicing(stage.fixed)
        self._time = Scope(source.schema).column(stage.time)
        check_instant(stage.time, source.schema[self._time.meta.output_name()])
        self.schema = {**source.schema, **dict.fromkeys(WINDOW_COLUMNS, INSTANT)}

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows with bounds. Rows without a time have none."""
        rows = self.source.step(event, rejected)
        self.watermark = self.source.watermark
        times = rows.select(self._time.dt.cast_time_unit("us").to_physical().alias(SLICE))
        windows = self._slicing.table(sorted_distinct(times[SLICE].drop_nulls()))
        windows = windows.sort(START, descending=True, maintain_order=True)  # Spark has the latest one first
        placed = times.with_row_index(PLACE).join(windows, on=SLICE, maintain_order="left_right")
        bounds = zip(WINDOW_COLUMNS, (placed[START], placed[END], placed[END] - 1), strict=True)
        return rows[placed[PLACE]].with_columns(values.cast(INSTANT).alias(name) for name, values in bounds)
