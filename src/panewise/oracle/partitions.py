"""The partitions of windows by policies that are there, and how many there may be (semantics 10.13, 10.14, 10.27)."""

from collections.abc import Iterator
from typing import Any

from panewise.oracle.columns import sort_key
from panewise.oracle.partition import Partition
from panewise.oracle.rows import as_key
from panewise.spec import HeldPartition, StreamWindow
from panewise.spec.streamevent import Name, key_of, name_of
from panewise.spec.streampolicies import PartitionCount, TupleCount


class Partitions:
    """Partitions by their keys, in the order of their last insertions: the one that has waited longest first."""

    def __init__(self, spec: StreamWindow) -> None:
        self._spec = spec
        self._held: dict[Name, Partition] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __getitem__(self, key: Name) -> Partition:
        return self._held[key]

    def put(self, partition: Partition) -> None:
        """A partition has got a tuple: it is the last in order."""
        self._held.pop(partition.key, None)
        self._held[partition.key] = partition

    def remove(self, partition: Partition) -> None:
        """A partition is gone."""
        del self._held[partition.key]

    def in_order(self) -> Iterator[Partition]:
        """The partitions that are there now, as far as they still are when it is their turn."""
        for partition in list(self._held.values()):
            if partition.key in self._held:
                yield partition

    @property
    def too_many(self) -> bool:
        """Whether there are more partitions, or tuples in them, than may be."""
        gone = self._spec.partition_eviction
        partitions, tuples = self.counts()
        if isinstance(gone, PartitionCount):
            return partitions > gone.n
        return isinstance(gone, TupleCount) and tuples > gone.n

    # What listeners see

    def all(self) -> list[HeldPartition]:
        """Each partition's name, and the number of its tuples."""
        return [HeldPartition(self.names(partition), len(partition.tuples)) for partition in self._held.values()]

    def find(self, name: Name) -> HeldPartition | None:
        """The one of this name."""
        return next((one for one in self.all() if key_of(one.partition) == name), None)

    def counts(self) -> tuple[int, int]:
        """How many partitions there are, and tuples in them."""
        return len(self._held), sum(len(partition.tuples) for partition in self._held.values())

    # Names

    def names(self, partition: Partition) -> dict[str, Any]:
        """The columns of `partition_by`, by name."""
        return dict(zip(self._spec.partition_by, partition.key, strict=True))

    def key(self, named: Any) -> Name:
        """The key of a partition that is named.

        Raises:
            InputError: if it is not named by the columns of `partition_by`, or there are none.
        """
        return tuple(map(as_key, name_of(named, self._spec.partition_by, f"an evict of {named!r}")))

    def windows(self) -> list[dict[str, Any]]:
        """The partitions, with the number of their tuples, in the order of their keys."""
        held = sorted(self._held.values(), key=lambda partition: [sort_key(value) for value in partition.key])
        bounds = {"window_start": None, "window_end": None}
        return [{**self.names(one), **bounds, "pending": len(one.tuples), "closed": False} for one in held]
