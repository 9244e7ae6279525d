"""What a listener is told of a window by policies, and what it can ask for then (semantics 10.15, 10.26, 10.27)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from panewise.errors import InputError
from panewise.spec.streampolicies import PartitionCount, PartitionEviction, TupleCount


@dataclass(frozen=True)
class HeldPartition:
    """A partition that is there: the columns of `partition_by`, by name, and how many tuples it holds."""

    partition: Mapping[str, Any]
    tuples: int


@dataclass
class Evictions:
    """What listeners have asked for and has not been done yet.

    Args:
        policy: which partitions go by themselves.
        held: gives the partitions that a listener may choose among, in the order of their last insertions.
        asked: those that are to go, by name, in the order in which they were asked for.
    """

    policy: PartitionEviction | None = None
    held: Callable[[], Iterable[HeldPartition]] = tuple
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def of_all(self) -> bool:
        """Whether a listener may choose among all partitions: where a policy counts these, they are in one place."""
        return counts_all(self.policy)

    @property
    def left(self) -> tuple[HeldPartition, ...]:
        """The partitions held that have not been asked for."""
        return tuple(one for one in self.held() if one.partition not in self.asked)

    @property
    def needed(self) -> bool:
        """Whether the policy would let one of those go that are left."""
        if isinstance(self.policy, PartitionCount):
            return len(self.left) > self.policy.n
        return isinstance(self.policy, TupleCount) and sum(one.tuples for one in self.left) > self.policy.n


@dataclass(frozen=True)
class WindowEvent:
    """What a listener is told.

    Args:
        type: "INSERTION", "EVICTION", "TRIGGER", "INITIAL_FULL", "PARTITION_EVICTION" or "FINAL".
        partition: the columns of `partition_by`, by name.
        tuples: the tuples of the event, in the order of arrival, each as a dict of its columns.
        processing_time: when it happens, in microseconds.
        evictions: what is asked for by :meth:`evict_partition`; given by who tells of the event.

    Source: semantics 10.15; S5 StreamWindowEvent.
    """

    type: str
    partition: Mapping[str, Any]
    tuples: tuple[Mapping[str, Any], ...]
    processing_time: int
    evictions: Evictions = field(default_factory=Evictions, compare=False, repr=False)

    @property
    def partitions(self) -> tuple[HeldPartition, ...]:
        """The partitions that are there and have not been asked to go, the one that has waited longest for a tuple first.

        With `partition_count` or `tuple_count` all; else the event's own. Source: semantics 10.27; S5 StreamWindow.getPartitions.
        """
        left = self.evictions.left
        return left if self.evictions.of_all else tuple(one for one in left if one.partition == self.partition)

    @property
    def needs_partition_eviction(self) -> bool:
        """Whether there are more :attr:`partitions`, or tuples in them, than `partition_count`, resp. `tuple_count` allows.

        Source: semantics 10.27; S5 StreamWindow.needsPartitionEviction.
        """
        return self.evictions.needed

    def evict_partition(self, partition: Mapping[str, Any] | None = None) -> None:
        """Asks that a partition goes, with PARTITION_EVICTION, once what is being done in this one is done.

        Args:
            partition: its columns of `partition_by`, by name. Default: the event's own. One that is not there means nothing.

        Raises:
            InputError: without `partition_by`; or of another partition without `partition_count` or `tuple_count`.

        >>> from panewise.streamwindow import StreamWindow, WindowListener, count
        >>> from panewise.testing import run
        >>> class UntilZero:
        ...     def handle(self, event):
        ...         if event.type == "INSERTION" and event.tuples[0]["v"] == 0:
        ...             event.evict_partition()
        ...         return [{"held": len(event.tuples)}]
        >>> listener = WindowListener(UntilZero, name="until zero", outputs={"held": "bigint"})
        >>> spec = StreamWindow.tumbling(count(9), partition_by=["k"], listener=listener)
        >>> output = run(spec, [{"op": "add", "rows": [{"k": "a", "v": v} for v in (2, 1, 0, 5)]}])[0]
        >>> [(pane["event"], pane["held"]) for pane in output["panes"]][2:]
        [('INSERTION', 1), ('PARTITION_EVICTION', 3), ('INSERTION', 1)]

        Source: semantics 10.26; S5 StreamWindow.evictPartition.
        """
        wanted = dict(self.partition if partition is None else partition)
        given = "evict_partition()" if partition is None else f"evict_partition({wanted!r})"
        if not self.partition:
            rule = "without partition_by the only partition stays (semantics 10.23)"
            raise InputError(given, rule, "give partition_by, or leave the call out")
        if set(wanted) != set(self.partition):
            raise InputError(given, f"a partition is named by the columns {list(self.partition)}", "give these and no others")
        if wanted != self.partition and not self.evictions.of_all:
            rule = "a listener knows its own partition, and others only with partition_count or tuple_count (semantics 10.26)"
            raise InputError(
                f"{given} in an event of {dict(self.partition)!r}", rule, "give such a partition_eviction, or leave the name out"
            )
        self.evictions.asked.append(wanted)


def counts_all(policy: PartitionEviction | None) -> bool:
    """Whether a policy counts all partitions, so that they are in one place."""
    return isinstance(policy, (PartitionCount, TupleCount))
