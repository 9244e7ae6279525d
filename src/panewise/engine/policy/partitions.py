"""The policies, applied to partitions tuple by tuple (semantics 10.7 to 10.15).

A tuple is represented by its place in the *pool* of the step. There the tuples of a partition are neighbours,
in arrival order, the stored ones before the new ones. Tuples are evicted from the oldest on. Invariant: the
tuples of a partition, and of an event, are a range of places [low, high). So no tuple is copied. A tuple
costs constant time, and the time for the tuples and partitions that it evicts.

Partitions are in a dict, in the order of their last insertions. So the least recent one, which a partition
eviction policy evicts, is the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.engine.aggregate.sums import EXACT
from panewise.spec import StreamWindow
from panewise.spec.operators.policy.policies import (
    CountPolicy,
    DeltaPolicy,
    PartitionAge,
    PartitionCount,
    TimePolicy,
    TupleCount,
)


@dataclass(slots=True)
class Partition:
    """A partition, with the state of its policies.

    Attributes:
        number: the number of its key.
        low: the place of its oldest tuple.
        high: the place after its newest tuple.
        acted: the processing time at which a time policy last acted, or at which the partition began.
        last_insertion: the number of its last insertion.
        last_insertion_time: the processing time of its last insertion.
        untriggered: the insertions since the last TRIGGER by count.
        reference: the reference value of a trigger by delta; None before the first tuple.
        full: whether INITIAL_FULL has been raised.
        changed: whether there was an insertion or eviction since the last TRIGGER.
    """

    number: int
    low: int
    high: int
    acted: int
    last_insertion: int = 0
    last_insertion_time: int = 0
    untriggered: int = 0
    reference: Any = None
    full: bool = False
    changed: bool = False


@dataclass
class Log:
    """The events of a step, in the order in which they occur.

    Attributes:
        logged: the names of the events that are logged.
        live: the partitions that exist, in the order of their last insertions, by their numbers.
            :class:`Partitions` updates it.
        total: how many tuples they contain. :class:`Partitions` updates it.
        events: the name of each event.
        partitions: the number of the partition of each event.
        lows: the place of the first tuple of each event.
        highs: the place after the last tuple of each event.
    """

    logged: frozenset[str]
    live: dict[int, "Partition"] = field(default_factory=dict)
    total: int = 0
    events: list[str] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    lows: list[int] = field(default_factory=list)
    highs: list[int] = field(default_factory=list)

    def add(self, event: str, partition: Partition, low: int, high: int) -> None:
        """Adds an event with the tuples [low, high), if events of this name are logged."""
        if event in self.logged:
            self.events.append(event)
            self.partitions.append(partition.number)
            self.lows.append(low)
            self.highs.append(high)

    def next_request(self) -> int | None:
        """Takes the next requested eviction, and returns the number of its partition (semantics 10.26).

        Returns None if no request is left. Without listeners there are no requests.
        """
        return None

    def forget(self) -> None:
        """Discards all open requests."""


@dataclass
class TupleValues:
    """What the policies read of the tuples of a step.

    Attributes:
        arrived: by place, the processing time at which the tuple arrived; empty if no policy reads it.
        values: by place, the value for an eviction by delta; empty without such a policy.
        following: by partition, the place of its next new tuple.
    """

    arrived: Sequence[int]
    values: Sequence[Any]
    following: list[int]


class Partitions:
    """The partitions that a step concerns, in the order of their last insertions."""

    def __init__(self, spec: StreamWindow, pool: TupleValues, log: Log, now: int, tally: int) -> None:
        self._spec, self._pool, self._log, self._now = spec, pool, log, now
        self.tally = tally  # insertions so far
        self.live = log.live

    def add_stored(self, partition: Partition) -> None:
        """Adds a stored partition. The calls come in the order of last insertions, the least recent first."""
        self.live[partition.number] = partition
        self._log.total += partition.high - partition.low

    def begin(self, number: int) -> Partition:
        """Creates a partition, and returns it."""
        at = self._pool.following[number]
        partition = Partition(
            number, at, at, self._now, last_insertion=self.tally, last_insertion_time=self._now
        )
        self.live[number] = partition
        if self._spec.kind == "sliding" and isinstance(self._spec.evict, TimePolicy):
            self._fill(partition)
        return partition

    def insert(self, number: int, value: Any) -> None:
        """Processes the next new tuple of a partition. `value` is its value for a trigger by delta."""
        partition = self.live.pop(number, None)
        if partition is None:
            partition = self.begin(number)
        self.live[number] = partition  # moves it to the end of the order
        if self._spec.kind == "tumbling":
            self._into_tumbling(partition)
        else:
            self._into_sliding(partition, value)
        self._evict_requested()
        self._make_room()

    def marker(self) -> None:
        """Processes a marker: each partition evicts all its tuples."""
        for partition in self._in_order():
            self._tumble(partition)
            self._evict_requested()

    def due(self) -> None:
        """Processes a reading of the clock, partition by partition."""
        for partition in self._in_order():
            self._due_in(partition)
            self._evict_requested()

    def finish(self) -> None:
        """Processes the end of input: every partition is purged."""
        for partition in list(self.live.values()):
            if self._spec.flush_on_final and partition.low < partition.high:
                self._tumble(partition)
            self._leave(partition, "FINAL")
        self._log.forget()

    def evict(self, number: int) -> None:
        """Evicts a partition, if it exists, and then the partitions that listeners request."""
        if number in self.live:
            self._leave(self.live[number], "PARTITION_EVICTION")
            self._evict_requested()

    def _evict_requested(self) -> None:
        while (number := self._log.next_request()) is not None:
            if number in self.live:
                self._leave(self.live[number], "PARTITION_EVICTION")

    def _in_order(self) -> Iterator[Partition]:
        """Yields the partitions in order. A partition that is evicted before it comes is skipped."""
        for number, partition in list(self.live.items()):
            if number in self.live:
                yield partition

    def _leave(self, partition: Partition, event: str) -> None:
        """Purges a partition, and logs its last event."""
        del self.live[partition.number]
        self._log.total -= partition.high - partition.low
        self._log.add(event, partition, partition.low, partition.high)

    def next_due(self, partition: Partition) -> int:
        """Returns the first processing time at which something is due in the partition."""
        spec, instants = self._spec, [MAX_INSTANT]
        if isinstance(spec.evict, TimePolicy):
            if spec.kind == "tumbling":
                instants.append(partition.acted + spec.evict.duration.us)
            elif partition.low < partition.high:
                instants.append(self._pool.arrived[partition.low] + spec.evict.duration.us + 1)
        if isinstance(spec.trigger, TimePolicy):
            instants.append(partition.acted + spec.trigger.duration.us)
        if isinstance(spec.partition_eviction, PartitionAge):
            instants.append(partition.last_insertion_time + spec.partition_eviction.duration.us)
        return min(instants)

    def _into_tumbling(self, partition: Partition) -> None:
        """Inserts the next new tuple into a tumbling partition, which may evict before or after it."""
        evict, at = self._spec.evict, self._pool.following[partition.number]
        if (
            isinstance(evict, DeltaPolicy)
            and partition.low < partition.high
            and self._exceeds(evict, at, partition.low)
        ):
            self._tumble(partition)
        self._enter(partition, at)
        if isinstance(evict, CountPolicy) and partition.high - partition.low == evict.n:
            self._tumble(partition)

    def _into_sliding(self, partition: Partition, value: Any) -> None:
        """Inserts the next new tuple into a sliding partition, in the order of semantics 10.8."""
        evict, trigger, at = self._spec.evict, self._spec.trigger, self._pool.following[partition.number]
        if isinstance(trigger, DeltaPolicy):
            self._compare(partition, trigger, value)
        if isinstance(evict, DeltaPolicy):
            self._evict_by_delta(partition, evict, at)
        if isinstance(evict, CountPolicy) and partition.high - partition.low == evict.n:
            self._slide(partition, partition.low + 1)
        self._enter(partition, at)
        if isinstance(evict, CountPolicy) and partition.high - partition.low == evict.n:
            self._fill(partition)
        if isinstance(trigger, CountPolicy):
            partition.untriggered += 1
            if partition.untriggered == trigger.n:
                partition.untriggered = 0
                self._trigger(partition)

    def _compare(self, partition: Partition, trigger: DeltaPolicy, value: Any) -> None:
        """Raises TRIGGER if a value exceeds the reference by more than the amount. Makes it the reference.

        The first value of a partition only becomes the reference.
        """
        if partition.reference is None:
            partition.reference = value
        elif _differ(trigger, value, partition.reference):
            self._trigger(partition)
            partition.reference = value

    def _evict_by_delta(self, partition: Partition, evict: DeltaPolicy, at: int) -> None:
        """Evicts the oldest tuples that the new tuple, at place `at`, exceeds by more than the amount."""
        low = partition.low
        while low < partition.high and self._exceeds(evict, at, low):
            low += 1
        if low > partition.low:
            self._fill(partition)
            self._slide(partition, low)

    def _exceeds(self, policy: DeltaPolicy, new: int, old: int) -> bool:
        return _differ(policy, self._pool.values[new], self._pool.values[old])

    def _due_in(self, partition: Partition) -> None:
        """Does what is due in a partition at the processing time of the step (semantics 10.10)."""
        spec, now = self._spec, self._now
        if isinstance(spec.evict, TimePolicy):
            if spec.kind == "sliding":
                self._evict_by_time(partition, now - spec.evict.duration.us)
            elif now - partition.acted >= spec.evict.duration.us:
                partition.acted = now
                self._tumble(partition)
        if isinstance(spec.trigger, TimePolicy) and now - partition.acted >= spec.trigger.duration.us:
            partition.acted = now
            if partition.changed or not spec.skip_unchanged:
                self._trigger(partition)
        if (
            isinstance(spec.partition_eviction, PartitionAge)
            and now - partition.last_insertion_time >= spec.partition_eviction.duration.us
        ):
            self._leave(partition, "PARTITION_EVICTION")

    def _evict_by_time(self, partition: Partition, before: int) -> None:
        """Evicts the tuples that arrived before an instant."""
        low = partition.low
        while low < partition.high and self._pool.arrived[low] < before:
            low += 1
        if low > partition.low:
            self._slide(partition, low)

    def _make_room(self) -> None:
        """Evicts partitions while there are more partitions or tuples than the limit (semantics 10.14)."""
        if not self._too_much():
            return
        # First the empty partitions at the beginning of the order, even if fewer would do (semantics 10.14).
        while self.live and (first := self._first()).low == first.high:
            self.evict(first.number)
        while self._too_much():
            self.evict(self._first().number)

    def _first(self) -> Partition:
        return next(iter(self.live.values()))

    def _too_much(self) -> bool:
        limit = self._spec.partition_eviction
        if isinstance(limit, PartitionCount):
            return len(self.live) > limit.n
        return isinstance(limit, TupleCount) and self._log.total > limit.n

    def _enter(self, partition: Partition, at: int) -> None:
        self.tally += 1
        partition.last_insertion, partition.last_insertion_time = self.tally, self._now
        partition.changed = True
        partition.high = self._pool.following[partition.number] = at + 1
        self._log.total += 1
        self._log.add("INSERTION", partition, at, at + 1)

    def _tumble(self, partition: Partition) -> None:
        self._slide(partition, partition.high)

    def _slide(self, partition: Partition, low: int) -> None:
        """Evicts the tuples before place `low`, and raises EVICTION."""
        first, partition.low, partition.changed = partition.low, low, True
        self._log.total -= low - first
        self._log.add("EVICTION", partition, first, low)

    def _trigger(self, partition: Partition) -> None:
        """Raises TRIGGER. With `only_when_full` only if the partition has been full once."""
        if partition.full or not self._spec.only_when_full:
            partition.changed = False
            self._log.add("TRIGGER", partition, partition.low, partition.high)

    def _fill(self, partition: Partition) -> None:
        if not partition.full:
            partition.full = True
            self._log.add("INITIAL_FULL", partition, partition.low, partition.high)


def _differ(policy: DeltaPolicy, new: Any, old: Any) -> bool:
    """Returns whether `new` exceeds `old` by more than the amount of the policy."""
    difference = EXACT.subtract(new, old) if isinstance(new, Decimal) else new - old
    return bool(difference > policy.size)
