"""Which paths the active queries of this process write files to: no two to one (semantics 49.59)."""

from collections.abc import Iterable
from threading import Lock

from pyspark.sql.streaming.query import StreamingQuery

from panewise.errors import SpecError
from panewise.paths import place
from panewise.spark.session.failures import spark_errors


class ActivePaths:
    """The paths of queries that were started, each with its checkpoint. Those of ended queries are free."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queries: dict[str, tuple[str, StreamingQuery]] = {}

    def check(self, places: Iterable[str], checkpoint: str) -> None:
        """Checks that no active query with another checkpoint writes to one of these places.

        Raises:
            SpecError: if one does.
        """
        with self._lock:
            known = {where: self._queries[where] for where in places if where in self._queries}
        for where, (other, query) in known.items():
            if other != place(checkpoint) and _is_active(query):
                rule = "two queries would replace each other's micro-batches (semantics 49.59)"
                fault = f"the path {where!r}, to which the active query with the checkpoint {other!r} writes"
                raise SpecError(fault, rule, "give another path, or stop that query")

    def add(self, places: Iterable[str], checkpoint: str, query: StreamingQuery) -> None:
        """Adds the places of a query that was started."""
        with self._lock:
            self._queries |= dict.fromkeys(places, (place(checkpoint), query))


def _is_active(query: StreamingQuery) -> bool:
    """Returns whether a query is active. It is not if its session has ended: Spark then raises an error."""
    try:
        return query.isActive
    except spark_errors():
        return False
