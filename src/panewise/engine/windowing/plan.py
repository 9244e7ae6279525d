"""The compiled specification: everything about an operator that does not change while it runs.

Invariant: a plan depends on the specification and the types of the input alone. So whoever has both, on any
worker, compiles the same plan. It changes once: when the state turns out to have closed windows
(:meth:`WindowPlan.with_closed_windows`). Cost: linear in the aggregates and in the nodes of the trigger, once
in a process unless the specification has functions of the user. What the clocks do not change is built at its
first use.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Self

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.evicting import EvictingAggregation
from panewise.engine.aggregate.holistic import range_aggregation
from panewise.engine.aggregate.in_arrival_order import ArrivalOrderAggregation
from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.aggregate.row_buffer import contents_of
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import END, KEY_WATERMARK, SLICE, START
from panewise.engine.ingest.validate import InputPort
from panewise.engine.kernels.small_frames import BuiltOnce, grouped
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.run import Shape
from panewise.engine.windowing import window_table
from panewise.engine.windowing.assign import assigning
from panewise.engine.windowing.panes import PaneFormat
from panewise.engine.windowing.slicing import slicing_of
from panewise.engine.windowing.sliding_bounds import Slide
from panewise.engine.windowing.trigger.periods import is_periodic
from panewise.engine.windowing.trigger.simple import SimpleTrigger, is_simple
from panewise.engine.windowing.trigger.tree import TriggerTree
from panewise.spec import (
    Cumulating,
    Custom,
    Hopping,
    Never,
    Sliding,
    WindowOperator,
    columns_of_window,
    counted,
    merging,
)
from panewise.spec.aggregates.aggregate import ORDERLESS
from panewise.spec.operators.windows import data_loss_reason
from panewise.spec.rules.sliding import fires_only_when_complete
from panewise.spec.type_checks import check_types


class WindowPlan(InputPort):
    """A specification compiled for input columns of known types."""

    def __init__(self, spec: WindowOperator, schema: Mapping[str, pl.DataType]) -> None:
        super().__init__(spec, schema)
        check_types(spec, types_of(schema))
        self.spec = spec
        self.once = BuiltOnce()
        self._set_clocks(spec)
        self._set_firings(spec)
        self._set_sliding(spec)
        self._set_table(spec)
        self.panes = PaneFormat(
            spec, {key: self.schema[key] for key in spec.keys}, self.aggregation.result_types
        )
        self.pane_schema = self.panes.schema
        self._set_slices(spec)
        # Partials of valid rows are made where rows are read, so only one for each key and slice is shuffled.
        # The same rows always result in the same bytes. The panes would not depend on the order of the
        # partials. But Spark may run a reader again when a shuffle was lost with an executor, and fails the
        # query if the bytes then differ.
        self.combine = partial(self.aggregation.lift, by=[*self.keys, SLICE])

    def _set_clocks(self, spec: WindowOperator) -> None:
        self.by_key = Clocks.initial(spec).by_key  # whether each key has a watermark of its own
        # Whether the watermark advances after each row, and not after each batch.
        self.advances_per_row = self.row_driven_inputs is not None and spec.evaluate == "record"
        self.by_row_number = counted(spec.window)  # whether watermarks and times are row numbers
        # Whether the windows of a row depend on the clock of the operator, which then assigns them.
        self.needs_clock = spec.time == "processing"

    def _set_firings(self, spec: WindowOperator) -> None:
        # The trigger as a tree; None if it needs no columns.
        self.tree = None if is_simple(spec.trigger) else TriggerTree(spec.trigger, self.schema)
        self.trigger = self.tree or SimpleTrigger(spec.trigger)
        self.transient = self.tree.transient if self.tree else []
        self.aggregation = _aggregation(spec, self.schema, self.transient)
        self.ordered = self.aggregation.ordered or (self.tree is not None and self.tree.ordered)
        self.periodic = is_periodic(spec.trigger)  # whether windows store the time of their first pending row
        self.retracting = spec.accumulation == "retracting"
        # Whether windows store their live pane, with which the next one is compared.
        self.compares = self.retracting or spec.only_updated
        self.can_close = data_loss_reason(spec) is not None  # else windows close only when they expire

    def _set_table(self, spec: WindowOperator) -> None:
        own: dict[str, pl.DataType] = {KEY_WATERMARK: pl.Int64()} if self.by_key else {}
        own = {**(self.tree.columns if self.tree else {}), **own}
        # How a new window is merged with a stored one, unless the trigger has a state that is merged, too.
        self.row_by_row_merge = (
            None if self.tree else window_table.row_by_row_merge(self.aggregation, periodic=self.periodic)
        )
        self.merges_in_any_order = self.tree is None and window_table.merges_in_any_order(self.aggregation)
        self.table_schema = window_table.table_schema(
            self.key_types, self.aggregation, own, live=self.compares
        )
        self.intake_schema = {**self.table_schema, **{part.name: part.dtype for part in self.transient}}
        self.no_windows = pl.DataFrame(schema=self.table_schema)
        self.identity = [*self.keys, START, END]
        # Windows are hashed by their keys alone if a step reads all those of a key.
        read_by_key = merging(spec.window) or self.by_key or spec.max_windows is not None
        self.shape = Shape(self.table_schema, self.identity, self.keys if read_by_key else self.identity)

    def _set_slices(self, spec: WindowOperator) -> None:
        self.slicing = slicing_of(spec.window)
        self.assign = assigning(spec, self.slicing)
        # Slices are hashed by their keys alone if a step reads all those of the keys of its rows.
        read_by_key = self.by_key or not self.made_when_complete
        sliced = {**self.key_types, START: pl.Int64(), END: pl.Int64(), **self.slice_aggregation.schema}
        self.slice_shape = Shape(sliced, self.identity, self.keys if read_by_key else self.identity)
        # Whether a window may contain several slices.
        self.has_several_slices = isinstance(spec.window, (Hopping, Cumulating, Custom))

    def _set_sliding(self, spec: WindowOperator) -> None:
        """Sets the attributes that only sliding windows use."""
        self.sliding = isinstance(spec.window, Sliding)
        self.made_when_complete = self.sliding and fires_only_when_complete(
            spec.trigger
        )  # whether windows are made only when they are complete
        # Whether the partials of a window are made from its slices at each change. If firings discard
        # partials, they are not, as the slices do not show which rows have fired.
        self.rebuilt_from_slices = spec.accumulation != "discarding" or isinstance(spec.trigger, Never)
        self.in_arrival_order = isinstance(self.aggregation, ArrivalOrderAggregation)
        self.slice_aggregation = self.aggregation
        # Partials that are never merged with those of a stored window need not be mergeable.
        if self.sliding and (self.rebuilt_from_slices or (self.made_when_complete and spec.lateness_us == 0)):
            self.aggregation = range_aggregation(self.slice_aggregation)

    def with_closed_windows(self) -> Self:
        """Returns the plan for a state that has closed windows."""
        other = copy(self)
        other.can_close, other.once = True, BuiltOnce()
        return other

    def combine_again(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Merges the partials of several readers per key and ``__slice``."""
        by = [*self.keys, SLICE]
        return grouped(partials, by, self.aggregation.merging(partials))

    @cached_property
    def slide(self) -> Slide:
        """The sliding windows of the specification, which must have such windows."""
        assert isinstance(self.spec.window, Sliding), self.spec.window
        return Slide(self.spec.window, self.keys)

    @property
    def order_matters(self) -> bool:
        """Whether the order of a batch's rows matters even if none of them is before a horizon."""
        more = self.can_close or self.by_key or self.spec.max_windows is not None
        return self.ties_matter or more or isinstance(self.spec.window, Custom)

    @cached_property
    def ties_matter(self) -> bool:
        """Whether rows of the same event time must keep their order even if the late output is not used."""
        spec = self.spec
        if (
            self.by_row_number
            or self.ordered
            or spec.evaluate == "record"
            or bool(spec.order)
            or spec.position is not None
        ):
            return True
        # Rows of the same event time may have windows of different lengths. The row with the short window may
        # be late if it arrives first. If it arrives second, it may merge into the session of the other row.
        return merging(spec.window) and bool(columns_of_window(spec.window))

    @cached_property
    def can_combine(self) -> bool:
        """Whether rows may be pre-aggregated before they reach the state, if the late output is not used.

        They may if nothing needs the single rows later. Order-sensitive aggregates, source positions and
        triggers that look at each row need them, for example.
        """
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
            and not self.by_row_number
            and spec.max_windows is None
        )


def _aggregation(
    spec: WindowOperator, schema: dict[str, pl.DataType], transient: Sequence[PartialColumn]
) -> Aggregation:
    """Returns the aggregates compiled for the kind of windows, and for an evictor if there is one."""
    if isinstance(spec.window, Sliding) and any(aggregate.ordered for aggregate in spec.measures):
        return ArrivalOrderAggregation(spec.measures, schema, transient)
    contents = contents_of(spec, schema)
    if contents is None or spec.evictor is None:
        return Aggregation(spec.measures, schema, transient, contents)
    return EvictingAggregation(spec.measures, schema, transient, contents)
