"""The numbers of rows, which stand in the place of event times where windows are measured in rows (semantics 8, 9.5)."""

from typing import Any

from panewise.spec import Window, counted_by_key

Key = tuple[Any, ...]


class Numbers:
    """Counts the rows received: of each key, or, for sessions, of all keys.

    >>> from panewise.spec import Session, Tumbling, rows
    >>> of_keys, of_all = Numbers(Tumbling(rows(3))), Numbers(Session(rows(3)))
    >>> [(of_keys.next(key), of_all.next(key)) for key in [("a",), ("b",), ("a",)]]
    [(0, 0), (0, 1), (1, 2)]
    """

    def __init__(self, window: Window) -> None:
        self._by_key = counted_by_key(window)
        self._received: dict[Key, int] = {}

    def next(self, key: Key) -> int:
        """The number of the row of that key which comes now."""
        counted = key if self._by_key else ()
        number = self._received.get(counted, 0)
        self._received[counted] = number + 1
        return number
