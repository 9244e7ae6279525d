"""What a listener is told of a window by policies, and what it can ask for then (semantics 10.15, 10.26, 10.27)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from panewise.errors import InputError
from panewise.spec.streampolicies import PartitionCount, PartitionEviction, TupleCount


@dataclass(frozen=True)
class HeldPartition:
    """A partition that is there: the columns of `partition_by`, by name, and how many tuples it holds."""

    partition: Mapping[str, Any]
    tuples: int


Name = tuple[Any, ...]  # the values of `partition_by`, in its order


class HeldPartitions(Protocol):
    """The partitions that are there, as far as who tells of an event knows them."""

    def all(self) -> Iterable[HeldPartition]:
        """Each of them, in the order of their last insertions."""
        ...

    def find(self, name: Name) -> HeldPartition | None:
        """The one of this name, if it is there."""
        ...

    def counts(self) -> tuple[int, int]:
        """How many they are, and how many tuples they hold."""
        ...


@dataclass
class Evictions:
    """What listeners have asked for and has not been done yet.

    Args:
        policy: which partitions go by themselves.
        held: the partitions that a listener may choose among.
        asked: those that are to go, in the order in which they were asked for.
    """

    policy: PartitionEviction | None
    held: HeldPartitions
    asked: dict[Name, None] = field(default_factory=dict)

    @property
    def of_all(self) -> bool:
        """Whether a listener may choose among all partitions: where a policy counts these, they are in one place."""
        return counts_all(self.policy)

    @property
    def left(self) -> tuple[HeldPartition, ...]:
        """The partitions held that have not been asked for."""
        return tuple(one for one in self.held.all() if key_of(one.partition) not in self.asked)

    def left_of(self, name: Name) -> tuple[HeldPartition, ...]:
        """The one of this name, if it is there and has not been asked for."""
        found = None if name in self.asked else self.held.find(name)
        return () if found is None else (found,)

    @property
    def needed(self) -> bool:
        """Whether the policy would let one of those go that are left. It looks at those asked for only, as there are fewer of them."""
        if not isinstance(self.policy, (PartitionCount, TupleCount)):
            return False
        partitions, tuples = self.held.counts()
        going = [one for one in map(self.held.find, self.asked) if one is not None]
        if isinstance(self.policy, PartitionCount):
            return partitions - len(going) > self.policy.n
        return tuples - sum(one.tuples for one in going) > self.policy.n

    def next(self) -> Name | None:
        """Takes out the partition that is to go next; None if there is none."""
        name = next(iter(self.asked), None)
        if name is not None:
            del self.asked[name]
        return name


class _Nothing:
    """No partitions: of an event that nobody tells of."""

    def all(self) -> tuple[HeldPartition, ...]:
        return ()

    def find(self, name: Name) -> None:
        return None

    def counts(self) -> tuple[int, int]:
        return 0, 0


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
    evictions: Evictions = field(default_factory=lambda: Evictions(None, _Nothing()), compare=False, repr=False)

    @property
    def partitions(self) -> tuple[HeldPartition, ...]:
        """The partitions that are there and have not been asked to go, the one that has waited longest for a tuple first.

        With `partition_count` or `tuple_count` all, which costs as much as there are; else the event's own. In PARTITION_EVICTION and FINAL
        the event's own is gone. Source: semantics 10.27; S5 StreamWindow.getPartitions.
        """
        return self.evictions.left if self.evictions.of_all else self.evictions.left_of(key_of(self.partition))

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
        named = self.partition if partition is None else partition
        given = "evict_partition()" if partition is None else f"evict_partition({named!r})"
        name = name_of(named, tuple(self.partition), given)
        if name != key_of(self.partition) and not self.evictions.of_all:
            rule = "a listener knows its own partition, and others only with partition_count or tuple_count (semantics 10.26)"
            raise InputError(
                f"{given} in an event of {dict(self.partition)!r}", rule, "give such a partition_eviction, or leave the name out"
            )
        self.evictions.asked[name] = None


def name_of(partition: Any, partition_by: tuple[str, ...], given: str) -> Name:
    """The values that name a partition, in the order of the columns.

    Args:
        partition: what somebody has named it by.
        partition_by: the columns.
        given: what the error shows.

    Raises:
        InputError: if there are no such columns, or others are named, or a value can be none of a column's.

    >>> name_of({"b": 2, "a": 1}, ("a", "b"), "an evict")
    (1, 2)

    Source: semantics 10.23.
    """
    if not partition_by:
        rule = "without partition_by the only partition stays (semantics 10.23)"
        raise InputError(given, rule, "give partition_by, or leave the call out")
    if not isinstance(partition, Mapping) or set(partition) != set(partition_by):
        rule = f"a partition is named by the columns {list(partition_by)}"
        raise InputError(given, rule, "give a dict of these and no others")
    name = key_of({column: partition[column] for column in partition_by})
    try:
        hash(name)
    except TypeError as error:
        raise InputError(given, f"a partition is named by values of its columns ({error})", "give such values") from error
    return name


def key_of(partition: Mapping[str, Any]) -> Name:
    """The values of a partition's columns as a key of dicts, in which NaN equals NaN (semantics 15.2)."""
    return tuple(math.nan if isinstance(value, float) and math.isnan(value) else value for value in partition.values())


def counts_all(policy: PartitionEviction | None) -> bool:
    """Whether a policy counts all partitions, so that they are in one place."""
    return isinstance(policy, (PartitionCount, TupleCount))
