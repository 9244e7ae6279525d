"""The objects of a user's that are told of partitions' events; their attributes travel as JSON text (semantics 10.19).

They are told while the policies work, event by event, as what they ask for changes what happens next (10.26).
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from panewise.engine.policy.partitions import Log, Partition
from panewise.spec import HeldPartition, StreamWindow, WindowEvent
from panewise.spec.streamevent import Evictions, Name, key_of

_LAST = ("PARTITION_EVICTION", "FINAL")  # a partition's last event


@dataclass
class Telling(Log):
    """Notes what listeners give for events, in the place of the events.

    Args:
        spec: the specification, which has a listener.
        names: of each partition's number its columns of `partition_by`.
        tuples: gives of each place of the pool what is shown of the tuple; asked only if there is an event.
        nested: whether tuples hold lists or structs, which have to be copied with them.
        now: the processing time.
        states: the attributes of the listeners, by the numbers of their partitions.
        given: what the listeners gave, row by row.
    """

    spec: StreamWindow = field(kw_only=True)
    names: Sequence[dict[str, Any]] = field(kw_only=True)
    tuples: Callable[[], Sequence[dict[str, Any]]] = field(kw_only=True)
    nested: bool = field(kw_only=True)
    now: int = field(kw_only=True)
    states: dict[int, str] = field(kw_only=True)
    given: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listening: dict[int, Any] = {}
        self._asked = Evictions(self.spec.partition_eviction, self)

    def note(self, event: str, partition: Partition, low: int, high: int) -> None:
        """Tells the partition's listener of an event, if it wants to know; after the last one it is gone.

        Raises:
            InputError: if it gives something else than its outputs, has a state that is not JSON, or asks for what cannot be.
        """
        number = partition.number
        if event in self.told:
            rows = self._told(number, event, low, high)
            self.events += [event] * len(rows)
            self.partitions += [number] * len(rows)
            self.given += rows
        if event in _LAST:
            self._listening.pop(number, None)
            self.states.pop(number, None)

    def asked(self) -> int | None:
        """The number of the next partition that is to go, as a listener has asked for it."""
        while (name := self._asked.next()) is not None:
            if name in self._numbers:
                return self._numbers[name]
        return None

    def forget(self) -> None:
        """Drops what was asked for."""
        self._asked.asked.clear()

    def _told(self, number: int, event: str, low: int, high: int) -> list[dict[str, Any]]:
        listener = self.spec.listener
        assert listener is not None
        if number not in self._listening:
            self._listening[number] = listener.restored(self.states.get(number))
        tuples = tuple(deepcopy(one) if self.nested else dict(one) for one in self._tuples[low:high])  # it may do with them what it likes
        told = WindowEvent(event, dict(self.names[number]), tuples, self.now, self._asked)
        rows = listener.told(self._listening[number], told)
        self.states[number] = listener.state_of(self._listening[number])
        return rows

    def all(self) -> Iterator[HeldPartition]:
        """The partitions that are there."""
        return map(self._shown, self.living.values())

    def find(self, name: Name) -> HeldPartition | None:
        """The partition of this name."""
        partition = self.living.get(self._numbers.get(name, -1))
        return None if partition is None else self._shown(partition)

    def counts(self) -> tuple[int, int]:
        """How many partitions there are, and tuples in them."""
        return len(self.living), self.total

    def _shown(self, partition: Partition) -> HeldPartition:
        return HeldPartition(dict(self.names[partition.number]), partition.high - partition.low)

    @cached_property
    def _tuples(self) -> Sequence[dict[str, Any]]:
        return self.tuples()

    @cached_property
    def _numbers(self) -> dict[Name, int]:
        return {key_of(names): number for number, names in enumerate(self.names)}
