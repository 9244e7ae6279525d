"""OVER operators emit each row once, with columns computed from nearby rows (semantics 29). Values only."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from panewise.chrono import MAX_INSTANT, Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import OVER, Family
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.fields import check_alias, set_fields, several, skew_of
from panewise.spec.frames import Frame
from panewise.spec.operators.row_operator import RowOperator, check_input
from panewise.spec.position import Position
from panewise.spec.watermarks import Watermark
from panewise.spec.window_spec import Over, WindowSpec

NUMBERINGS: Final = ("row_number", "rank", "dense_rank")
SHIFTS: Final = ("lag", "lead")
ROW_FUNCTIONS: Final = (*NUMBERINGS, *SHIFTS, "nth_value")


@dataclass(frozen=True)
class RowFunction:
    """A function for OVER that is not an aggregate: lag, lead, row_number, rank, dense_rank or nth_value.

    The functions of these names in :mod:`panewise.functions` create it.

    Args:
        fn: the name of the function.
        column: the column that it reads; None for row_number, rank and dense_rank.
        name: the name of the resulting column.
        n: for lag and lead the distance in rows, 0 or more; for nth_value the number of the row, from 1.
        default: for lag and lead the value where there is no such row.

    Raises:
        SpecError: if the function is unknown, or does not take the arguments that are given.
    """

    fn: str
    column: str | None
    name: str
    n: int | None = None
    default: bool | int | float | str | None = None

    def __post_init__(self) -> None:
        if self.fn not in ROW_FUNCTIONS:
            rule = f"a row function is one of {sorted(ROW_FUNCTIONS)}"
            raise SpecError(f"fn={self.fn!r}", rule, "use a function of panewise.functions")
        reads = self.fn not in NUMBERINGS
        if reads != (isinstance(self.column, str) and bool(self.column)) or (
            not reads and self.column is not None
        ):
            rule = f"{self.fn} takes {'the name of a column' if reads else 'no column'}"
            raise SpecError(
                f"{self.fn}(column={self.column!r})", rule, "give its name" if reads else "leave it out"
            )
        least = 1 if self.fn == "nth_value" else 0
        counts = isinstance(self.n, int) and not isinstance(self.n, bool) and least <= self.n < MAX_INSTANT
        if counts != reads or (not reads and self.n is not None):
            rule = (
                f"{self.fn} takes a number of rows, {least} or more"
                if reads
                else f"{self.fn} takes no number"
            )
            remedy = {"lag": "use lead to look ahead", "lead": "use lag to look back"}.get(
                self.fn, "give such a number" if reads else "leave it out"
            )
            raise SpecError(f"{self.fn}(n={self.n!r})", rule, remedy)
        if self.default is not None and (
            self.fn not in SHIFTS or not isinstance(self.default, (bool, int, float, str))
        ):
            rule = "only lag and lead have a default, which is a number, a string or a Boolean"
            remedy = "leave it out, and replace nulls after the operator"
            raise SpecError(f"{self.fn}(default={self.default!r})", rule, remedy)

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that the function reads."""
        return () if self.column is None else (self.column,)

    def alias(self, name: str) -> "RowFunction":
        """Returns the same function under another name.

        Raises:
            SpecError: if the name is not a string, or empty.
        """
        check_alias(name)
        return replace(self, name=name)

    def over(self, window: WindowSpec) -> Over:
        """Returns the function over a window of the OVER operator, as in pyspark.

        For instance `F.lag("v").over(Window.partitionBy("k").orderBy("ts"))`.
        """
        return Over(self, window)


@dataclass(frozen=True)
class OverColumn:
    """A new column of an OVER operator.

    Args:
        what: an aggregate or a row function.
        frame: the rows that it is computed from. Aggregates and nth_value need one, others have none.

    Raises:
        SpecError: if a value is of the wrong type, or the frame is missing or not allowed.
    """

    what: Aggregate | RowFunction
    frame: Frame | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.what, (Aggregate, RowFunction)):
            raise SpecError(
                f"what={self.what!r}", "a column is made by panewise.functions", "give one such as F.sum('v')"
            )
        if self.frame is not None and not isinstance(self.frame, Frame):
            raise SpecError(
                f"frame={self.frame!r}", "a frame is a Frame", "give one such as Frame('rows', -2, 0)"
            )
        framed = isinstance(self.what, Aggregate) or self.what.fn == "nth_value"
        if framed and self.frame is None:
            rule, remedy = "it reads the rows of a frame", "give one such as Frame('rows', -2, 0)"
            raise SpecError(f"{self.what.name} without a frame", rule, remedy)
        if not framed and self.frame is not None:
            rule = f"{self.what.fn} reads all rows of the key (semantics 29.7)"
            raise SpecError(f"{self.what.name} with {self.frame!r}", rule, "leave the frame out")

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.what.name

    @property
    def rows_ahead(self) -> int:
        """How many rows after the current row the column depends on."""
        if isinstance(self.what, RowFunction) and self.what.fn == "lead":
            return self.what.n or 0
        return max(0, self.frame.end) if self.frame is not None and self.frame.kind == "rows" else 0

    @property
    def us_ahead(self) -> int:
        """How far the range reaches beyond the current row's event time, in microseconds."""
        return max(0, self.frame.end) if self.frame is not None and self.frame.kind == "range" else 0


@dataclass(frozen=True, kw_only=True)
class OverOperator(RowOperator):
    """An OVER operator: it emits each row once, with new columns computed from nearby rows of the same key.

    Args:
        columns: the new columns. Default: none; the rows are then emitted in the order of their event time.
        keys: the columns of the key. Without keys all rows are one sequence.
        event_time: the column of the event time, which orders the rows. A row waits until the watermark has
            passed it. None: rows are in arrival order, and do not wait for a watermark. In both cases a row
            also waits for the rows ahead of it that a column depends on.
        order: columns that order rows of equal event time; without an event time, the rows of one batch.
        position: the columns of the source position, which defines the arrival order within a batch.
        null_keys: whether null and NaN are keys like any other value, as in Spark; False makes such rows
            invalid. Default: True if there are keys.
        max_future_skew: how far event time may be ahead of processing time. Default: no limit.
        watermark: where the watermark comes from: None (from outside), FixedLag, Inputs or
            StreamTime(per="all").

    Raises:
        SpecError: if a value breaks a rule, or a stream cannot have such a result; the message says which.

    >>> from panewise import functions as F
    >>> spec = OverOperator(keys=["k"], columns=[OverColumn(F.sum("v").alias("total"),
    ...     Frame("rows", -2, 0)), OverColumn(F.lag("v"))])
    >>> [column.name for column in spec.columns]
    ['total', 'lag(v, 1)']

    Source: semantics 29; SQL OVER, Flink OverAggregate.
    """

    family: ClassVar[Family] = OVER

    columns: tuple[OverColumn, ...] = ()
    keys: tuple[str, ...] = ()
    event_time: str | None = "event_time"
    order: tuple[str, ...] = ()
    position: Position | None = None
    null_keys: bool = False
    max_future_skew: Duration | None = None
    watermark: Watermark | None = None

    def __init__(
        self,
        *,
        columns: Iterable[OverColumn] = (),
        keys: Iterable[str] = (),
        event_time: str | None = "event_time",
        order: Iterable[str] = (),
        position: Position | None = None,
        null_keys: bool | None = None,
        max_future_skew: DurationLike | None = None,
        watermark: Watermark | None = None,
    ) -> None:
        values = dict(locals())
        del values["self"]
        for name in ("columns", "keys", "order"):
            values[name] = several(name, values[name])
        values["null_keys"] = bool(values["keys"]) if null_keys is None else null_keys
        values["max_future_skew"] = skew_of(max_future_skew)
        set_fields(self, **values)
        _check_kinds(self)
        _check_names(self)
        _check_order(self)
        _check_frames(self)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The input columns that the operator reads, each once. All other columns are emitted unchanged."""
        values = (name for column in self.columns for name in column.what.columns)
        return tuple(dict.fromkeys((*super().columns_read, *values)))

    @property
    def rows_ahead(self) -> int:
        """How many rows of its key must pass after a row before the row is emitted (semantics 29.8)."""
        return max((column.rows_ahead for column in self.columns), default=0)

    @property
    def us_ahead(self) -> int:
        """How far the ranges reach ahead of a row, in microseconds: d in semantics 29.2."""
        return max((column.us_ahead for column in self.columns), default=0)


def _check_kinds(spec: OverOperator) -> None:
    given: tuple[Any, ...] = spec.columns
    for column in given:
        if not isinstance(column, OverColumn):
            remedy = "give one such as OverColumn(F.sum('v'), Frame('rows', -2, 0))"
            raise SpecError(f"columns=[{column!r}]", "a new column is a OverColumn", remedy)
    if not spec.columns and spec.event_time is None:
        rule = "without new columns an operator puts rows in the order of their event time (semantics 29.11)"
        raise SpecError("columns=() without an event time", rule, "name the event time, or give a column")
    check_input(spec, "an OVER operator")


def _check_names(spec: OverOperator) -> None:
    made = [column.name for column in spec.columns]
    twice = sorted({name for name in made if made.count(name) > 1 or name in spec.columns_read})
    if twice:
        rule = "new columns have different names, which no input column has"
        raise SpecError(f"{twice[0]!r} twice", rule, "give the new column another name")


def _check_order(spec: OverOperator) -> None:
    if spec.event_time in spec.order:
        rule = "rows are always ordered by the event time first"
        raise SpecError(
            f"order={spec.order!r}, event_time={spec.event_time!r}", rule, "leave it out of the order"
        )


def _check_frames(spec: OverOperator) -> None:
    for column in spec.columns:
        ranged = column.frame is not None and column.frame.kind == "range"
        ranks = isinstance(column.what, RowFunction) and column.what.fn in ("rank", "dense_rank")
        if (ranged or ranks) and spec.event_time is None:
            rule = "without an event time rows have no time to compare"
            remedy = "order by the event time" if ranks else "order by the event time, or use rows"
            what = "a RANGE frame" if ranged else column.what.fn
            raise SpecError(f"{column.name}: {what} without an event time", rule, remedy)
        if ranged and spec.order and column.frame != Frame("range", None, 0):
            rule = "a RANGE frame measures the distance of rows by the event time alone"
            given = f"{column.name}: {column.frame!r} with order={spec.order!r}"
            raise SpecError(given, rule, "leave the other columns out, or use rows")
