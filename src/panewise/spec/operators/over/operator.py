"""OVER operators emit each row once, with columns computed from nearby rows (semantics 29). Values only."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import OVER, Family
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.fields import check_columns, set_fields, several, skew_of
from panewise.spec.frames import Frame
from panewise.spec.operators.over.row_function import NUMBERINGS, SHIFTS, RowFunction
from panewise.spec.operators.row_operator import RowOperator, check_input
from panewise.spec.source_position import Position
from panewise.spec.watermarks import Watermark


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
            rule, remedy = (
                f"{self.what.name} reads the rows of a frame",
                "give one such as Frame('rows', -2, 0)",
            )
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
        """How many rows after the current row the column depends on, at least."""
        return self._reach("rows", "lead", None if self.frame is None else self.frame.end)

    @property
    def rows_behind(self) -> int:
        """How many rows before the current row the column depends on, at least, if there is a bound."""
        return self._reach("rows", "lag", None if self.frame is None else -(self.frame.start or 0))

    @property
    def us_ahead(self) -> int:
        """How far the range reaches beyond the current row's event time, in microseconds."""
        return self._reach("range", None, None if self.frame is None else self.frame.end)

    @property
    def us_behind(self) -> int:
        """How far the range reaches back from the current row's event time, in microseconds."""
        return self._reach("range", None, None if self.frame is None else -(self.frame.start or 0))

    def _reach(self, kind: str, shift: str | None, bound: int | None) -> int:
        if isinstance(self.what, RowFunction) and self.what.fn in SHIFTS:
            return (self.what.n or 0) if self.what.fn == shift else 0
        return max(0, bound or 0) if self.frame is not None and self.frame.kind == kind else 0


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
        descending: the columns, out of `order` and the event time, whose largest values come first. If the
            event time is one of them, the row before a row is the next one of the stream.
        nulls_last: the `order` columns whose nulls come last. Default: those that are descending.
        position: the columns of the source position, which defines the arrival order within a batch.
        null_keys: whether null and NaN are keys like any other value, as in Spark; False makes such rows
            invalid. Default: True if there are keys.
        max_future_skew: how far event time may be ahead of processing time. Default: no limit.
            An int is in microseconds.
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
    descending: tuple[str, ...] = ()
    nulls_last: tuple[str, ...] = ()
    position: Position | None = None
    null_keys: bool = False
    max_future_skew: Duration | None = None
    watermark: Watermark | None = None

    def __init__(  # noqa: PLR0913 - each is a field
        self,
        *,
        columns: Iterable[OverColumn] = (),
        keys: Iterable[str] = (),
        event_time: str | None = "event_time",
        order: Iterable[str] = (),
        descending: Iterable[str] = (),
        nulls_last: Iterable[str] | None = None,
        position: Position | None = None,
        null_keys: bool | None = None,
        max_future_skew: DurationLike | None = None,
        watermark: Watermark | None = None,
    ) -> None:
        values = dict(locals())
        del values["self"]
        for name in ("columns", "keys", "order", "descending"):
            values[name] = several(name, values[name])
        default = [name for name in values["descending"] if name != event_time]
        values["nulls_last"] = several("nulls_last", default if nulls_last is None else nulls_last)
        values["null_keys"] = bool(values["keys"]) if null_keys is None else null_keys
        values["max_future_skew"] = skew_of(max_future_skew)
        set_fields(self, **values)
        _check_kinds(self)
        _check_names(self)
        _check_order(self)
        _check_directions(self)
        _check_frames(self)
        _check_ends(self)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The input columns that the operator reads, each once. All other columns are emitted unchanged."""
        values = (name for column in self.columns for name in column.what.columns)
        return tuple(dict.fromkeys((*super().columns_read, *values)))

    @property
    def backwards(self) -> bool:
        """Whether the event time is descending: the first row of the order is the last of the stream."""
        return self.event_time in self.descending

    @property
    def rows_ahead(self) -> int:
        """How many rows of its key must pass after a row before the row is emitted (semantics 29.8)."""
        reach = [column.rows_behind if self.backwards else column.rows_ahead for column in self.columns]
        return max(reach, default=0)

    @property
    def us_ahead(self) -> int:
        """How far the ranges reach ahead of a row, in microseconds: d in semantics 29.2."""
        reach = [column.us_behind if self.backwards else column.us_ahead for column in self.columns]
        return max(reach, default=0)


def _check_kinds(spec: OverOperator) -> None:
    columns: tuple[Any, ...] = spec.columns
    for column in columns:
        if not isinstance(column, OverColumn):
            remedy = "give one such as OverColumn(F.sum('v'), Frame('rows', -2, 0))"
            raise SpecError(f"columns=[{column!r}]", "a new column is an OverColumn", remedy)
    if not spec.columns and spec.event_time is None:
        rule = "without new columns an operator puts rows in the order of their event time (semantics 29.11)"
        raise SpecError("columns=() without an event time", rule, "name the event time, or give a column")
    check_input(spec, "an OVER operator")


def _check_names(spec: OverOperator) -> None:
    names = [column.name for column in spec.columns]
    twice = sorted({name for name in names if names.count(name) > 1 or name in spec.columns_read})
    if twice:
        rule = "new columns have different names, which no input column has"
        raise SpecError(f"{twice[0]!r} twice", rule, "give the new column another name")


def _check_order(spec: OverOperator) -> None:
    if spec.event_time in spec.order:
        rule = "rows are always ordered by the event time first"
        raise SpecError(
            f"order={spec.order!r}, event_time={spec.event_time!r}", rule, "leave it out of the order"
        )


def _check_directions(spec: OverOperator) -> None:
    for field, names in (("descending", spec.descending), ("nulls_last", spec.nulls_last)):
        check_columns(names)
        others = [name for name in names if name not in spec.order and name != spec.event_time]
        if others or len(set(names)) < len(names) or (spec.event_time is None and names):
            rule = "a direction is given for the event time or an order column, once for each"
            shown = f"{field}={names!r}, event_time={spec.event_time!r}, order={spec.order!r}"
            raise SpecError(shown, rule, "add the column to the order, or leave it out")
    if spec.event_time in spec.nulls_last:
        rule = "an event time is never null"
        raise SpecError(f"nulls_last={spec.nulls_last!r}", rule, "leave it out")
    # An order of values: the tuples say which columns, and two equal specifications have equal ones.
    for field in ("descending", "nulls_last"):
        names = getattr(spec, field)
        set_fields(spec, **{field: tuple(name for name in (spec.event_time, *spec.order) if name in names)})


def _check_frames(spec: OverOperator) -> None:
    # The one range that order columns allow ends with the last peer of the row, which the mirrored order
    # begins with.
    to_peers = ("range", 0, None) if spec.backwards else ("range", None, 0)
    for column in spec.columns:
        frame = column.frame
        ranged = frame is not None and frame.kind == "range"
        ranks = isinstance(column.what, RowFunction) and column.what.fn in ("rank", "dense_rank")
        peers = frame is not None and frame.exclude in ("group", "ties")
        if (ranged or ranks or peers) and spec.event_time is None:
            rule = "without an event time rows have no time to compare"
            remedy = "order by the event time" + ("" if ranks else ", or use rows")
            what = "a RANGE frame" if ranged else column.what.fn
            if peers and not ranged and frame is not None:
                what, remedy = (
                    f"exclude={frame.exclude!r}",
                    "order by the event time, or exclude the current row",
                )
            raise SpecError(f"{column.name}: {what} without an event time", rule, remedy)
        if ranged and frame is not None and spec.order and (frame.kind, frame.start, frame.end) != to_peers:
            rule = "a RANGE frame measures the distance of rows by the event time alone"
            shown = f"{column.name}: {frame!r} with order={spec.order!r}"
            raise SpecError(shown, rule, "leave the other columns out, or use rows")


def _check_ends(spec: OverOperator) -> None:
    """Checks that no column depends on all rows that are still to come."""
    for column in spec.columns:
        frame = column.frame
        if spec.backwards and isinstance(column.what, RowFunction) and column.what.fn in NUMBERINGS:
            rule = "with descending event time each new row would change the numbers of all rows before it"
            remedy = "order by ascending event time, or take the first rows: a ranking, or ROW_NUMBER() <= n"
            raise SpecError(f"{column.name}: {column.what.fn} with descending event time", rule, remedy)
        if frame is not None and (frame.start if spec.backwards else frame.end) is None:
            rule = "a stream has no last row, so no frame reaches to it"
            if spec.backwards:
                shown = f"{column.name}: {frame!r} with descending event time"
                raise SpecError(shown, rule, "start the frame at the current row, or at a number before it")
            raise SpecError(
                f"{column.name}: {frame!r}", rule, "end the frame at the current row, or at a number"
            )
