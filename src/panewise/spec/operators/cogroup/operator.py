"""The specification of a cogroup (semantics 43). Values only."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import COGROUP, Family
from panewise.spec.aggregates.aggregate import Aggregate, check_made
from panewise.spec.aggregates.functions import count
from panewise.spec.aggregates.user_merge import MergeAggregate
from panewise.spec.fields import set_fields, several
from panewise.spec.operators.join.checks import (
    check_has_event_times,
    check_keys,
    check_lateness_of_windows,
    check_sides,
    check_watermarks,
)
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.side_entry import SideEntry, TwoSided
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.triggers.composite import DEFAULT_TRIGGER, Trigger, trigger_columns
from panewise.spec.watermarks import StreamTime
from panewise.spec.windows.kinds import AnyWindow, positive
from panewise.spec.windows.traits import columns_of_window, counted

# The fields that a cogroup has in common with a window operator.
FIELDS_OF_WINDOWS: Final = (
    "window",
    "trigger",
    "accumulation",
    "allowed_lateness",
    "drop_by",
    "on_time",
    "closing",
    "only_updated",
    "timestamp",
    "evaluate",
)


@dataclass(frozen=True, kw_only=True)
class CogroupOperator(TwoSided):
    """A cogroup of two inputs: a pane for each key and window, with aggregates of each side and of both.

    Args:
        left: the left side.
        right: the right side, with as many keys as the left one. Panes have the keys under their left names.
        window: the windows, as of a window operator, except windows of rows. They are made from the rows of
            both sides.
        left_aggregates: aggregates over the rows of the left side.
        right_aggregates: aggregates over the rows of the right side.
        both_aggregates: user-defined aggregates over the rows of both sides, which a
            :class:`panewise.UserMergeAggregate` makes. One aggregate at least is given in all.
        trigger: as in :class:`panewise.WindowOperator`.
        accumulation: as there. Default: "accumulating".
        allowed_lateness: as there. The watermark is the lower one of both sides. Default: 0.
        drop_by: as there. Default: "window".
        on_time: as there.
        closing: as there.
        only_updated: as there.
        timestamp: as there. "earliest" and "latest" are of the rows of both sides.
        evaluate: "batch" or "record": whether triggers are evaluated, and the watermarks that rows drive
            move, after each batch or after each row. Default: "batch".
        watermark: StreamTime(per="all") for one watermark of both sides. Default: each side has its own.
        idle_after: a length of processing time after which a silent side does not delay the other side.
            Default: none. An int is in microseconds.
        strict: as in :class:`panewise.WindowOperator`.

    Raises:
        SpecError: if a value breaks a rule, or has no effect; the message says which.

    >>> from panewise import Tumbling
    >>> from panewise import functions as F
    >>> orders, parcels = Side(keys=["id"]), Side(keys=["order_id"])
    >>> spec = CogroupOperator(left=orders, right=parcels, window=Tumbling("1 hour"),
    ...     left_aggregates=[F.sum("amount").alias("ordered")], right_aggregates=[F.count().alias("parcels")])
    >>> spec.keys, spec.accumulation, spec.ports["right"].columns_read
    (('id',), 'accumulating', ('order_id', 'event_time'))

    Source: semantics 43; S4 merge operators, CoGroup and MergeAccumulation; pyspark cogroup.
    """

    family: ClassVar[Family] = COGROUP

    left: Side
    right: Side
    window: AnyWindow
    left_aggregates: tuple[Aggregate, ...] = ()
    right_aggregates: tuple[Aggregate, ...] = ()
    both_aggregates: tuple[MergeAggregate, ...] = ()
    trigger: Trigger = DEFAULT_TRIGGER
    accumulation: Literal["discarding", "accumulating", "retracting"] = "accumulating"
    allowed_lateness: Duration | Literal["unlimited"] = field(default=Duration(0))
    drop_by: Literal["window", "row"] = "window"
    on_time: Literal["if_pending", "always"] = "if_pending"
    closing: Literal["if_pending", "always"] = "if_pending"
    only_updated: bool = False
    timestamp: Literal["end", "window_time", "earliest", "latest"] | None = None
    evaluate: Literal["batch", "record"] = "batch"
    watermark: StreamTime | None = None
    idle_after: Duration | None = None

    def __init__(
        self,
        *,
        left: Side,
        right: Side,
        window: AnyWindow,
        left_aggregates: Iterable[Aggregate] = (),
        right_aggregates: Iterable[Aggregate] = (),
        both_aggregates: Iterable[MergeAggregate] = (),
        trigger: Trigger = DEFAULT_TRIGGER,
        accumulation: Literal["discarding", "accumulating", "retracting"] = "accumulating",
        allowed_lateness: DurationLike | Literal["unlimited"] = 0,
        drop_by: Literal["window", "row"] = "window",
        on_time: Literal["if_pending", "always"] | None = None,
        closing: Literal["if_pending", "always"] = "if_pending",
        only_updated: bool = False,
        timestamp: Literal["end", "window_time", "earliest", "latest"] | None = None,
        evaluate: Literal["batch", "record"] = "batch",
        watermark: StreamTime | None = None,
        idle_after: DurationLike | None = None,
        strict: bool = False,
    ) -> None:
        arguments = dict(locals())
        values = {name: arguments[name] for name in ("left", "right", "watermark")}
        for name in ("left_aggregates", "right_aggregates", "both_aggregates"):
            values[name] = several(name, arguments[name])
        values["idle_after"] = None if idle_after is None else positive(idle_after, "idle_after")
        set_fields(self, **values)
        _check_kinds(self)
        _check_window(window)
        # It refuses what no window operator can have, two columns of one name among it, and warns.
        operator = WindowOperator(
            **{name: arguments[name] for name in FIELDS_OF_WINDOWS},
            aggregates=[count().alias(what.name) for what in self.outputs],
            keys=self.left.keys,
            strict=strict,
        )
        set_fields(self, **{name: getattr(operator, name) for name in FIELDS_OF_WINDOWS})
        check_has_event_times(self, "a cogroup")
        check_keys(self)
        check_watermarks(self)
        _check_sides(self)

    @cached_property
    def _ports(self) -> dict[str, SideEntry]:
        return {
            name: self._entry(side, (*self.shared_columns, *self.values(name)), window=self.window)
            for name, side in self.sides.items()
        }

    @property
    def outputs(self) -> tuple[Aggregate | MergeAggregate, ...]:
        """The aggregates of a pane, in the order of its columns."""
        return (*self.left_aggregates, *self.right_aggregates, *self.both_aggregates)

    @property
    def shared_columns(self) -> tuple[str, ...]:
        """The columns of either side that the windows and the trigger read."""
        return tuple(dict.fromkeys((*columns_of_window(self.window), *trigger_columns(self.trigger))))

    def aggregates_of(self, side: str) -> tuple[Aggregate, ...]:
        """Returns the aggregates over the rows of one side."""
        return self.left_aggregates if side == LEFT else self.right_aggregates

    def values(self, side: str) -> tuple[str, ...]:
        """Returns the columns of a side that aggregates read, each once."""
        own = (column for what in self.aggregates_of(side) for column in what.columns)
        return tuple(dict.fromkeys((*own, *(what.of(side) for what in self.both_aggregates))))


def _check_kinds(spec: CogroupOperator) -> None:
    check_sides(spec)
    for name in spec.sides:
        check_made(f"{name}_aggregates", spec.aggregates_of(name))
    for both in spec.both_aggregates:
        merged: Any = both
        if not isinstance(merged, MergeAggregate):
            rule = "aggregates of both sides are made by a UserMergeAggregate"
            raise SpecError(f"both_aggregates=[{merged!r}]", rule, "call one with a column of each side")
    if not spec.outputs:
        rule = "a pane of a cogroup contains at least one aggregate"
        raise SpecError("a cogroup without aggregates", rule, "give left_aggregates or right_aggregates")


def _check_window(window: Any) -> None:
    if isinstance(window, AnyWindow) and counted(window):
        rule = "the windows of a cogroup are of event time"
        raise SpecError(f"window={window!r} of a cogroup", rule, "give one such as Tumbling('1 minute')")


def _check_sides(spec: CogroupOperator) -> None:
    """Refuses fields of sides that would have no effect."""
    check_lateness_of_windows(spec, "the cogroup")
    for name, side in spec.sides.items():
        if side.prefix:
            rule = "the columns of panes are keys and aggregates, which have names of their own"
            raise SpecError(f"prefix={side.prefix!r} on the {name}", rule, "use alias on the aggregates")
