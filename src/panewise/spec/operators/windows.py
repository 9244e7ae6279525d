"""The complete specification of a window operator: a frozen value that validates itself when it is built."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from panewise.choices import check_choice, check_flag, is_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import DataLossWarning, IdleTriggerWarning, ManyWindowsWarning, SpecError, explain
from panewise.families import INPUT, WINDOWS, Family
from panewise.spec.aggregates.aggregate import Aggregate, check_some
from panewise.spec.evictors import Evictor, check_evictor, evictor_columns
from panewise.spec.fields import check_columns, not_negative, set_fields, several, skew_of
from panewise.spec.max_windows import MaxWindows, check_max_windows
from panewise.spec.operators.chain import Chain, Stage
from panewise.spec.operators.panes import PANE_COLUMNS, check_names, default_accumulation, with_timestamp
from panewise.spec.protocol import Refusal, Shown
from panewise.spec.rules.processing_time import check_time
from panewise.spec.rules.row_numbering import check_counted
from panewise.spec.rules.sliding import check_sliding
from panewise.spec.source_position import Position, check_position
from panewise.spec.triggers.composite import (
    DEFAULT_TRIGGER,
    AfterWatermark,
    Trigger,
    default_on_time,
    finish,
    has_after_watermark,
    idle_part,
    trigger_columns,
)
from panewise.spec.triggers.simple import AfterCount
from panewise.spec.watermarks import Watermark, check_input_column, input_columns
from panewise.spec.windows.kinds import AnyWindow, Global
from panewise.spec.windows.overlap import too_many
from panewise.spec.windows.traits import columns_of_window, counted

UNLIMITED: Final = "unlimited"
_ACCUMULATION_GIVEN: Final = "_accumulation_given"  # an attribute, not a field, so that comparison ignores it
ACCUMULATIONS = ("discarding", "accumulating", "retracting")


@dataclass(frozen=True, kw_only=True)
class WindowOperator(Shown):
    """A window operator: the windows of its rows, when panes are emitted, and what panes contain.

    Args:
        window: Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom or Global.
        aggregates: the aggregates of a pane, one or more.
        keys: the key columns. Each key has windows of its own. Default: none, so all rows share the windows.
        event_time: column of the event time. Default: "event_time"; with windows of rows, none.
        time: "event" (rows have an event time in a column) or "processing" (the time of a row is the
            processing time at which it arrives; `event_time` is then not given).
        watermark: FixedLag, StreamTime or Inputs. Default: None, the watermark comes from outside: from
            Spark, or from the events of a test.
        trigger: when panes are emitted. Default: when the watermark reaches the end of the window, and then
            for each batch of late rows.
        accumulation: what a pane contains. "accumulating": all rows of the window so far. "discarding": only
            the rows since the last pane. "retracting": as accumulating, and the previous pane is retracted
            first. Default: "accumulating"; "retracting" in a chain that needs it (semantics 30.4, 30.5).
            `Sliding(rows(n))` emits one pane for each window, so there it is not given.
        allowed_lateness: how long after its end a window still accepts rows: 0 or more, or "unlimited".
            Default: 0. An int is in microseconds.
        drop_by: "window" (a row is late for a window that has expired) or "row" (a row is late, for all its
            windows, if its event time is below watermark - allowed_lateness). Default: "window".
        order: columns that define the arrival order within a batch. Default: the position if there is one,
            else the event time. Not together with `position`.
        position: columns of the source position, by which replays are recognised. Default: none.
        null_keys: whether null and NaN are keys like any other value, as in Spark. With False such rows are
            invalid. Default: True if there are keys.
        max_future_skew: how far an event time may be ahead of processing time, 0 or more. Rows beyond that
            are invalid. Default: no limit. An int is in microseconds.
        on_time: "if_pending", or "always" to emit the on-time pane of a window even if no rows are pending.
            Default: "always" if the trigger has an early part, as AfterWatermark(early=...) has, else
            "if_pending".
        closing: "if_pending" (the default), or "always" to emit a last pane even if no rows are pending.
        only_updated: in accumulating mode, emits no pane whose aggregates equal those of the previous one.
            Retracting mode always does this. Default: False.
        timestamp: adds a column `timestamp` to panes. "window_time": the last instant of the window, one
            microsecond before the end of a half-open window; use it if panes are windowed again. "end": the
            end of the window, as in window_end. "earliest", "latest": the earliest or latest event time in
            the pane. Default: no such column.
        evaluate: "batch" (triggers are evaluated at the end of a batch) or "record" (after each row).
        evictor: removes rows from a window permanently whenever it fires: CountEvictor, TimeEvictor or
            DeltaEvictor. Default: none.
        delta: adds a column `delta` to panes, the list of the rows that are new since the last firing. Give
            the names of the columns of these rows, or True for all columns. Default: False.
        max_windows: a :class:`panewise.MaxWindows`, the most windows that each key has at a time. Default: no
            limit.
        strict: raises an error instead of a warning in three cases: the trigger can close a window that
            may still get rows; a part of the trigger can never fire; a row can be in over 1,000 windows.

    Raises:
        SpecError: if a value breaks a rule. The message names the value, the rule and a remedy.

    >>> from panewise import Tumbling
    >>> from panewise import functions as F
    >>> spec = WindowOperator(keys=["origin"], window=Tumbling("1 hour"),
    ...     aggregates=[F.count().alias("flights")])
    >>> spec.accumulation
    'accumulating'

    Source: docs/semantics.md.
    """

    family: ClassVar[Family] = WINDOWS

    window: AnyWindow
    aggregates: tuple[Aggregate, ...]
    keys: tuple[str, ...] = ()
    event_time: str | None = None
    trigger: Trigger = DEFAULT_TRIGGER
    accumulation: Literal["discarding", "accumulating", "retracting"] = "accumulating"
    allowed_lateness: Duration | Literal["unlimited"] = field(default=Duration(0))
    drop_by: Literal["window", "row"] = "window"
    order: tuple[str, ...] = ()
    position: Position | None = None
    null_keys: bool = False
    max_future_skew: Duration | None = None
    on_time: Literal["if_pending", "always"] = "if_pending"
    closing: Literal["if_pending", "always"] = "if_pending"
    only_updated: bool = False
    timestamp: Literal["end", "window_time", "earliest", "latest"] | None = None
    evaluate: Literal["batch", "record"] = "batch"
    evictor: Evictor | None = None
    delta: bool | tuple[str, ...] = False
    watermark: Watermark | None = None
    time: Literal["event", "processing"] = "event"
    max_windows: MaxWindows | None = None

    def __init__(
        self,
        *,
        window: AnyWindow,
        aggregates: Iterable[Aggregate],
        keys: Iterable[str] = (),
        event_time: str | None = None,
        trigger: Trigger = DEFAULT_TRIGGER,
        accumulation: Literal["discarding", "accumulating", "retracting"] | None = None,
        allowed_lateness: DurationLike | Literal["unlimited"] = 0,
        drop_by: Literal["window", "row"] = "window",
        order: Iterable[str] = (),
        position: Position | None = None,
        null_keys: bool | None = None,
        max_future_skew: DurationLike | None = None,
        on_time: Literal["if_pending", "always"] | None = None,
        closing: Literal["if_pending", "always"] = "if_pending",
        only_updated: bool = False,
        timestamp: Literal["end", "window_time", "earliest", "latest"] | None = None,
        evaluate: Literal["batch", "record"] = "batch",
        evictor: Evictor | None = None,
        delta: bool | Iterable[str] = False,
        watermark: Watermark | None = None,
        time: Literal["event", "processing"] = "event",
        max_windows: MaxWindows | None = None,
        strict: bool = False,
    ) -> None:
        values = dict(locals())
        del values["self"], values["strict"]
        check_flag("strict", strict)
        values["aggregates"] = several("aggregates", aggregates)
        values["keys"], values["order"] = several("keys", keys), several("order", order)
        values["null_keys"] = bool(values["keys"]) if null_keys is None else null_keys
        values["event_time"] = default_event_time(window) if event_time is None else event_time
        values["delta"] = delta if isinstance(delta, bool) else several("delta", delta)
        values["allowed_lateness"] = lateness_of(allowed_lateness)
        values["max_future_skew"] = skew_of(max_future_skew)
        values["accumulation"] = default_accumulation(window) if accumulation is None else accumulation
        self.__dict__[_ACCUMULATION_GIVEN] = accumulation is not None
        if on_time is None and isinstance(trigger, Trigger):
            values["on_time"] = default_on_time(trigger)
        set_fields(self, **values)
        _check_kinds(self)
        _check_names(self)
        _check_meaning(self)
        check_counted(self)
        check_time(self)
        check_input_column(self.watermark, self.event_time)
        check_sliding(self)
        check_max_windows(self)
        _warn(self, strict=strict)

    @property
    def ports(self) -> dict[str, "WindowOperator"]:
        """The input port."""
        return {INPUT: self}

    @property
    def whole_rows(self) -> bool:
        """Whether panes contain all columns of rows: a delta of all columns."""
        return self.delta is True

    @property
    def accumulation_given(self) -> bool:
        """Whether `accumulation` was given. If not, a chain of this operator may choose another default."""
        return bool(self.__dict__[_ACCUMULATION_GIVEN])

    @cached_property
    def lateness_us(self) -> int | None:
        """The allowed lateness in microseconds; None if unlimited."""
        return self.allowed_lateness.us if isinstance(self.allowed_lateness, Duration) else None

    @cached_property
    def measures(self) -> tuple[Aggregate, ...]:
        """The aggregates, plus the one that computes an "earliest" or "latest" `timestamp`."""
        return with_timestamp(self.aggregates, self.timestamp, self.event_time)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The input columns that the operator reads by name, each once.

        With `delta=True` the operator also passes on all other columns.
        """
        position = self.position.columns if self.position else ()
        values = (column for a in self.aggregates for column in a.columns)
        delta_columns = self.delta if isinstance(self.delta, tuple) else ()
        others = (
            *columns_of_window(self.window),
            *values,
            *trigger_columns(self.trigger),
            *evictor_columns(self.evictor),
            *delta_columns,
        )
        inputs = input_columns(self.watermark)
        return tuple(
            dict.fromkeys((*self.keys, *self.time_columns, *self.order, *position, *inputs, *others))
        )

    @cached_property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time, as a tuple; empty if the operator has none.

        It has none with time="processing", and with windows of rows if `event_time` is not given.
        """
        return (self.event_time,) if self.time == "event" and self.event_time is not None else ()

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> Chain:
        """Returns a chain of this operator and a stage whose rows are the operator's panes (semantics 30).

        The stage inherits the windows, and emits panes whenever it receives panes.

        Args:
            aggregates: the aggregates of the stage's panes. They read this operator's keys and aggregates.
            keys: the keys of the stage: some of this operator's keys and aggregates.

        Raises:
            SpecError: if a value breaks a rule, or the operator cannot be the first of a chain.
        """
        return Chain(self, (Stage(aggregates=aggregates, keys=keys),))


def default_event_time(window: Any) -> str | None:
    """Returns the default of `event_time`: "event_time", or None for windows of rows (semantics 8.5).

    >>> from panewise.spec import Tumbling, rows
    >>> default_event_time(Tumbling("1 hour")), default_event_time(Tumbling(rows(3)))
    ('event_time', None)
    """
    return None if counted(window) else "event_time"


def lateness_of(value: Any) -> Any:
    """Returns an allowed lateness: a duration that is 0 or more, or "unlimited"."""
    return UNLIMITED if is_choice(value, (UNLIMITED,)) else not_negative(value, "allowed_lateness")


_CHOICES = {
    "accumulation": ACCUMULATIONS,
    "drop_by": ("window", "row"),
    "on_time": ("if_pending", "always"),
    "closing": ("if_pending", "always"),
    "only_updated": (False, True),
    "timestamp": (None, "end", "window_time", "earliest", "latest"),
    "evaluate": ("batch", "record"),
    "time": ("event", "processing"),
    "null_keys": (True, False),
}


def _check_kinds(spec: WindowOperator) -> None:
    kinds = {
        "window": (AnyWindow, "Tumbling('1 minute')"),
        "trigger": (Trigger, "AfterWatermark(late=Always())"),
    }
    for name, (kind, example) in kinds.items():
        if not isinstance(getattr(spec, name), kind):
            problem, rule = f"{name}={getattr(spec, name)!r}", f"a {name} is one of panewise's"
            raise SpecError(problem, rule, f"give one such as {example}")
    for name, allowed in _CHOICES.items():
        check_choice(name, getattr(spec, name), allowed)
    check_some(spec.aggregates, "F.count()")
    check_position(spec.position)
    watermark: Any = spec.watermark
    if watermark is not None and not isinstance(watermark, Watermark):
        rule = "a watermark that does not come from outside is one of panewise's"
        remedy = "give one such as FixedLag('10 seconds'), or leave it out"
        raise SpecError(f"watermark={watermark!r}", rule, remedy)


def _check_names(spec: WindowOperator) -> None:
    delta_columns = spec.delta if isinstance(spec.delta, tuple) else ()
    times = () if spec.event_time is None else (spec.event_time,)
    check_columns((*spec.keys, *spec.order, *times, *delta_columns))
    own = (*PANE_COLUMNS, *(["timestamp"] if spec.timestamp else []), *(["delta"] if spec.delta else []))
    remedy = "give aggregates an .alias(...), or rename the key column"
    check_names(spec.keys, spec.aggregates, own, remedy)


def _check_meaning(spec: WindowOperator) -> None:
    check_position(spec.position, spec.order)
    _check_lateness(spec)
    _check_emission(spec)
    check_evictor(spec.evictor, spec.accumulation)
    _check_delta(spec)


def _check_lateness(spec: WindowOperator) -> None:
    if spec.drop_by == "row" and spec.lateness_us is None:
        rule = "with unlimited lateness no row is ever late"
        remedy = "leave drop_by out, or give a lateness"
        raise SpecError("drop_by='row', allowed_lateness='unlimited'", rule, remedy)
    if isinstance(spec.window, Global) and spec.lateness_us:
        rule = "a global window has no end, so no row is late for it"
        remedy = "leave allowed_lateness out"
        raise SpecError(f"Global(), allowed_lateness={spec.allowed_lateness}", rule, remedy)


def _check_emission(spec: WindowOperator) -> None:
    if spec.only_updated and spec.accumulation != "accumulating":
        rule = (
            "only_updated is for accumulating panes; discarding panes contain only new rows, "
            "and retracting mode never repeats a pane"
        )
        remedy = "leave only_updated out, or use 'accumulating'"
        raise SpecError(f"only_updated=True, accumulation={spec.accumulation!r}", rule, remedy)
    if spec.on_time == "always" and not has_after_watermark(spec.trigger):
        rule = "only a trigger with AfterWatermark in it waits for the end of the window (semantics 21.4)"
        remedy = "use AfterWatermark, or leave on_time out"
        raise SpecError(f"on_time='always', trigger={spec.trigger!r}", rule, remedy)


def _check_delta(spec: WindowOperator) -> None:
    if isinstance(spec.delta, tuple) and (not spec.delta or len(set(spec.delta)) < len(spec.delta)):
        rule = "a delta has one or more columns, each once"
        raise SpecError(f"delta={spec.delta!r}", rule, "name different columns, or give True for all")
    if spec.delta and spec.only_updated:
        rule = "a pane with new rows in its delta is always an update (semantics 21.10)"
        raise SpecError(f"only_updated=True, delta={spec.delta!r}", rule, "leave one of them out")


def data_loss_reason(spec: WindowOperator) -> str | None:
    """Returns why the trigger can close a window that may still get rows, or None (semantics 19)."""
    finishes = finish(spec.trigger)
    if finishes == "any_time":
        return (
            f"a top-level {spec.trigger!r} closes a window after its "
            f"{'first' if isinstance(spec.trigger, AfterCount) else 'last'} pane"
        )
    if finishes == "at_end" and spec.lateness_us != 0:
        without = " without late=" if isinstance(spec.trigger, AfterWatermark) else ""
        return (
            f"{spec.trigger!r}{without} closes a window at its end, though allowed_lateness is "
            f"{spec.allowed_lateness}"
        )
    return None


def _warn(spec: WindowOperator, *, strict: bool) -> None:
    """Warns of what may not be intended, or raises it as SpecError if `strict`."""
    closes, idle = data_loss_reason(spec), idle_part(spec.trigger)
    lost = "rows that arrive after that are emitted to the late output as 'closed'"
    repeat = (
        "give AfterWatermark(late=...), or repeat the trigger: Repeatedly(...), "
        "AfterWatermark(early=..., late=...)"
    )
    in_vain = f"{idle!r} in {spec.trigger!r}"
    without_effect = "a part of a trigger that can never fire has no effect"
    problems: dict[type[Warning], Refusal | None] = {
        DataLossWarning: None if closes is None else (closes, lost, repeat),
        IdleTriggerWarning: None if idle is None else (in_vain, without_effect, "leave it out"),
        ManyWindowsWarning: too_many(spec.window),
    }
    for category, problem in problems.items():
        if problem is not None and strict:
            raise SpecError(*problem)
        if problem is not None:
            warnings.warn(explain(*problem), category, stacklevel=3)
