"""Runs that this process has read or made, within a bound of bytes."""

from collections import OrderedDict

from panewise.engine.store.run import Indexed

DEFAULT_BYTES = 1 << 30


class Cache:
    """Runs by the address of their content; the least recently used is dropped first. What is here is always right.

    Args:
        limit: bytes of rows that are kept, mapped ones too; a run longer than that is not kept at all.
    """

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self._limit = limit
        self._runs: OrderedDict[str, tuple[Indexed, int]] = OrderedDict()
        self._bytes = 0

    def get(self, address: str) -> Indexed | None:
        """The rows of a run, if they are here."""
        found = self._runs.get(address)
        if found is None:
            return None
        self._runs.move_to_end(address)
        return found[0]

    def put(self, address: str, rows: Indexed) -> None:
        """Remembers a run."""
        self.drop(address)
        size = int(rows.frame.estimated_size())
        self._runs[address] = (rows, size)
        self._bytes += size
        self.bound(self._limit)

    def bound(self, limit: int) -> None:
        """Keeps to another limit from now on."""
        self._limit = limit
        while self._bytes > limit:
            _, (_, freed) = self._runs.popitem(last=False)
            self._bytes -= freed

    def drop(self, address: str) -> None:
        """Forgets a run."""
        _, freed = self._runs.pop(address, (None, 0))
        self._bytes -= freed

    @property
    def bytes(self) -> int:
        """How much is here."""
        return self._bytes
