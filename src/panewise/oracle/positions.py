"""Which rows are replays (semantics 4, 4.4)."""

from typing import Any

from panewise.spec import Position


class Positions:
    """The offsets received from each (source, partition).

    >>> unordered = Positions()
    >>> position = Position(ordered=False, remember=1)
    >>> [unordered.is_replay(position, {"partition": 0, "offset": offset}) for offset in (5, 7, 6, 4, 8)]
    [False, False, False, True, False]
    """

    def __init__(self) -> None:
        self._highest: dict[Any, int] = {}  # at and below it every row is a replay
        self._above: dict[Any, set[int]] = {}  # offsets above it, where positions are not ordered

    def is_replay(self, position: Position | None, values: dict[str, Any]) -> bool:
        """Whether a row is one; if it is not, its offset is received."""
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
        """Raises the highest offset below which all are replays, until few enough intervals lie above it."""
        above = self._above[origin]
        while True:
            while origin in self._highest and self._highest[origin] + 1 in above:
                self._highest[origin] += 1
                above.remove(self._highest[origin])
            if sum(offset - 1 not in above for offset in above) <= remember:
                return
            self._highest[origin] = min(above)
            above.remove(self._highest[origin])
