"""A specification over columns of known types: everything about an operator that does not change."""

from collections.abc import Mapping, Sequence

import polars as pl

from panewise.engine import lateness, panes, table
from panewise.engine.aggregation import Aggregation
from panewise.engine.assign import END, START, slicing_of
from panewise.engine.clocks import KEY_MARK, Clocks
from panewise.engine.column_types import types_of
from panewise.engine.contents import contents_of
from panewise.engine.evicting import Evicting
from panewise.engine.gathering import Gathering
from panewise.engine.outputs import REASON
from panewise.engine.partials import Part
from panewise.engine.periods import is_periodic
from panewise.engine.runs import Shape
from panewise.engine.sliding import Slide
from panewise.engine.told import told
from panewise.engine.trigger_simple import SimpleTrigger, is_simple
from panewise.engine.trigger_tree import TriggerTree
from panewise.engine.validity import MARKS
from panewise.errors import SpecError
from panewise.spec import (
    Cumulating,
    Custom,
    Entry,
    Hopping,
    Never,
    Sliding,
    WindowOperator,
    counted,
    merging,
    told_by_rows,
)
from panewise.spec.operator import data_loss_reason
from panewise.spec.sliding_checks import only_at_end
from panewise.spec.type_checks import check_types

ROW = "__row"  # a column of this name is the caller's number of a row, and comes back with it
ONE_KEY = "__all"  # stands for the key where the specification has none


class Plan:
    """The compiled operator.

    Raises:
        SpecError: if a column is missing, or has a type that the specification cannot use.
    """

    def __init__(self, spec: WindowOperator, schema: Mapping[str, pl.DataType]) -> None:
        check_columns(spec, schema)
        self.spec = spec
        self.schema = dict(schema)
        self.trigger = SimpleTrigger(spec.trigger) if is_simple(spec.trigger) else TriggerTree(spec.trigger, self.schema)
        self.aggregation = _aggregation(spec, self.schema, self.trigger.passing)
        self.ordered = self.aggregation.ordered or self.trigger.ordered
        self.periodic = is_periodic(spec.trigger)  # windows know since when rows are pending
        self.keys = list(spec.keys) or [ONE_KEY]
        key_types = {key: self.schema.get(key, pl.Int8()) for key in self.keys}
        self.retracting = spec.accumulation == "retracting"
        self.compares = self.retracting or spec.only_updated  # with the live pane, which is kept for that
        self.by_key = Clocks.of(spec).by_key  # each key has a watermark of its own
        self.hears = told_by_rows(spec.watermark)  # the inputs, if rows tell their watermarks
        self.each_tells = self.hears is not None and spec.evaluate == "record"  # each row after it came; else all after a batch
        self.counted = counted(spec.window)  # watermarks and times are numbers of rows
        own = {**self.trigger.columns, **({KEY_MARK: pl.Int64()} if self.by_key else {})}
        self._of_sliding(spec)
        self.table_schema = table.table_schema(key_types, self.aggregation, own, live=self.compares)
        self.taking_schema = {**self.table_schema, **{part.name: part.dtype for part in self.trigger.passing}}
        self.identity = [*self.keys, START, END]
        self.shape = Shape(self.table_schema, self.identity, self.keys if merging(spec.window) or self.by_key else self.identity)
        self.pane_schema = panes.schema(spec, key_types, self.aggregation.result_types)
        self.late_schema = lateness.late_schema(self.schema)
        self.invalid_schema = {**self.schema, REASON: pl.String()}
        self.slicing = slicing_of(spec.window)
        together = self.by_key or not self.lazy  # all slices of a key are looked at with its rows
        sliced = {**key_types, START: pl.Int64(), END: pl.Int64(), **self.pieces.schema}
        self.slices = Shape(sliced, self.identity, self.keys if together else self.identity)
        self.slices_meet = isinstance(spec.window, (Hopping, Cumulating, Custom))  # a window may hold several slices
        self.can_close = data_loss_reason(spec) is not None  # else a window that closes expires as it does

    def _of_sliding(self, spec: WindowOperator) -> None:
        """What belongs to sliding windows only."""
        self.sliding = isinstance(spec.window, Sliding)
        self.lazy = self.sliding and only_at_end(spec.trigger)  # windows are made when they are complete
        # A window's contents come from slices each time, unless it drops them when it fires.
        self.remade = spec.accumulation != "discarding" or isinstance(spec.trigger, Never)
        self.gathers = isinstance(self.aggregation, Gathering)
        self.pieces = self.aggregation  # of slices
        # What is never put together with what a window holds need not be such that it can be.
        if self.sliding and (self.remade or (self.lazy and spec.lateness_us == 0)):
            self.aggregation = told(self.pieces)

    @property
    def slide(self) -> Slide:
        """The sliding windows, where there are such."""
        assert isinstance(self.spec.window, Sliding), self.spec.window
        return Slide(self.spec.window, self.keys)

    def no_windows(self) -> pl.DataFrame:
        """An empty window table."""
        return pl.DataFrame(schema=self.table_schema)


def _aggregation(spec: WindowOperator, schema: dict[str, pl.DataType], passing: Sequence[Part]) -> Aggregation:
    if isinstance(spec.window, Sliding) and any(aggregate.ordered for aggregate in spec.measures):
        return Gathering(spec.measures, schema, passing)
    contents = contents_of(spec, schema)
    if contents is None or spec.evictor is None:
        return Aggregation(spec.measures, schema, passing, contents)
    return Evicting(spec.measures, schema, passing, contents)


def check_columns(spec: Entry, schema: Mapping[str, pl.DataType]) -> None:
    """Refuses columns that are not there, or that have a type that the specification cannot use."""
    for name in spec.columns_read:
        if name not in schema:
            remedy = f"use one of the columns {sorted(schema)}"
            raise SpecError(f"column {name!r}", "the operator's columns are in its input", remedy)
    own = [name for name in schema if name.startswith("__") and name not in (ROW, *MARKS)]
    if own:
        raise SpecError(f"column {own[0]!r}", "names that start with '__' are the operator's own", "rename the column")
    check_types(spec, types_of(schema))
