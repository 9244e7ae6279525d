"""The plan of a cogroup: its ports, and the plan of the windows over the rows of both sides."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import NUMBER, user_columns
from panewise.engine.ingest.validate import EntryPort, check_columns
from panewise.engine.join import window_rows
from panewise.engine.protocol import Schema, Schemas
from panewise.engine.windowing.assign import assigning
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import CogroupOperator, parts
from panewise.spec.operators.cogroup.windowing import (
    IS_LEFT,
    VALUE,
    both_column,
    number_column,
    own_column,
    struct_column,
    value_column,
    window_operator,
)
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.side_entry import SideEntry
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME, row_keys

HEADER: Final = "windows"  # the field of the header that has the header of the windows


class CogroupPort(EntryPort):
    """The input port of a side.

    Attributes:
        columns: the columns of the rows of the windows, made from valid rows of the side with numbers.
    """

    entry: SideEntry
    needs_clock = False
    # Rows of equal time keep their order, so that a step that is repeated numbers them in the same way.
    ties_matter = True

    def __init__(self, spec: CogroupOperator, name: str, schema: Schema, windows: WindowPlan) -> None:
        super().__init__(spec.ports[name], schema)
        self.columns, self._windows = _selected(_columns(spec, name), windows.schema), windows
        self.assign = assigning(windows.spec, windows.slicing)
        # Rows with a source position are tested for replays one by one.
        self.can_combine = windows.can_combine and not any(side.position for side in spec.sides.values())
        names = zip(windows.keys, self.keys, strict=True)
        self._names = {mine: name for mine, name in names if mine != name}

    def combine(self, valid: pl.DataFrame) -> pl.DataFrame:
        """Returns the partials of valid rows per key and ``__slice``, as :meth:`WindowPlan.combine` does.

        The keys have the names of the side. No aggregate that can be combined reads the numbers of rows.
        """
        numbered = valid.with_columns(pl.lit(0, dtype=pl.Int64).alias(NUMBER))
        return self._windows.combine(self.as_rows(numbered)).rename(self._names)

    def combine_again(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Merges the partials of several readers per key and ``__slice``."""
        return self._windows.combine_again(self.of_windows(partials)).rename(self._names)

    def of_windows(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Returns partials with the keys of the windows."""
        return partials.rename({name: mine for mine, name in self._names.items()})

    def as_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns valid rows, with their numbers, as rows of the windows."""
        return window_rows.of_side(rows, self.columns)


class CogroupPlan:
    """The compiled cogroup.

    Attributes:
        windows: the plan of the windows over the rows of both sides.
        ports: the input ports.
        entries: the specifications of the ports.
        names: the names that the key columns of the windows have in panes: those of the left side.
        pane_schema: the columns of panes.
    """

    def __init__(self, spec: CogroupOperator, schemas: Schemas) -> None:
        own = {side: user_columns(schemas[side]) for side in spec.sides}
        parts(spec).check_types(spec, {side: types_of(schema) for side, schema in own.items()})
        for side, entry in spec.ports.items():
            check_columns(entry, schemas[side])
        operator = window_operator(spec)
        types = {n: dtype for n, dtype in _types(spec, schemas).items() if n in operator.columns_read}
        self.spec, self.windows = spec, WindowPlan(operator, types)
        self.ports = {side: CogroupPort(spec, side, schemas[side], self.windows) for side in spec.sides}
        self.entries = {name: port.entry for name, port in self.ports.items()}
        self.names = row_keys(spec.keys)
        panes = self.windows.pane_schema
        self.pane_schema = {self.names.get(name, name): dtype for name, dtype in panes.items()}

    def as_rows(self, rows: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Returns rows of both sides, with their numbers, as rows of the windows, in arrival order."""
        return window_rows.of_both(rows, {side: self.ports[side].columns for side in rows})


def _selected(columns: Mapping[str, pl.Expr], types: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Returns an expression for each of these columns, in its type; null for a column of the other side."""
    return [columns.get(name, pl.lit(None)).cast(dtype).alias(name) for name, dtype in types.items()]


def _columns(spec: CogroupOperator, side: str) -> dict[str, pl.Expr]:
    """Returns the columns of the windows that are not null in rows of a side, made from these rows."""
    own = window_rows.own_columns(spec.sides[side].keys)
    own |= {number_column(side): pl.col(NUMBER), own_column(side): pl.lit(True)}
    shared = {name: pl.col(name) for name in spec.shared_columns}
    values = {value_column(side, name): pl.col(name) for name in spec.values(side)}
    structs = {struct_column(side, name): pl.struct(pl.col(name).alias(VALUE)) for name in spec.values(side)}
    pairs = spec.both_aggregates
    both = {both_column(pair.left, pair.right): _of_both(side, pair.of(side)) for pair in pairs}
    return {**own, **shared, **values, **structs, **both}


def _of_both(side: str, column: str) -> pl.Expr:
    """Returns structs of both sides. The cast to their type adds the field of the other side, as null."""
    return pl.struct(pl.lit(side == LEFT).alias(IS_LEFT), pl.col(column).alias(side))


def _types(spec: CogroupOperator, schemas: Schemas) -> dict[str, pl.DataType]:
    left, types = schemas[LEFT], dict[str, pl.DataType]()
    types |= {mine: left[name] for mine, name in row_keys(spec.keys).items()}
    types |= {ROW_TIME: pl.Int64(), ROW_NUMBER: pl.Int64()}
    types |= {name: left[name] for name in spec.shared_columns}
    for side in spec.sides:
        types[number_column(side)] = pl.Int64()
        types[own_column(side)] = pl.Boolean()
        for name in spec.values(side):
            dtype = schemas[side][name]
            types[value_column(side, name)] = dtype
            types[struct_column(side, name)] = pl.Struct({VALUE: dtype})
    for pair in spec.both_aggregates:
        fields = {LEFT: left[pair.left], RIGHT: schemas[RIGHT][pair.right]}
        types[both_column(pair.left, pair.right)] = pl.Struct({IS_LEFT: pl.Boolean(), **fields})
    return types
