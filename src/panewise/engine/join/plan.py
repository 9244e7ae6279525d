"""The plan of a join: its specification, compiled for the types of its inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import END, MATCHED, NUMBER, ONE_KEY, ORDINAL, TIME, user_columns
from panewise.engine.ingest.validate import EntryPort, UncombinedPort, ValidationResult, check_units
from panewise.engine.kernels.conditions import CompiledCondition, compile_condition
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import Mask, filter_rows
from panewise.engine.protocol import Schema, Schemas
from panewise.engine.windowing.assign import assigning
from panewise.engine.windowing.slicing import slicing_of
from panewise.spec import JoinOperator, parts
from panewise.spec.conditions import columns_of_side
from panewise.spec.operators.join.columns import (
    EITHER,
    INDEX,
    IS_FIRST,
    IS_LAST,
    JOIN_TIME,
    LEFT,
    MISSING,
    NONSPECULATIVE_INDEX,
    OTHER,
    RIGHT,
    TIMING,
    Selected,
)
from panewise.spec.operators.join.side_entry import SideEntry
from panewise.spec.operators.join.windowing import window_operator
from panewise.spec.operators.panes import BOUNDS, OP


class SidePort(UncombinedPort, EntryPort):
    """The input port of a side, and how its rows are stored.

    Attributes:
        stored: the columns of a row that the state has: those that keys, the condition and emitted rows need,
            with time, number and expiry.
        alone: those that are needed to emit the row without a partner, with time, number and expiry.
    """

    entry: SideEntry

    def __init__(self, spec: JoinOperator, name: str, schema: Schema, selected: tuple[Selected, ...]) -> None:
        entry = spec.ports[name]
        super().__init__(entry, schema)
        self.name, self.compared = name, entry.compared
        check_units(entry.compared, self.schema)
        self.stored, self.alone = self._stored(spec, selected), self._alone(selected)
        if entry.window is not None:
            self.assign = assigning(window_operator(spec), slicing_of(entry.window))

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid and the invalid rows of a batch.

        Without event times all rows have one constant time, so that rows are equal in it (36.13).
        """
        time = processing_time if self.entry.time_columns else 0
        return super().validate(rows, time, windows=windows)

    def _stored(self, spec: JoinOperator, selected: tuple[Selected, ...]) -> dict[str, pl.DataType]:
        compared = columns_of_side(spec.condition, self.name) if spec.condition is not None else ()
        keys = {} if self.entry.keys else {ONE_KEY: pl.Int8()}
        return {
            **keys,
            **{name: self.schema[name] for name in self.entry.keys + compared},
            **self._alone(selected),
        }

    def _alone(self, selected: tuple[Selected, ...]) -> dict[str, pl.DataType]:
        mine = (self.name, EITHER) if self.name == LEFT else (self.name,)
        names = [*self.entry.keys, *(column.column for column in selected if column.side in mine)]
        own = {TIME: pl.Int64(), NUMBER: pl.Int64(), END: pl.Int64()}
        return {**{name: self.schema[name] for name in names}, **own}


@dataclass(frozen=True)
class JoinPlan:
    """The compiled join.

    Attributes:
        spec: the specification.
        selected: the columns of emitted rows, besides those that the join adds.
        ports: the input ports.
        pane_schema: the columns of emitted rows.
        condition: the compiled condition, None if there is none. The columns of its pairs have the names that
            :func:`named` returns.
    """

    spec: JoinOperator
    selected: tuple[Selected, ...]
    ports: Mapping[str, SidePort]
    pane_schema: dict[str, pl.DataType]
    condition: CompiledCondition | None

    @classmethod
    def compile(cls, spec: JoinOperator, schemas: Schemas) -> "JoinPlan":
        """Compiles a join for the columns of its inputs."""
        own = {side: user_columns(schemas[side]) for side in spec.sides}
        parts(spec).check_types(spec, {side: types_of(schema) for side, schema in own.items()})
        selected = spec.selected(own)
        ports = {side: SidePort(spec, side, schemas[side], selected) for side in spec.sides}
        types = {
            value.name: schemas[RIGHT if value.side == RIGHT else LEFT][value.column] for value in selected
        }
        instants = dict.fromkeys((*BOUNDS, JOIN_TIME), pl.Int64())
        added = {OP: pl.String(), MISSING: pl.String(), TIMING: pl.String(), **instants}
        added |= dict.fromkeys((INDEX, NONSPECULATIVE_INDEX), pl.Int64())
        added |= dict.fromkeys((IS_FIRST, IS_LAST), pl.Boolean())
        columns_added = {name: added[name] for name in spec.added_columns}
        return cls(spec, selected, ports, types | columns_added, _compiled(spec, ports))

    @cached_property
    def entries(self) -> dict[str, SideEntry]:
        """The specifications of the ports."""
        return {name: port.entry for name, port in self.ports.items()}


def named(side: str, column: str) -> str:
    """Returns the name of a side's column among the columns of a pair.

    >>> named("left", "__time")
    '__time:left'
    """
    return f"{column}:{side}"


def satisfied(plan: JoinPlan, taken: Callable[[str, Sequence[str]], pl.DataFrame]) -> pl.Series | None:
    """Returns whether each pair satisfies the condition (semantics 38); None if there is none.

    `taken` returns columns of the pairs' rows of a side.
    """
    if plan.condition is None or plan.spec.condition is None:
        return None
    columns = []
    for side in plan.ports:
        names = columns_of_side(plan.spec.condition, side)
        rows = taken(side, names) if names else pl.DataFrame()
        columns += [column.alias(named(side, column.name)) for column in rows.get_columns()]
    return plan.condition.matches(pl.DataFrame(columns))


def _compiled(spec: JoinOperator, ports: Mapping[str, SidePort]) -> CompiledCondition | None:
    if spec.condition is None:
        return None
    schema = {named(side, name): dtype for side, port in ports.items() for name, dtype in port.schema.items()}
    return compile_condition(spec.condition, named, schema)


def last_match(us: int | None) -> pl.Expr:
    """Returns the last instant at which a row can match another one (37.1), as the column ``__end``.

    It is so many microseconds after the row; for None the last instant of all.
    """
    end = pl.lit(MAX_INSTANT, dtype=pl.Int64) if us is None else shifted(pl.col(TIME), us)
    return end.alias(END)


def as_stored(rows: pl.DataFrame | None, schema: Mapping[str, pl.DataType], end: pl.Expr) -> pl.DataFrame:
    """Returns applied rows of a side with the columns of its table; no rows for None.

    `end` is what :func:`last_match` returns.
    """
    if rows is None:
        return pl.DataFrame(schema=schema)
    no_partner = pl.lit(False).alias(MATCHED), pl.lit(0, dtype=pl.Int64).alias(ORDINAL)
    return rows.with_columns(end, *no_partner).select(*schema)


def ending_after(rows: pl.DataFrame, horizon: int | None) -> pl.DataFrame:
    """Returns the rows, with the columns of their table, that have not expired at a horizon."""
    return rows if horizon is None else filter_rows(rows, rows[END] > horizon)


def with_keys(port: SidePort, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows without a null key. The others have no partner (semantics 28)."""
    nullable = [name for name in port.keys if rows[name].null_count()]
    return rows.drop_nulls(nullable) if nullable else rows


def has_null_key(port: SidePort, rows: pl.DataFrame) -> Mask:
    """Returns which rows have a null key."""
    return rows.select(pl.any_horizontal(pl.col(port.keys).is_null())).to_series().to_numpy()


def keys_of(plan: JoinPlan, side: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the keys of rows of a side, under the names of the other side."""
    mine, others = (plan.ports[name].keys for name in (side, OTHER[side]))
    return rows.select(pl.col(name).alias(other) for name, other in zip(mine, others, strict=True))
