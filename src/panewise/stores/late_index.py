"""Entries of a map that are not yet in the order of keys."""

from panewise.stores.ordered_map import OrderedMap
from panewise.stores.timed_layout import TimedLayout

_MOST = 1 << 16


class LateIndex:
    """The places of entries by time that have none by key yet. Some of the entries may have been deleted."""

    def __init__(self) -> None:
        self._places: list[bytes] = []
        self._most = _MOST
        self.add = self._places.append

    def tidy(self, entries: OrderedMap) -> None:
        """Forgets the places of deleted entries, if there are many places."""
        if len(self._places) > self._most:
            self._places[:] = [
                place for place in dict.fromkeys(self._places) if entries.get(place) is not None
            ]
            self._most = max(_MOST, 2 * len(self._places))

    def write(self, entries: OrderedMap, layout: TimedLayout) -> None:
        """Puts the entries in the order of keys."""
        for place in self._places:
            if entries.get(place) is not None:
                entries.put(layout.by_key(place), b"")
        self._places.clear()
