"""A specification over columns of known types: everything about an operator that does not change."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.arrival_order import ArrivalOrderAggregation
from panewise.engine.aggregate.evicting import EvictingAggregation
from panewise.engine.aggregate.holistic import told
from panewise.engine.aggregate.partials import Part
from panewise.engine.aggregate.row_buffer import contents_of
from panewise.engine.columns import END, KEY_WATERMARK, ONE_KEY, REASON, START
from panewise.engine.ingest.schema import check_columns
from panewise.engine.ingest.validate import ValidationResult, validate
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.run import Shape
from panewise.engine.windowing import lateness, panes, window_table
from panewise.engine.windowing.assign import slicing_of
from panewise.engine.windowing.sliding_bounds import Slide
from panewise.engine.windowing.trigger.periods import is_periodic
from panewise.engine.windowing.trigger.simple import SimpleTrigger, is_simple
from panewise.engine.windowing.trigger.tree import TriggerTree
from panewise.engine.windowing.unassignable import split_unassignable
from panewise.spec import (
    Cumulating,
    Custom,
    Hopping,
    Never,
    Sliding,
    WindowOperator,
    columns_of,
    counted,
    merging,
    told_by_rows,
)
from panewise.spec.aggregates import ORDERLESS
from panewise.spec.operator import data_loss_reason
from panewise.spec.sliding_checks import only_at_end


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
        own = {**self.trigger.columns, **({KEY_WATERMARK: pl.Int64()} if self.by_key else {})}
        self._of_sliding(spec)
        self.table_schema = window_table.table_schema(key_types, self.aggregation, own, live=self.compares)
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
        self.gathers = isinstance(self.aggregation, ArrivalOrderAggregation)
        self.pieces = self.aggregation  # of slices
        # What is never put together with what a window holds need not be such that it can be.
        if self.sliding and (self.remade or (self.lazy and spec.lateness_us == 0)):
            self.aggregation = told(self.pieces)

    @property
    def slide(self) -> Slide:
        """The sliding windows, where there are such."""
        assert isinstance(self.spec.window, Sliding), self.spec.window
        return Slide(self.spec.window, self.keys)

    @property
    def ties_matter(self) -> bool:
        """Whether rows of the same event time must keep their order, if the late rows are not wanted."""
        spec = self.spec
        if self.counted or self.ordered or spec.evaluate == "record" or bool(spec.order) or spec.position is not None:
            return True
        # Of two such rows the first may be late, and then merged into the session that the second one opens.
        return merging(spec.window) and bool(columns_of(spec.window))

    @property
    def can_combine(self) -> bool:
        """Whether rows may be combined before they meet state, if the late rows are not wanted."""
        spec = self.spec
        return (
            all(aggregate.fn in ORDERLESS for aggregate in spec.measures)
            and not self.ordered
            and self.slicing is not None
            and spec.evaluate == "batch"
            and spec.position is None
            and spec.drop_by == "window"
            and spec.time == "event"
            and not self.by_key
            and not self.counted
        )

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid rows of a batch, assigned to their slices, and the invalid ones.

        Without `windows` rows are not assigned yet: where windows depend on processing time, it must be the operator's.
        """
        assign = partial(split_unassignable, self.spec, self.slicing) if windows else None
        return validate(self.spec, self.schema, rows, processing_time, assign)

    def no_windows(self) -> pl.DataFrame:
        """An empty window table."""
        return pl.DataFrame(schema=self.table_schema)


def _aggregation(spec: WindowOperator, schema: dict[str, pl.DataType], passing: Sequence[Part]) -> Aggregation:
    if isinstance(spec.window, Sliding) and any(aggregate.ordered for aggregate in spec.measures):
        return ArrivalOrderAggregation(spec.measures, schema, passing)
    contents = contents_of(spec, schema)
    if contents is None or spec.evictor is None:
        return Aggregation(spec.measures, schema, passing, contents)
    return EvictingAggregation(spec.measures, schema, passing, contents)
