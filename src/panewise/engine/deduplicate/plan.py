"""The plan of a deduplication: its specification, compiled for the types of its input (semantics 45)."""

from collections.abc import Mapping

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import ARRIVAL_NUMBER, END, START, STORED_TIME, user_columns
from panewise.engine.ingest.validate import InputPort, UncombinedPort
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.run import Shape
from panewise.errors import SpecError
from panewise.spec import DeduplicateOperator
from panewise.spec.operators.panes import OP
from panewise.spec.type_checks import check_types


class DeduplicatePlan(UncombinedPort, InputPort):
    """The compiled deduplication.

    The operator has one or two tables:

    - `groups`: for each group its keys, its anchor (START), and the instant from which no row can join it
      (END). If the chosen row can still be replaced, the chosen row, too, with its time and arrival number.
    - `waiting`, with `emit="complete"` and an event time: the rows that have not been taken.
    """

    def __init__(self, spec: DeduplicateOperator, schema: Mapping[str, pl.DataType]) -> None:
        super().__init__(spec, schema)
        check_types(spec, types_of(schema))
        if spec.emit == "retracting" and OP in schema:
            rule = "the column op marks retractions, so no input column has this name"
            raise SpecError(f"{OP!r} twice", rule, "rename the column of the input")
        self.spec = spec
        self.payload = user_columns(self.schema)
        self.pane_schema = self.payload | ({OP: pl.String()} if spec.emit == "retracting" else {})
        self.stores_rows = not spec.keeps_what_it_takes_first
        keys = {name: self.schema[name] for name in self.keys}
        bounds = {START: pl.Int64(), END: pl.Int64()}
        chosen = {**self.payload, STORED_TIME: pl.Int64(), ARRIVAL_NUMBER: pl.Int64()}
        self.groups = Shape(
            {**(chosen if self.stores_rows else keys), **bounds}, [*self.keys, START], self.keys
        )
        number = {ARRIVAL_NUMBER: pl.Int64()} if self.stores_rows else {}
        self.waiting = Shape({**self.payload, **number, END: pl.Int64()}, [END], [])


def reached_by(clocks: Clocks) -> int | None:
    """Returns the watermark, the last instant after the end of input."""
    return MAX_INSTANT if clocks.finished else clocks.watermark


def taken_until(clocks: Clocks) -> int | None:
    """Returns the time up to which, inclusive, waiting rows have been taken; None if none has."""
    reached = reached_by(clocks)
    return reached if reached is None or clocks.finished else max(MIN_INSTANT, reached - 1)


def group_horizon(spec: DeduplicateOperator, clocks: Clocks) -> int | None:
    """Returns the horizon: groups that end at it or before it have expired. None if no group has."""
    if spec.within_us is None and not clocks.finished:
        return None
    return reached_by(clocks)
