"""The whole specification of a window operator. A value: frozen, comparable, printable, self-checking."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from panewise.chrono import Duration, DurationLike
from panewise.errors import DataLossWarning, IdleTriggerWarning, ManyWindowsWarning, SpecError, explain
from panewise.spec.aggregates import Aggregate
from panewise.spec.composites import (
    DEFAULT_TRIGGER,
    AfterWatermark,
    Trigger,
    columns,
    default_on_time,
    finish,
    idle_part,
    waits_for_end,
)
from panewise.spec.counted import check_counted
from panewise.spec.evictors import Evictor, check_evictor, evictor_columns
from panewise.spec.functions import max as max_
from panewise.spec.functions import min as min_
from panewise.spec.overlapping import too_many
from panewise.spec.position import Position
from panewise.spec.progress import Watermark, check_input_column, input_columns
from panewise.spec.readers import several
from panewise.spec.sliding import Sliding
from panewise.spec.sliding_checks import check_sliding
from panewise.spec.times import check_time
from panewise.spec.triggers import AfterCount
from panewise.spec.windows import Global, Window, columns_of, counted

if TYPE_CHECKING:
    from panewise.spec.chain import Chain

UNLIMITED: Final = "unlimited"
_ACCUMULATION_GIVEN: Final = "_accumulation_given"  # an attribute, not a field: it is no part of the value
ACCUMULATIONS = ("discarding", "accumulating", "retracting")
PANE_COLUMNS = (
    "window_start",
    "window_end",
    "timing",
    "index",
    "nonspeculative_index",
    "is_first",
    "is_last",
    "op",
    "processing_time",
)


@dataclass(frozen=True, kw_only=True)
class WindowOperator:
    """Which windows rows go to, when panes of them are sent, and what these hold.

    Args:
        window: Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom or Global.
        aggregates: what a pane holds, one or more.
        keys: columns by whose values windows are kept apart; none for one stream of windows.
        event_time: column of the event time. Default: "event_time", or, with windows of rows, none.
        time: "event" (a column tells when something happened) or "processing" (what counts is when rows arrive; without event_time).
        watermark: where it comes from: None (from outside: from Spark, or from the events of a test), FixedLag, StreamTime or Inputs.
        trigger: when panes are sent. Default: at the watermark, then for each batch of late rows.
        accumulation: what a pane holds. "accumulating": all rows of the window so far. "discarding": only the
            rows since the last pane. "retracting": as accumulating, and the pane before is retracted first.
            Default: "accumulating"; in a chain that needs retractions (semantics 30.4, 30.5) "retracting".
            `Sliding(rows(n))` emits one pane for each window, so there it is not given.
        allowed_lateness: how long after its end a window still takes rows; "unlimited" by name. Default 0.
        drop_by: "window" (a row is late when its window has expired) or "row" (when it is older than watermark - lateness).
        order: columns that give the arrival order within a batch. Default: position, else event time.
        position: columns of the source position.
        null_keys: whether null and NaN are keys like any other value, as in Spark; False makes such rows invalid. Default: True
            where there are keys.
        max_future_skew: how far event time may be ahead of processing time. Default: any.
        on_time: "if_pending", or "always" to emit the on-time pane of a window even if no rows are pending.
            Default: "always" if the trigger has an early part, as AfterWatermark(early=...) has, else
            "if_pending".
        closing: "if_pending" (the default), or "always" to emit a last pane even if no rows are pending.
        only_updated: in accumulating mode, send no pane that equals the one before; retracting mode always does so.
        timestamp: adds a column of this name to panes. "window_time": the last instant of the window, one microsecond before the
            end of a half-open one; take it where panes are windowed again. "end": the end of the window, as in window_end.
            "earliest", "latest": the earliest or latest event time in the pane.
        evaluate: "batch" (triggers are asked at the end of a batch) or "record" (after each row).
        evictor: which rows go from a window for good when it fires: CountEvictor, TimeEvictor or DeltaEvictor. Default: none.
        delta: adds a column "delta" to panes, the rows that are new since the pane before: of these columns, or True for all.
        strict: raise, not warn, where the trigger can close a window while rows for it may still come, or has a part that never fires,
            or where a row is in more than 1,000 windows.

    Raises:
        SpecError: if a value breaks a rule; the message says which.

    >>> from panewise import Tumbling
    >>> from panewise import functions as F
    >>> spec = WindowOperator(keys=["origin"], window=Tumbling("1 hour"), aggregates=[F.count().alias("flights")])
    >>> spec.accumulation
    'accumulating'

    Source: docs/semantics.md.
    """

    window: Window
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

    def __init__(
        self,
        *,
        window: Window,
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
        strict: bool = False,
    ) -> None:
        values = dict(locals())
        del values["self"], values["strict"]
        values["aggregates"] = several("aggregates", aggregates)
        values["keys"], values["order"] = several("keys", keys), several("order", order)
        values["null_keys"] = bool(values["keys"]) if null_keys is None else null_keys
        values["event_time"] = default_event_time(window) if event_time is None else event_time
        values["delta"] = delta if isinstance(delta, bool) else several("delta", delta)
        values["allowed_lateness"] = _lateness(allowed_lateness)
        values["max_future_skew"] = None if max_future_skew is None else _not_negative(max_future_skew, "max_future_skew")
        values["accumulation"] = default_accumulation(window) if accumulation is None else accumulation
        self.__dict__[_ACCUMULATION_GIVEN] = accumulation is not None
        if on_time is None and isinstance(trigger, Trigger):
            values["on_time"] = default_on_time(trigger)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_kinds(self)
        _check_names(self)
        _check_meaning(self)
        check_counted(self)
        check_time(self)
        check_input_column(self.watermark, self.event_time)
        check_sliding(self)
        warn_of_data_loss(self, strict=strict)
        warn_of_idle_trigger(self, strict=strict)
        warn_of_many_windows(self, strict=strict)

    @property
    def accumulation_given(self) -> bool:
        """Whether `accumulation` was named. If not, a chain of this operator may need another default."""
        return bool(self.__dict__[_ACCUMULATION_GIVEN])

    @property
    def lateness_us(self) -> int | None:
        """Allowed lateness in microseconds; None if unlimited."""
        return self.allowed_lateness.us if isinstance(self.allowed_lateness, Duration) else None

    @property
    def measures(self) -> tuple[Aggregate, ...]:
        """The aggregates, and what a pane's timestamp is made of."""
        made = {"earliest": min_, "latest": max_}.get(self.timestamp or "")
        return self.aggregates if made is None or self.event_time is None else (*self.aggregates, made(self.event_time).alias("timestamp"))

    @property
    def columns_read(self) -> tuple[str, ...]:
        """Every input column that the operator reads, each once; with `delta=True` it takes all others along."""
        position = self.position.columns if self.position else ()
        values = (column for a in self.aggregates for column in a.columns)
        told = self.delta if isinstance(self.delta, tuple) else ()
        others = (*columns_of(self.window), *values, *columns(self.trigger), *evictor_columns(self.evictor), *told)
        inputs = input_columns(self.watermark)
        return tuple(dict.fromkeys((*self.keys, *self.time_columns, *self.order, *position, *inputs, *others)))

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time; with processing time, and of windows of rows that name none, there is none."""
        return (self.event_time,) if self.time == "event" and self.event_time is not None else ()

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "Chain":
        """A chain of this operator and a stage that takes its panes as rows, and inherits their windows and timing (semantics 30).

        Args:
            aggregates: what the stage's panes hold; they read this operator's keys and aggregates.
            keys: some of this operator's keys and aggregates.
        """
        from panewise.spec.chain import Chain, Stage  # noqa: PLC0415 - a chain is made of operators

        return Chain(self, (Stage(aggregates=aggregates, keys=keys),))


def default_event_time(window: Any) -> str | None:
    """The column of the event time where none is named (semantics 8.5).

    >>> from panewise.spec import Tumbling, rows
    >>> default_event_time(Tumbling("1 hour")), default_event_time(Tumbling(rows(3)))
    ('event_time', None)
    """
    return None if counted(window) else "event_time"


def default_accumulation(window: Any) -> Literal["discarding", "accumulating"]:
    """What `accumulation` is if it is not given (semantics 21).

    >>> from panewise.spec import Sliding, Tumbling, rows
    >>> default_accumulation(Tumbling("1 hour")), default_accumulation(Sliding(rows(3)))
    ('accumulating', 'discarding')
    """
    # With one pane for each window there is nothing to choose; the stored value stays what it was.
    return "discarding" if isinstance(window, Sliding) and counted(window) else "accumulating"


def _lateness(value: Any) -> Any:
    return UNLIMITED if value == UNLIMITED else _not_negative(value, "allowed_lateness")


def _not_negative(value: Any, name: str) -> Duration:
    duration = Duration.of(value, name)
    if duration.us < 0:
        raise SpecError(f"{name}={value!r}", f"{name} is not negative", "give 0 or more")
    return duration


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
    kinds = {"window": (Window, "Tumbling('1 minute')"), "trigger": (Trigger, "AfterWatermark(late=Always())")}
    for name, (kind, example) in kinds.items():
        if not isinstance(getattr(spec, name), kind):
            raise SpecError(f"{name}={getattr(spec, name)!r}", f"a {name} is one of panewise's", f"give one such as {example}")
    for name, allowed in _CHOICES.items():
        value = getattr(spec, name)
        if value not in allowed or type(value) not in map(type, allowed):
            raise SpecError(f"{name}={value!r}", f"{name} is one of {allowed}", "give one of these")
    for aggregate in spec.aggregates:
        if not isinstance(aggregate, Aggregate):
            raise SpecError(f"aggregates=[{aggregate!r}]", "aggregates are made by panewise.functions", "give one such as F.count()")
    if spec.position is not None and not isinstance(spec.position, Position):
        raise SpecError(f"position={spec.position!r}", "a position is a Position", "give Position(partition=..., offset=...)")
    watermark: Any = spec.watermark
    if watermark is not None and not isinstance(watermark, Watermark):
        rule = "a watermark that does not come from outside is one of panewise's"
        raise SpecError(f"watermark={watermark!r}", rule, "give one such as FixedLag('10 seconds'), or leave it out")


def _check_names(spec: WindowOperator) -> None:
    told = spec.delta if isinstance(spec.delta, tuple) else ()
    for name in (*spec.keys, *spec.order, *([] if spec.event_time is None else [spec.event_time]), *told):
        if not isinstance(name, str) or not name:
            raise SpecError(f"column {name!r}", "columns are named by non-empty strings", "give the column's name")
    own = (*PANE_COLUMNS, *(["timestamp"] if spec.timestamp else []), *(["delta"] if spec.delta else []))
    outputs = [*spec.keys, *(a.name for a in spec.aggregates), *own]
    twice = sorted({name for name in outputs if outputs.count(name) > 1})
    if twice:
        rule = f"keys, aggregates and the pane's own columns {own} have different names"
        raise SpecError(f"{twice[0]!r} twice", rule, "give aggregates an .alias(...), or rename the key column")
    if any(name.startswith("__") for name in (*outputs, *spec.columns_read)):
        raise SpecError("a name that starts with '__'", "such names are the operator's own", "rename the column")


def _check_meaning(spec: WindowOperator) -> None:
    if not spec.aggregates:
        raise SpecError("aggregates=()", "a pane holds at least one aggregate", "give one such as F.count()")
    if spec.order and spec.position is not None:
        rule = "a position is the arrival order (semantics 3)"
        raise SpecError(f"order={spec.order!r} and a position", rule, "leave one of them out")
    if spec.drop_by == "row" and spec.lateness_us is None:
        rule = "with unlimited lateness no row is ever late"
        raise SpecError("drop_by='row', allowed_lateness='unlimited'", rule, "leave drop_by out, or give a lateness")
    if isinstance(spec.window, Global) and spec.lateness_us:
        rule = "a global window has no end to be late after"
        raise SpecError(f"Global(), allowed_lateness={spec.allowed_lateness}", rule, "leave allowed_lateness out")
    if spec.only_updated and spec.accumulation != "accumulating":
        rule = "only_updated compares what accumulates; discarding panes hold new rows, and retracting mode never repeats a pane"
        raise SpecError(f"only_updated=True, accumulation={spec.accumulation!r}", rule, "leave only_updated out, or use 'accumulating'")
    if spec.on_time == "always" and not waits_for_end(spec.trigger):
        rule = "only a trigger with AfterWatermark in it waits for the end of the window (semantics 21.4)"
        raise SpecError(f"on_time='always', trigger={spec.trigger!r}", rule, "use AfterWatermark, or leave on_time out")
    check_evictor(spec.evictor, spec.accumulation)
    if isinstance(spec.delta, tuple) and (not spec.delta or len(set(spec.delta)) < len(spec.delta)):
        rule = "a delta is of one column or more, each once"
        raise SpecError(f"delta={spec.delta!r}", rule, "name different columns, or give True for all")
    if spec.delta and spec.only_updated:
        rule = "a pane with new rows in its delta is always an update (semantics 21.10)"
        raise SpecError(f"only_updated=True, delta={spec.delta!r}", rule, "leave one of them out")


def data_loss_reason(spec: WindowOperator) -> str | None:
    """Why the trigger can close a window while rows for it may still come; None if it cannot (semantics 19)."""
    finishes = finish(spec.trigger)
    if finishes == "any_time":
        return f"a top-level {spec.trigger!r} closes a window after its {'first' if isinstance(spec.trigger, AfterCount) else 'last'} pane"
    if finishes == "at_end" and spec.lateness_us != 0:
        without = " without late=" if isinstance(spec.trigger, AfterWatermark) else ""
        return f"{spec.trigger!r}{without} closes a window at its end, though allowed_lateness is {spec.allowed_lateness}"
    return None


def warn_of_data_loss(spec: WindowOperator, *, strict: bool) -> None:
    """Warns of the reason, if there is one; raises it under `strict`."""
    reason = data_loss_reason(spec)
    if reason is None:
        return
    rule = "rows that come after that go to the late output as 'closed'"
    remedy = "give AfterWatermark(late=...), or repeat the trigger: Repeatedly(...), AfterWatermark(early=..., late=...)"
    _warn(reason, rule, remedy, DataLossWarning, strict=strict)


def warn_of_idle_trigger(spec: WindowOperator, *, strict: bool) -> None:
    """Warns of a part of the trigger that can never fire; raises it under `strict`."""
    idle = idle_part(spec.trigger)
    if idle is not None:
        rule = "a part of a trigger that can never fire does nothing"
        _warn(f"{idle!r} in {spec.trigger!r}", rule, "leave it out", IdleTriggerWarning, strict=strict)


def warn_of_many_windows(spec: WindowOperator, *, strict: bool) -> None:
    """Warns where a row is in more than 1,000 windows (semantics 6.9); raises it under `strict`."""
    found = too_many(spec.window)
    if found is not None:
        _warn(*found, ManyWindowsWarning, strict=strict)


def _warn(reason: str, rule: str, remedy: str, category: type[Warning], *, strict: bool) -> None:
    if strict:
        raise SpecError(reason, rule, remedy)
    warnings.warn(explain(reason, rule, remedy), category, stacklevel=4)
