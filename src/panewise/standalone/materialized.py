"""Puts the current result of each window into a store of the caller (semantics 31.13 to 31.19).

Invariant: unless `outdated` is true, the store has the result of every live window as the state of the
operator has it. A step sets `outdated` before it puts anything. So if a put fails, or the state returns to an
earlier one, the store is made equal to the state before the next step. Cost: a step puts the results of the
windows that it changes. To make the store equal to the state takes a pass over its entries and over all live
windows.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.family_parts import CurrentResults
from panewise.engine.protocol import Operator
from panewise.spec.family_parts import ResultWindows
from panewise.spec.operators.panes import BOUNDS
from panewise.standalone.store_entries import keys_of, stored_key, values_of
from panewise.stores import SessionStore, WindowStore

T = TypeVar("T")
ResultPlace: TypeAlias = tuple[Any, int, int | None]  # key, start and, in a session store, end
ResultEntry: TypeAlias = tuple[ResultPlace, Any]  # a place and its value; None deletes it


class Materialized:
    """The current results of an operator's windows in a store of the caller.

    Args:
        store: the store. It belongs to the operator, but the caller closes it.
        results: returns the current results of the operator.

    Attributes:
        outdated: whether the store may differ from the state.
    """

    def __init__(
        self,
        windows: ResultWindows,
        store: WindowStore | SessionStore,
        results: Callable[[Operator], CurrentResults],
    ) -> None:
        self._keys, self._names = windows.keys, windows.aggregates
        self._store, self._results = store, results
        self.outdated = True

    def step(self, operator: Operator, work: Callable[[], T]) -> T:
        """Does a step, and puts the results that it has changed. Returns what the step returns."""
        if self.outdated:
            self.synchronise(operator)
        returned, changes = self._results(operator).changed_by(work)
        self.outdated = True
        for change in changes:
            deleted = [(place, None) for place in self._places(change.deleted)]
            self._put([*deleted, *self._entries(change.results)])
        self.outdated = False
        return returned

    def synchronise(self, operator: Operator) -> None:
        """Makes the store equal to the state.

        Entries of windows that have expired or closed stay, as their results are final. All other entries
        that are not those of live windows are deleted.
        """
        self.outdated = True
        current = self._results(operator)
        results, closed = current.live()
        live = {*self._places(results), *self._places(closed)}
        others = [place for place in self._stored_places() if place not in live]
        final = current.expired(self._windows(others, results.schema))
        deleted = [(place, None) for place, stays in zip(others, final, strict=True) if not stays]
        self._put([*deleted, *self._entries(results)])
        self.outdated = False

    def commit(self) -> None:
        """Makes the store durable, if it has a directory.

        It is called before the state is committed. So a crash between the two leaves a store that is ahead
        of the state, which :meth:`synchronise` mends. One that is outdated would lack final results.
        """
        self._store.commit()

    def _put(self, entries: Iterable[ResultEntry]) -> None:
        """Puts entries. The lateness of the operator decides what is too late, not the grace of the store."""
        if isinstance(self._store, SessionStore):
            self._store.restore(
                {"key": key, "value": value, "start": start, "end": end}
                for (key, start, end), value in entries
            )
        else:
            self._store.restore(
                {"key": key, "value": value, "time": start}
                for (key, start, _), value in entries
                if start > MIN_INSTANT
            )

    def _entries(self, results: pl.DataFrame) -> list[ResultEntry]:
        return list(zip(self._places(results), values_of(results.select(self._names)), strict=True))

    def _places(self, windows: pl.DataFrame) -> list[ResultPlace]:
        start, end = (windows[name].to_list() for name in BOUNDS)
        if not isinstance(self._store, SessionStore):
            end = [None] * windows.height
        return list(zip(keys_of(windows, self._keys), start, end, strict=True))

    def _stored_places(self) -> list[ResultPlace]:
        if isinstance(self._store, SessionStore):
            with self._store.fetch_keys(None, None) as sessions:
                return [(entry.key, entry.start, entry.end) for entry in sessions]
        with self._store.all() as windows:
            return [(entry.key, entry.start, None) for entry in windows]

    def _windows(self, places: Sequence[ResultPlace], schema: pl.Schema) -> pl.DataFrame:
        """Returns the windows at these places."""
        columns = [*self._keys, *BOUNDS]
        rows = [(*stored_key(key), start, end) for key, start, end in places]
        return pl.DataFrame(rows, {name: schema[name] for name in columns}, orient="row", strict=False)
