"""The stored partitions of a policy window, their order and their limits (semantics 10.13, 10.14, 10.27)."""

from collections.abc import Iterator
from typing import Any

from panewise.oracle.columns import sort_key
from panewise.oracle.policy.partition import Partition
from panewise.oracle.rows import as_key
from panewise.spec import StoredPartition, StreamWindow
from panewise.spec.operators.policy.events import Name, key_of, name_of
from panewise.spec.operators.policy.policies import PartitionCount, TupleCount


class Partitions:
    """Partitions by key, in the order of their last insertions, the least recent first (semantics 10.13)."""

    def __init__(self, spec: StreamWindow) -> None:
        self._spec = spec
        self._stored: dict[Name, Partition] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._stored

    def __getitem__(self, key: Name) -> Partition:
        return self._stored[key]

    def put(self, partition: Partition) -> None:
        """Adds a partition, or moves it to the end of the order, because it received a tuple."""
        self._stored.pop(partition.key, None)
        self._stored[partition.key] = partition

    def remove(self, partition: Partition) -> None:
        """Removes a partition."""
        del self._stored[partition.key]

    def in_order(self) -> Iterator[Partition]:
        """Yields the partitions that exist now. A partition that is removed before it comes is skipped."""
        for partition in list(self._stored.values()):
            if partition.key in self._stored:
                yield partition

    @property
    def too_many(self) -> bool:
        """Whether there are more partitions, or more tuples, than the policy allows (semantics 10.14)."""
        policy = self._spec.partition_eviction
        partitions, tuples = self.counts()
        if isinstance(policy, PartitionCount):
            return partitions > policy.n
        return isinstance(policy, TupleCount) and tuples > policy.n

    # What listeners see (semantics 10.27)

    def all(self) -> list[StoredPartition]:
        """Returns the name of each partition and the number of its tuples."""
        return [
            StoredPartition(self.names(partition), len(partition.tuples))
            for partition in self._stored.values()
        ]

    def find(self, name: Name) -> StoredPartition | None:
        """Returns the partition of this name; None if it does not exist."""
        return next((partition for partition in self.all() if key_of(partition.partition) == name), None)

    def counts(self) -> tuple[int, int]:
        """Returns the number of partitions, and the number of tuples in all of them."""
        return len(self._stored), sum(len(partition.tuples) for partition in self._stored.values())

    # Names

    def names(self, partition: Partition) -> dict[str, Any]:
        """Returns the values of the columns of `partition_by`, by name."""
        return dict(zip(self._spec.partition_by, partition.key, strict=True))

    def key(self, named: Any) -> Name:
        """Returns the key of the partition that a user names (semantics 10.23).

        Raises:
            InputError: if the name does not consist of the columns of `partition_by`, if there are none, or
                if a value cannot be a key.
        """
        return tuple(map(as_key, name_of(named, self._spec.partition_by, f"an evict of {named!r}")))

    def windows(self) -> list[dict[str, Any]]:
        """Returns the partitions as windows without bounds, in the order of their keys.

        `pending` is the number of their tuples.
        """
        return [self._window(partition) for partition in self._by_key()]

    def windows_with_rows(self) -> list[dict[str, Any]]:
        """Returns the result of :meth:`windows`, with the tuples of each window as events contain them."""
        return [
            {**self._window(partition), "rows": [it.columns for it in partition.tuples]}
            for partition in self._by_key()
        ]

    def _by_key(self) -> list[Partition]:
        return sorted(
            self._stored.values(), key=lambda partition: [sort_key(value) for value in partition.key]
        )

    def _window(self, partition: Partition) -> dict[str, Any]:
        bounds = {"window_start": None, "window_end": None}
        return {**self.names(partition), **bounds, "pending": len(partition.tuples), "closed": False}
