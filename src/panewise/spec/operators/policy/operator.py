"""The complete specification of policy windows: a frozen value that validates itself (semantics 10)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from panewise.choices import check_flag
from panewise.errors import SpecError
from panewise.families import INPUT, POLICY, Family
from panewise.spec.aggregates.aggregate import Aggregate, check_made
from panewise.spec.fields import check_columns, set_fields, several
from panewise.spec.operators.panes import PANE_COLUMNS
from panewise.spec.operators.policy.events import counts_all
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.operators.policy.policies import (
    CountPolicy,
    DeltaPolicy,
    PartitionAge,
    PartitionEviction,
    Policy,
    PunctPolicy,
    TimePolicy,
    policy_columns,
)
from panewise.spec.protocol import Shown
from panewise.spec.source_position import Position, check_position

TUMBLING_EVENTS: Final = ("INSERTION", "EVICTION", "PARTITION_EVICTION", "FINAL")
SLIDING_EVENTS: Final = ("INITIAL_FULL", "INSERTION", "TRIGGER", "EVICTION", "PARTITION_EVICTION", "FINAL")
_EACH: Final = CountPolicy(1)
_OWN = ("event", "processing_time")
# The columns of events and of window panes, so that a query can write both to one table.
RESERVED: Final = (*_OWN, *(name for name in PANE_COLUMNS if name not in _OWN), "delta")
_EVICTIONS = {
    "tumbling": (CountPolicy, TimePolicy, DeltaPolicy, PunctPolicy),
    "sliding": (CountPolicy, TimePolicy, DeltaPolicy),
}


@dataclass(frozen=True, kw_only=True)
class StreamWindow(Shown):
    """Policy windows: policies determine their contents, and they emit events.

    They are made by :meth:`tumbling` and :meth:`sliding`.

    Args:
        kind: "tumbling" or "sliding".
        evict: the eviction policy for tuples: count, time or delta; for a tumbling window also punct.
        trigger: the trigger policy of a sliding window, which emits its contents: count, time or delta.
            Default: count(1).
        partition_by: the columns whose values form a partition, which is a window of its own. Default: none,
            one window.
        partition_eviction: the policy that evicts whole partitions: partition_age, partition_count or
            tuple_count. Only with `partition_by`. Default: none.
        events: the events that are emitted or, with a listener, that it is called with. Default: all; with
            `aggregates` EVICTION (tumbling) or TRIGGER (sliding).
        columns: the columns of the tuples in events. Default: all.
        aggregates: aggregates over the tuples of an event, which a pane then has instead of the tuples.
        listener: computes panes from the events, instead of the tuples.
        only_when_full: with True a sliding window raises no TRIGGER before INITIAL_FULL.
        skip_unchanged: with True a trigger of time raises no TRIGGER if the partition has not changed since
            its last one.
        flush_on_final: with True a tumbling window with tuples raises EVICTION before FINAL at the end of
            input.
        order: columns that define the arrival order within a batch. Default: the position if there is one,
            else the order of the rows in the input.
        position: columns of the source position, by which replays are recognised. Default: none.
        null_keys: whether null and NaN in `partition_by` are values like any other. With False such rows are
            invalid. Default: True if there is `partition_by`.

    Raises:
        SpecError: if a value breaks a rule. The message names the value, the rule and a remedy.

    >>> from panewise.streamwindow import StreamWindow, count
    >>> from panewise.testing import run
    >>> spec = StreamWindow.tumbling(count(3), partition_by=["customer"], columns=["v"], events=["EVICTION"])
    >>> tuples = [("B823", 1), ("A345", 2), ("B823", 3), ("B823", 4)]
    >>> output = run(spec, [{"op": "add", "rows": [{"customer": key, "v": v} for key, v in tuples]}])[0]
    >>> [(pane["customer"], pane["event"], [row["v"] for row in pane["tuples"]]) for pane in output["panes"]]
    [('B823', 'EVICTION', [1, 3, 4])]

    Source: semantics 10; S5.
    """

    family: ClassVar[Family] = POLICY

    kind: Literal["tumbling", "sliding"]
    evict: Policy
    trigger: Policy | None = None
    partition_by: tuple[str, ...] = ()
    partition_eviction: PartitionEviction | None = None
    events: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    aggregates: tuple[Aggregate, ...] = ()
    listener: WindowListener | None = None
    only_when_full: bool = False
    skip_unchanged: bool = False
    flush_on_final: bool = False
    order: tuple[str, ...] = ()
    position: Position | None = None
    null_keys: bool | None = None

    def __post_init__(self) -> None:
        for name in ("partition_by", "aggregates", "order", "events", "columns"):
            value = getattr(self, name)
            if value is not None or name not in ("events", "columns"):
                set_fields(self, **{name: several(name, value)})
        if self.kind == "sliding" and self.trigger is None:
            set_fields(self, trigger=_EACH)
        if self.null_keys is None:
            set_fields(self, null_keys=bool(self.partition_by))
        check_columns((*self.partition_by, *self.order, *(self.columns or ())))
        _check_policies(self)
        _check_events(self)
        _check_contents(self)
        _check_flags(self)
        _check_trigger(self)
        _check_names(self)

    @classmethod
    def tumbling(cls, evict: Policy, **fields: Any) -> "StreamWindow":
        """Returns windows that evict all their tuples at once. `fields` are other fields, except `trigger`.

        >>> from panewise.streamwindow import punct
        >>> StreamWindow.tumbling(punct("is_marker")).emitted_events
        ('INSERTION', 'EVICTION', 'FINAL')
        """
        if "trigger" in fields:
            raise _no_trigger(fields["trigger"])
        return cls(kind="tumbling", evict=evict, **fields)

    @classmethod
    def sliding(cls, evict: Policy, trigger: Policy | None = None, **fields: Any) -> "StreamWindow":
        """Returns windows that evict their oldest tuples, and emit their contents when the trigger fires.

        `fields` are the other fields of the class.

        >>> from panewise.streamwindow import count, time
        >>> StreamWindow.sliding(time("1 minute"), count(10)).trigger
        CountPolicy(n=10)
        """
        return cls(kind="sliding", evict=evict, trigger=trigger, **fields)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of `partition_by`, under the name that they have in other specifications."""
        return self.partition_by

    @property
    def possible(self) -> tuple[str, ...]:
        """The events that such a window can raise. Without `partition_by` there is no PARTITION_EVICTION."""
        events = TUMBLING_EVENTS if self.kind == "tumbling" else SLIDING_EVENTS
        return tuple(event for event in events if event != "PARTITION_EVICTION" or self.partition_by)

    @property
    def emitted_events(self) -> tuple[str, ...]:
        """The events that are emitted, or that the listener is called with: `events`, or their default."""
        if self.events is not None:
            return self.events
        return ("EVICTION" if self.kind == "tumbling" else "TRIGGER",) if self.aggregates else self.possible

    @property
    def one_place(self) -> str | None:
        """Why all partitions have to be in one shard, as text for errors, or None (semantics 10.25)."""
        if not self.partition_by:
            return "no partition_by"
        if isinstance(self.evict, PunctPolicy):
            return f"evict={self.evict!r}"
        return (
            f"partition_eviction={self.partition_eviction!r}" if counts_all(self.partition_eviction) else None
        )

    @property
    def timed(self) -> str | None:
        """The first policy that depends on processing time, as text for errors, or None."""
        policies = {
            "evict": self.evict,
            "trigger": self.trigger,
            "partition_eviction": self.partition_eviction,
        }
        return next(
            (f"{name}={p!r}" for name, p in policies.items() if isinstance(p, (TimePolicy, PartitionAge))),
            None,
        )

    @property
    def ports(self) -> dict[str, "TupleEntry"]:
        """The input port."""
        return {INPUT: self.tuples}

    @cached_property
    def tuples(self) -> "TupleEntry":
        """What is read of the rows (semantics 10.1)."""
        position = self.position.columns if self.position else ()
        output_columns = self.columns or [
            column for aggregate in self.aggregates for column in aggregate.columns
        ]
        read = (
            *self.partition_by,
            *self.order,
            *position,
            *policy_columns(self.evict, self.trigger),
            *output_columns,
        )
        whole = self.columns is None and not self.aggregates
        return TupleEntry(self.partition_by, tuple(dict.fromkeys(read)), whole, self.order, self.position)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The input columns that are read by name, each once.

        Without `columns` and `aggregates` all other columns are stored with the tuples, too.
        """
        return self.tuples.columns_read


@dataclass(frozen=True)
class TupleEntry:
    """What policy windows read of the rows of their input: an :class:`panewise.spec.protocol.Entry`.

    Rows have no event time. Null keys are valid here, because those of a marker may be null. The keys of
    tuples are validated later (semantics 10.5).
    """

    keys: tuple[str, ...]
    columns_read: tuple[str, ...]
    whole_rows: bool
    order: tuple[str, ...]
    position: Position | None
    time: ClassVar[Literal["processing"]] = "processing"
    time_columns: ClassVar[tuple[str, ...]] = ()
    null_keys: ClassVar[bool] = True
    max_future_skew: ClassVar[None] = None
    watermark: ClassVar[None] = None
    window: ClassVar[None] = None


def _no_trigger(trigger: Any) -> SpecError:
    rule = "a tumbling window has no trigger: it emits its tuples when it evicts them (semantics 10.2)"
    remedy = "leave trigger out, or use StreamWindow.sliding"
    return SpecError(f"tumbling(trigger={trigger!r})", rule, remedy)


def _check_policies(spec: StreamWindow) -> None:
    if not isinstance(spec.kind, str) or spec.kind not in _EVICTIONS:
        rule = "a window is tumbling or sliding"
        raise SpecError(f"kind={spec.kind!r}", rule, "use StreamWindow.tumbling or StreamWindow.sliding")
    allowed = _EVICTIONS[spec.kind]
    kinds = tuple(policy.kind for policy in allowed)
    if not isinstance(spec.evict, allowed):
        rule = f"a {spec.kind} window evicts by one of {kinds} (semantics 10.2)"
        raise SpecError(f"{spec.kind}(evict={spec.evict!r})", rule, "give one such as count(3)")
    if spec.kind == "tumbling" and spec.trigger is not None:
        raise _no_trigger(spec.trigger)
    if spec.kind == "sliding" and not isinstance(spec.trigger, allowed):
        rule = f"a sliding window triggers by one of {kinds} (semantics 10.2)"
        raise SpecError(f"sliding(trigger={spec.trigger!r})", rule, "give one such as count(1)")
    if spec.partition_eviction is not None:
        _check_partition_eviction(spec, spec.partition_eviction)


def _check_partition_eviction(spec: StreamWindow, eviction: Any) -> None:
    shown = f"partition_eviction={eviction!r}"
    if not isinstance(eviction, PartitionEviction):
        rule = (
            "partitions are evicted by one of partition_age, partition_count and tuple_count (semantics 10.2)"
        )
        raise SpecError(shown, rule, "give one such as partition_age('1 hour'), or leave it out")
    if not spec.partition_by:
        rule = "without partition_by there is one partition, which cannot be evicted (semantics 10.2)"
        remedy = "give partition_by, or leave partition_eviction out"
        raise SpecError(f"{shown} without partition_by", rule, remedy)


def _check_events(spec: StreamWindow) -> None:
    for event in spec.events or ():
        if event not in spec.possible:
            rule = f"the events of such a window are {spec.possible}"
            raise SpecError(f"events={spec.events!r}", rule, f"leave {event!r} out")
    if spec.events is not None and (not spec.events or len(set(spec.events)) < len(spec.events)):
        rule = "events are one or more kinds of event, each once"
        raise SpecError(f"events={spec.events!r}", rule, f"give some of {spec.possible}")


def _check_contents(spec: StreamWindow) -> None:
    check_made("aggregates", spec.aggregates)
    listener: Any = spec.listener
    if listener is not None and not isinstance(listener, WindowListener):
        rule = "a listener is given as a WindowListener, with its name and outputs"
        remedy = "give WindowListener(MyClass, name=..., outputs={...})"
        raise SpecError(f"listener={listener!r}", rule, remedy)
    if spec.aggregates and listener is not None:
        rule = "a pane contains aggregates, or the outputs of a listener"
        remedy = "leave one of them out, or compute them in the listener"
        raise SpecError(f"aggregates and listener={listener!r}", rule, remedy)
    if spec.aggregates and spec.columns is not None:
        rule = "with aggregates a pane contains no tuples"
        raise SpecError(f"aggregates and columns={spec.columns!r}", rule, "leave columns out")
    if spec.columns is not None and (not spec.columns or len(set(spec.columns)) < len(spec.columns)):
        rule = "tuples have one column or more, each once"
        raise SpecError(f"columns={spec.columns!r}", rule, "name different columns, or leave columns out")
    check_position(spec.position, spec.order)


def _check_flags(spec: StreamWindow) -> None:
    for name in ("only_when_full", "skip_unchanged", "flush_on_final", "null_keys"):
        check_flag(name, getattr(spec, name))
    for name, refused, cause, rule in _flag_rules(spec):
        if getattr(spec, name) and refused:
            raise SpecError(f"{name}=True with {cause}", rule.format(name=name), f"leave {name} out")


def _flag_rules(spec: StreamWindow) -> list[tuple[str, bool, str, str]]:
    """Returns for each rule (flag, whether it would have no effect, the field that causes this, rule)."""
    whole, events = f"{spec.kind}({spec.evict!r})", f"events={spec.emitted_events!r}"
    tumbling, silent = spec.kind == "tumbling", "TRIGGER" not in spec.emitted_events
    fills = tumbling or isinstance(spec.evict, TimePolicy)
    trigger = whole if tumbling else f"trigger={spec.trigger!r}"
    flushed = "EVICTION" in spec.emitted_events or "FINAL" in spec.emitted_events
    begins = "{name} is for sliding windows that are not full when they begin"
    by_time = "only a trigger of time fires without a tuple"
    return [
        ("only_when_full", fills, whole, begins),
        ("only_when_full", silent, events, "{name} is for events that have TRIGGER"),
        ("skip_unchanged", not isinstance(spec.trigger, TimePolicy), trigger, by_time),
        ("skip_unchanged", silent, events, "{name} is for events that have TRIGGER"),
        ("flush_on_final", not tumbling, whole, "{name} is for tumbling windows"),
        ("flush_on_final", not flushed, events, "{name} is for events that have EVICTION or FINAL"),
        ("null_keys", not spec.partition_by, whole, "without partition_by there are no keys"),
    ]


def _check_trigger(spec: StreamWindow) -> None:
    """Refuses a trigger without effect: one whose TRIGGER is not among the events.

    Two triggers are allowed there: count(1), which is the default, and delta, which also validates rows
    (semantics 10.4).
    """
    trigger = spec.trigger
    if (
        trigger not in (None, _EACH)
        and not isinstance(trigger, DeltaPolicy)
        and "TRIGGER" not in spec.emitted_events
    ):
        rule = "a trigger of count or time raises TRIGGER, and does nothing else (semantics 10.2)"
        remedy = "leave the trigger out, or add 'TRIGGER' to events"
        raise SpecError(f"trigger={trigger!r} with events={spec.emitted_events!r}", rule, remedy)


def _check_names(spec: StreamWindow) -> None:
    contents = [name for name, _ in spec.listener.outputs] if spec.listener else ["tuples"]
    outputs = [*spec.partition_by, *_OWN, *([aggregate.name for aggregate in spec.aggregates] or contents)]
    twice = sorted({name for name in outputs if outputs.count(name) > 1})
    reserved = sorted(set(spec.partition_by) & set(RESERVED))
    if twice or reserved:
        rule = (
            f"partition_by, aggregates or outputs, and the pane's own columns {RESERVED} have different names"
        )
        remedy = "give aggregates an .alias(...), or rename the column"
        raise SpecError(f"{(twice or reserved)[0]!r} twice", rule, remedy)
