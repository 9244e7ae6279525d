"""Calls listeners with the events of partitions, and stores their attributes as JSON text (semantics 10.19).

A listener is called as soon as an event occurs, while the policies work: an eviction that it requests changes
what happens next (semantics 10.26).
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from panewise.engine.policy.partitions import Log, Partition
from panewise.spec import StoredPartition, StreamWindow, WindowEvent
from panewise.spec.operators.policy.events import Evictions, Name, key_of

_LAST = ("PARTITION_EVICTION", "FINAL")  # the last event of a partition


@dataclass
class ListenerLog(Log):
    """A log that calls listeners with events, and logs the rows that they return instead of the events.

    Args:
        names: the `partition_by` columns of each partition, by the number of the partition.
        tuples: returns the output columns of the tuple at each place of the pool; called at most once, and
            only if there is an event.
        nested: whether tuples contain lists or structs, which must be copied with them.
        now: the processing time.
        states: the attributes of the listeners as JSON, by the numbers of their partitions.
        returned: the rows that the listeners have returned.
    """

    spec: StreamWindow = field(kw_only=True)
    names: Sequence[dict[str, Any]] = field(kw_only=True)
    tuples: Callable[[], Sequence[dict[str, Any]]] = field(kw_only=True)
    nested: bool = field(kw_only=True)
    now: int = field(kw_only=True)
    states: dict[int, str] = field(kw_only=True)
    returned: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listening: dict[int, Any] = {}
        self._requests = Evictions(self.spec.partition_eviction, self)

    def add(self, event: str, partition: Partition, low: int, high: int) -> None:
        """Calls the listener of the partition with an event, if the option `events` names it.

        After the last event of the partition its listener is purged.

        Raises:
            InputError: if the listener returns anything but its outputs, has a state that is not JSON, or
                requests an eviction that is refused.
        """
        number = partition.number
        if event in self.logged:
            rows = self._rows_of(number, event, low, high)
            self.events += [event] * len(rows)
            self.partitions += [number] * len(rows)
            self.returned += rows
        if event in _LAST:
            self._listening.pop(number, None)
            self.states.pop(number, None)

    def next_request(self) -> int | None:
        """Takes the next requested eviction, and returns the number of its partition; None if none is left.

        Requests for partitions that the step does not know are skipped.
        """
        while (name := self._requests.next()) is not None:
            if name in self._numbers:
                return self._numbers[name]
        return None

    def forget(self) -> None:
        """Discards all open requests."""
        self._requests.requested.clear()

    def _rows_of(self, number: int, event: str, low: int, high: int) -> list[dict[str, Any]]:
        """Calls the listener of a partition with an event, and returns the rows that it emits."""
        listener = self.spec.listener
        assert listener is not None
        if number not in self._listening:
            self._listening[number] = listener.restored(self.states.get(number))
        # Copies, as the listener may change them.
        tuples = tuple(deepcopy(row) if self.nested else dict(row) for row in self._tuples[low:high])
        window_event = WindowEvent(event, dict(self.names[number]), tuples, self.now, self._requests)
        rows = listener.notify(self._listening[number], window_event)
        self.states[number] = listener.state_of(self._listening[number])
        return rows

    def all(self) -> Iterator[StoredPartition]:
        """Returns the partitions of the step that exist, the least recent insertion first."""
        return map(self._stored_partition, self.live.values())

    def find(self, name: Name) -> StoredPartition | None:
        """Returns the partition of this name, None if it does not exist."""
        partition = self.live.get(self._numbers.get(name, -1))
        return None if partition is None else self._stored_partition(partition)

    def counts(self) -> tuple[int, int]:
        """Returns the number of partitions, and the number of tuples in all of them."""
        return len(self.live), self.total

    def _stored_partition(self, partition: Partition) -> StoredPartition:
        return StoredPartition(dict(self.names[partition.number]), partition.high - partition.low)

    @cached_property
    def _tuples(self) -> Sequence[dict[str, Any]]:
        return self.tuples()

    @cached_property
    def _numbers(self) -> dict[Name, int]:
        return {key_of(names): number for number, names in enumerate(self.names)}
