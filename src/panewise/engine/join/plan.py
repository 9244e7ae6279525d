"""The plan of a join: its specification, compiled for the types of its inputs."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import END, MATCHED, NUMBER, ONE_KEY, REASON, TIME
from panewise.engine.ingest.late_output import late_schema
from panewise.engine.ingest.schema import check_columns
from panewise.engine.ingest.uncombined import UncombinedPort
from panewise.engine.ingest.validate import ValidationResult, validate
from panewise.engine.kernels.conditions import CompiledCondition, compile_condition
from panewise.engine.kernels.instants import saturating_sum
from panewise.engine.protocol import Schema, Schemas
from panewise.spec import JoinOperator, parts, row_driven
from panewise.spec.conditions import columns_of
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, OP, RIGHT, Selected
from panewise.spec.operators.join.entry import SideEntry


class SidePort(UncombinedPort):
    """The input port of a side, and how its rows are stored.

    Attributes:
        stored: the columns of a row that the state has: those that keys and emitted rows need, with time,
            number and expiry.
    """

    needs_clock = False

    def __init__(self, spec: JoinOperator, name: str, schema: Schema, selected: tuple[Selected, ...]) -> None:
        self.name, self.entry, self.schema = name, spec.ports[name], dict(schema)
        check_columns(self.entry, self.schema)
        self.keys = list(self.entry.keys) or [ONE_KEY]
        self.row_driven_inputs = row_driven(self.entry.watermark)
        # Rows of equal time keep their order, so that a step that is repeated numbers them in the same way.
        self.ties_matter = True
        self.late_schema, self.invalid_schema = late_schema(self.schema), {**self.schema, REASON: pl.String()}
        self.stored = self._stored(spec, selected)

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid and the invalid rows of a batch."""
        return validate(self.entry, self.schema, rows, processing_time)

    def _stored(self, spec: JoinOperator, selected: tuple[Selected, ...]) -> dict[str, pl.DataType]:
        mine = (self.name, EITHER) if self.name == LEFT else (self.name,)
        compared = columns_of(spec.condition, self.name) if spec.condition is not None else ()
        names = [*self.entry.keys, *compared, *(one.column for one in selected if one.side in mine)]
        keys = {} if self.entry.keys else {ONE_KEY: pl.Int8()}
        own = {TIME: pl.Int64(), NUMBER: pl.Int64(), END: pl.Int64()}
        return {**keys, **{name: self.schema[name] for name in names}, **own}


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
    def of(cls, spec: JoinOperator, schemas: Schemas) -> "JoinPlan":
        """Compiles a join for the columns of its inputs.

        Raises:
            SpecError: if a column is missing, if two emitted columns have one name, or if a column has a type
                that the specification cannot use.
        """
        columns = {side: [name for name in schemas[side] if not name.startswith("__")] for side in spec.sides}
        own = {side: {name: schemas[side][name] for name in names} for side, names in columns.items()}
        parts(spec).check_types(spec, {side: types_of(schema) for side, schema in own.items()})
        selected = spec.selected(columns)
        ports = {side: SidePort(spec, side, schemas[side], selected) for side in spec.sides}
        types = {one.name: schemas[RIGHT if one.side == RIGHT else LEFT][one.column] for one in selected}
        added = {OP: pl.String(), MISSING: pl.String(), JOIN_TIME: pl.Int64()}
        columns_added = {name: added[name] for name in spec.added_columns}
        return cls(spec, selected, ports, types | columns_added, _compiled(spec, ports))

    @property
    def entries(self) -> dict[str, SideEntry]:
        """The specifications of the ports."""
        return {name: port.entry for name, port in self.ports.items()}


def named(side: str, column: str) -> str:
    """Returns the name of a side's column among the columns of a pair.

    >>> named("left", "__time")
    '__time:left'
    """
    return f"{column}:{side}"


def _compiled(spec: JoinOperator, ports: Mapping[str, SidePort]) -> CompiledCondition | None:
    if spec.condition is None:
        return None
    schema = {named(side, name): dtype for side, port in ports.items() for name, dtype in port.schema.items()}
    return compile_condition(spec.condition, named, schema)


def as_stored(
    port: SidePort, rows: pl.DataFrame | None, schema: Mapping[str, pl.DataType], last: int | None
) -> pl.DataFrame:
    """Returns applied rows of a side with the columns of its table; no rows for None.

    ``__end`` is the last instant at which a row can match them: `last` microseconds after them (37.1), or the
    last instant of all if `last` is None.
    """
    if rows is None:
        return pl.DataFrame(schema=schema)
    never = pl.lit(MAX_INSTANT, dtype=pl.Int64)
    ends = never if last is None else pl.lit(saturating_sum(rows[TIME], last))
    return rows.with_columns(ends.alias(END), pl.lit(False).alias(MATCHED)).select(*schema)


def with_keys(port: SidePort, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows without a null key. The others have no partner (semantics 28)."""
    nullable = [name for name in port.keys if rows[name].null_count()]
    return rows.drop_nulls(nullable) if nullable else rows
