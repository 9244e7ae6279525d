"""The objects of a user's that are told of partitions' events; their attributes travel as JSON text (semantics 10.19).

They are told while the policies work, event by event, as what they ask for changes what happens next (10.26).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from panewise.engine.partitions import Log, Partition
from panewise.spec import HeldPartition, StreamWindow, WindowEvent
from panewise.spec.streamevent import Evictions

_LAST = ("PARTITION_EVICTION", "FINAL")  # a partition's last event


@dataclass
class Telling(Log):
    """Notes what listeners give for events, in the place of the events.

    Args:
        spec: the specification, which has a listener.
        names: of each partition's number its columns of `partition_by`.
        tuples: gives of each place of the pool what is shown of the tuple; asked only if there is an event.
        now: the processing time.
        states: the attributes of the listeners, by the numbers of their partitions.
        given: what the listeners gave, row by row.
    """

    spec: StreamWindow = field(kw_only=True)
    names: Sequence[dict[str, Any]] = field(kw_only=True)
    tuples: Callable[[], Sequence[dict[str, Any]]] = field(kw_only=True)
    now: int = field(kw_only=True)
    states: dict[int, str] = field(kw_only=True)
    given: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._listening: dict[int, Any] = {}
        self._asked = Evictions(self.spec.partition_eviction, self._held)

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
        while self._asked.asked:
            number = self._number_of(self._asked.asked.pop(0))
            if number is not None:
                return number
        return None

    def forget(self) -> None:
        """Drops what was asked for."""
        self._asked.asked.clear()

    def _told(self, number: int, event: str, low: int, high: int) -> list[dict[str, Any]]:
        listener = self.spec.listener
        assert listener is not None
        if number not in self._listening:
            self._listening[number] = listener.restored(self.states.get(number))
        tuples = tuple(dict(one) for one in self._tuples[low:high])
        rows = listener.told(self._listening[number], WindowEvent(event, self.names[number], tuples, self.now, self._asked))
        self.states[number] = listener.state_of(self._listening[number])
        return rows

    def _held(self) -> Iterator[HeldPartition]:
        return (HeldPartition(self.names[one.number], one.high - one.low) for one in self.living.values())

    def _number_of(self, named: Any) -> int | None:
        """The number of a partition, if it has one in this step."""
        return self._numbers.get(tuple(named[key] for key in self.spec.partition_by))

    @cached_property
    def _tuples(self) -> Sequence[dict[str, Any]]:
        return self.tuples()

    @cached_property
    def _numbers(self) -> dict[tuple[Any, ...], int]:
        return {tuple(names[key] for key in self.spec.partition_by): number for number, names in enumerate(self.names)}
