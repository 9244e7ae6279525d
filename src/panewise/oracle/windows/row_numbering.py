"""Row numbering: in windows of rows a row's number takes the place of its event time (semantics 8, 9.5)."""

from typing import Any

from panewise.spec import AnyWindow, counted_by_key

Key = tuple[Any, ...]


class RowNumbering:
    """Numbers the rows received from 0: for each key separately or, for sessions, across all keys.

    >>> from panewise.spec import Session, Tumbling, rows
    >>> of_keys, of_all = RowNumbering(Tumbling(rows(3))), RowNumbering(Session(rows(3)))
    >>> [(of_keys.next(key), of_all.next(key)) for key in [("a",), ("b",), ("a",)]]
    [(0, 0), (0, 1), (1, 2)]
    """

    def __init__(self, window: AnyWindow) -> None:
        self._by_key = counted_by_key(window)
        self._received: dict[Key, int] = {}

    def next(self, key: Key) -> int:
        """Returns the number of the next row, which has this key, and counts the row."""
        counted = key if self._by_key else ()
        number = self._received.get(counted, 0)
        self._received[counted] = number + 1
        return number
