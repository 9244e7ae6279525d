"""Source positions: finds the rows that are replays (semantics 4, 4.4)."""

from typing import Any

from panewise.spec import Position


class ReceivedOffsets:
    """The offsets received from each (source, partition).

    >>> unordered = ReceivedOffsets()
    >>> position = Position(ordered=False, remember=1)
    >>> [unordered.is_replay(position, {"partition": 0, "offset": offset}) for offset in (5, 7, 6, 4, 8)]
    [False, False, False, True, False]
    """

    def __init__(self) -> None:
        # The mark of each (source, partition); with ordered=False, its floor. Offsets up to it are replays.
        self._highest: dict[Any, int] = {}
        # With ordered=False, the offsets received above the floor.
        self._above: dict[Any, set[int]] = {}

    def is_replay(self, position: Position | None, values: dict[str, Any]) -> bool:
        """Returns whether a row is a replay; if it is not, records its offset as received."""
        if position is None:
            return False
        *names, offset = (values[name] for name in position.columns)
        origin = tuple(names)
        above = self._above.setdefault(origin, set())
        if offset in above or (origin in self._highest and offset <= self._highest[origin]):
            return True
        if position.remember is None:
            self._highest[origin] = offset
        else:
            above.add(offset)
            self._forget(origin, position.remember)
        return False

    def _forget(self, origin: Any, remember: int) -> None:
        """Raises the floor until at most `remember` intervals lie above it (semantics 4.4)."""
        above = self._above[origin]
        while True:
            while origin in self._highest and self._highest[origin] + 1 in above:
                self._highest[origin] += 1
                above.remove(self._highest[origin])
            if sum(offset - 1 not in above for offset in above) <= remember:
                return
            self._highest[origin] = min(above)
            above.remove(self._highest[origin])
