"""Events of policy windows, and the evictions that listeners request (semantics 10.15, 10.26, 10.27).

Requested evictions are queued, and executed after the step that raised the event. So a listener never changes
partitions while an event is handled.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from panewise.errors import InputError
from panewise.spec.operators.policy.policies import PartitionCount, PartitionEviction, TupleCount


@dataclass(frozen=True)
class StoredPartition:
    """A partition that exists.

    Args:
        partition: the columns of `partition_by`, by name.
        tuples: the number of its tuples.
    """

    partition: Mapping[str, Any]
    tuples: int


Name = tuple[Any, ...]  # the values of `partition_by`, in its order


class StoredPartitions(Protocol):
    """The existing partitions that the runtime which raises an event knows."""

    def all(self) -> Iterable[StoredPartition]:
        """Returns the partitions in the order of their last insertions, the least recent first."""
        ...

    def find(self, name: Name) -> StoredPartition | None:
        """Returns the partition of this name, or None if it does not exist."""
        ...

    def counts(self) -> tuple[int, int]:
        """Returns the number of partitions, and the number of their tuples."""
        ...


@dataclass
class Evictions:
    """The evictions that listeners have requested and that have not been executed yet.

    Args:
        policy: the partition eviction policy.
        stored: the partitions that exist.
        requested: the names of the requested partitions, in the order of the requests, as the keys of a dict
            without values.
    """

    policy: PartitionEviction | None
    stored: StoredPartitions
    requested: dict[Name, None] = field(default_factory=dict)

    @property
    def of_all(self) -> bool:
        """Whether a listener may evict any partition, as all of them are in one shard."""
        return counts_all(self.policy)

    @property
    def remaining(self) -> tuple[StoredPartition, ...]:
        """The existing partitions whose eviction has not been requested. It iterates over all partitions."""
        return tuple(stored for stored in self.stored.all() if key_of(stored.partition) not in self.requested)

    def remaining_of(self, name: Name) -> tuple[StoredPartition, ...]:
        """Returns the partition of this name if it exists and has not been requested; else an empty tuple."""
        partition = None if name in self.requested else self.stored.find(name)
        return () if partition is None else (partition,)

    @property
    def needed(self) -> bool:
        """Whether the policy would evict more partitions after the requested ones.

        The cost is the number of requests: their counts are subtracted from the totals.
        """
        if not isinstance(self.policy, (PartitionCount, TupleCount)):
            return False
        partitions, tuples = self.stored.counts()
        leaving = [partition for partition in map(self.stored.find, self.requested) if partition is not None]
        if isinstance(self.policy, PartitionCount):
            return partitions - len(leaving) > self.policy.n
        return tuples - sum(partition.tuples for partition in leaving) > self.policy.n

    def next(self) -> Name | None:
        """Removes the first request and returns its name, or None if there is none."""
        name = next(iter(self.requested), None)
        if name is not None:
            del self.requested[name]
        return name


class _NoPartitions:
    """No partitions: the default for events that no runtime raises, as in a test of a listener."""

    def all(self) -> tuple[StoredPartition, ...]:
        return ()

    def find(self, name: Name) -> None:
        return None

    def counts(self) -> tuple[int, int]:
        return 0, 0


@dataclass(frozen=True)
class WindowEvent:
    """An event of a partition, as a listener receives it.

    Args:
        type: "INSERTION", "EVICTION", "TRIGGER", "INITIAL_FULL", "PARTITION_EVICTION" or "FINAL".
        partition: the columns of `partition_by`, by name.
        tuples: the tuples of the event in arrival order, each as a dict of its columns.
        processing_time: the processing time of the event, in microseconds since 1970-01-01 UTC.
        evictions: collects the requests of :meth:`evict_partition`. The runtime sets it.

    Source: semantics 10.15; S5 StreamWindowEvent.
    """

    type: str
    partition: Mapping[str, Any]
    tuples: tuple[Mapping[str, Any], ...]
    processing_time: int
    evictions: Evictions = field(
        default_factory=lambda: Evictions(None, _NoPartitions()), compare=False, repr=False
    )

    @property
    def partitions(self) -> tuple[StoredPartition, ...]:
        """The partitions that exist and whose eviction has not been requested.

        With `partition_count` or `tuple_count` these are all partitions, ordered by their last insertions,
        the least recent first; the cost is their number. Otherwise it is only the event's own partition. In
        PARTITION_EVICTION and FINAL the event's own partition no longer exists.

        Source: semantics 10.27; S5 StreamWindow.getPartitions.
        """
        return (
            self.evictions.remaining
            if self.evictions.of_all
            else self.evictions.remaining_of(key_of(self.partition))
        )

    @property
    def needs_partition_eviction(self) -> bool:
        """Whether there are more :attr:`partitions`, or tuples in them, than the policy allows.

        The policy is `partition_count` or `tuple_count`. Without one of them it is False.

        Source: semantics 10.27; S5 StreamWindow.needsPartitionEviction.
        """
        return self.evictions.needed

    def evict_partition(self, partition: Mapping[str, Any] | None = None) -> None:
        """Requests the eviction of a partition, which then raises PARTITION_EVICTION.

        It is evicted after all that the tuple, the marker or the reading of the clock causes in the event's
        partition.

        Args:
            partition: the columns of `partition_by` of the partition, by name. Default: the event's own
                partition. A request for a partition that does not exist has no effect.

        Raises:
            InputError: without `partition_by`; for another partition than the event's own without
                `partition_count` or `tuple_count`; for names that are not those of `partition_by`.

        >>> from panewise.streamwindow import StreamWindow, WindowListener, count
        >>> from panewise.testing import run
        >>> class UntilZero:
        ...     def handle(self, event):
        ...         if event.type == "INSERTION" and event.tuples[0]["v"] == 0:
        ...             event.evict_partition()
        ...         return [{"size": len(event.tuples)}]
        >>> listener = WindowListener(UntilZero, name="until zero", outputs={"size": "bigint"})
        >>> spec = StreamWindow.tumbling(count(9), partition_by=["k"], listener=listener)
        >>> output = run(spec, [{"op": "add", "rows": [{"k": "a", "v": v} for v in (2, 1, 0, 5)]}])[0]
        >>> [(pane["event"], pane["size"]) for pane in output["panes"]][2:]
        [('INSERTION', 1), ('PARTITION_EVICTION', 3), ('INSERTION', 1)]

        Source: semantics 10.26; S5 StreamWindow.evictPartition.
        """
        named = self.partition if partition is None else partition
        call = "evict_partition()" if partition is None else f"evict_partition({named!r})"
        name = name_of(named, tuple(self.partition), call)
        if name != key_of(self.partition) and not self.evictions.of_all:
            rule = (
                "a listener can evict its own partition, and others only with "
                "partition_count or tuple_count (semantics 10.26)"
            )
            remedy = "give such a partition_eviction, or leave the partition out"
            raise InputError(f"{call} in an event of {dict(self.partition)!r}", rule, remedy)
        self.evictions.requested[name] = None


def name_of(partition: Any, partition_by: tuple[str, ...], call: str) -> Name:
    """Returns the values that name a partition, in the order of `partition_by`.

    Args:
        partition: the columns of the partition, by name.
        partition_by: the columns of the specification.
        call: the call or document that named the partition, for the error.

    Raises:
        InputError: if `partition_by` is empty, if `partition` is not a dict of exactly these columns, or if a
            value cannot be hashed.

    >>> name_of({"b": 2, "a": 1}, ("a", "b"), "an evict")
    (1, 2)

    Source: semantics 10.23.
    """
    if not partition_by:
        rule = "without partition_by there is one partition, which cannot be evicted (semantics 10.23)"
        raise InputError(call, rule, "give partition_by, or leave the call out")
    if not isinstance(partition, Mapping) or set(partition) != set(partition_by):
        rule = f"a partition is named by the columns {list(partition_by)}"
        raise InputError(call, rule, "give a dict of these and no others")
    name = key_of({column: partition[column] for column in partition_by})
    try:
        hash(name)
    except TypeError as error:
        rule = f"a partition is named by values of its columns ({error})"
        raise InputError(call, rule, "give such values") from error
    return name


def key_of(partition: Mapping[str, Any]) -> Name:
    """Returns the values of a partition's columns as a dict key, in which NaN equals NaN (semantics 15.2)."""
    # math.nan is one object, and dicts and tuples compare by identity first.
    return tuple(
        math.nan if isinstance(value, float) and math.isnan(value) else value for value in partition.values()
    )


def counts_all(policy: PartitionEviction | None) -> bool:
    """Returns whether a policy counts all partitions or their tuples, which then have to be in one shard."""
    return isinstance(policy, (PartitionCount, TupleCount))
