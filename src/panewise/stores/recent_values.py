"""A cache of the values that were put last, by key and time: a fetch of these decodes nothing.

Invariant: a value that it returns is the one that the store has. What is not plain could change, and is not
cached.
"""

from typing import Any

PLAIN = frozenset((int, float, bool, type(None)))  # types of values that are small and never change
MISSING, ENCODED = object(), object()


class RecentValues:
    """The plain values of the last puts: between `most` and twice as many. None is the value after a delete.

    There are two generations. When the new one is full, it becomes the old one, which is forgotten. What is
    put comes into `new`, where a value that is not plain is represented by `ENCODED`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.new: dict[tuple[str, int], Any] = {}
        self._old: dict[tuple[str, int], Any] = {}

    def __len__(self) -> int:
        return len(self.new) + len(self._old)

    def get(self, key: str, time: int) -> Any:
        """Returns a value, or an object whose type is not in `PLAIN`."""
        value = self.new.get((key, time), MISSING)
        return self._old.get((key, time), MISSING) if value is MISSING else value

    def tidy(self) -> None:
        """Forgets the old generation if the new one is full."""
        if len(self.new) > self._most:
            self._old, self.new = self.new, {}

    def clear(self) -> None:
        """Forgets all values."""
        self.new.clear()
        self._old.clear()
