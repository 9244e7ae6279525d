"""A cache of the runs that this process has read or made, bounded in bytes."""

from collections import OrderedDict

from panewise.engine.store.run import RunRows

DEFAULT_BYTES = 1 << 30


class Cache:
    """The rows of runs by the address of their content. The least recently used run is removed first.

    An entry is never stale, because its address is made from its content.

    Args:
        limit: bytes of rows to cache, including memory-mapped rows. A run longer than that is not cached.
    """

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self._limit = limit
        self._runs: OrderedDict[str, tuple[RunRows, int]] = OrderedDict()
        self._bytes = 0

    def get(self, address: str) -> RunRows | None:
        """Returns the rows of a run, None if they are not cached."""
        found = self._runs.get(address)
        if found is None:
            return None
        self._runs.move_to_end(address)
        return found[0]

    def put(self, address: str, rows: RunRows) -> None:
        """Adds a run, and removes others if the cache is longer than its limit."""
        self.drop(address)
        size = int(rows.frame.estimated_size())
        self._runs[address] = (rows, size)
        self._bytes += size
        self.bound(self._limit)

    def bound(self, limit: int) -> None:
        """Sets the limit, and removes the least recently used runs until the cache is within it."""
        self._limit = limit
        while self._bytes > limit:
            _, (_, freed) = self._runs.popitem(last=False)
            self._bytes -= freed

    def drop(self, address: str) -> None:
        """Removes a run, if it is cached."""
        _, freed = self._runs.pop(address, (None, 0))
        self._bytes -= freed

    @property
    def bytes(self) -> int:
        """The size of the cached rows in bytes."""
        return self._bytes
