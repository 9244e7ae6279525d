"""Which paths the active queries of this process write files to: no two to one (semantics 49.59, 49.61).

A query claims its paths before it checks them, until it has ended. If two queries start at the same time, the
second one to claim a path sees the claim of the first one, and is refused.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

from pyspark.sql.streaming.query import StreamingQuery

from panewise.errors import SpecError
from panewise.paths import place
from panewise.spark.session.failures import spark_errors


@dataclass(eq=False)
class PathClaim:
    """The paths of one start of a query.

    Attributes:
        places: the paths.
        checkpoint: where the checkpoint is, None for a query over a batch DataFrame.
        query: the query, once it has started.
        starting: whether it is starting, or a batch is being written.
    """

    places: frozenset[str]
    checkpoint: str | None
    query: StreamingQuery | None = None
    starting: bool = True

    def last_as_long_as(self, query: StreamingQuery) -> StreamingQuery:
        """Sets the query, which has started. Returns it."""
        self.query = query
        return query

    def is_active(self) -> bool:
        """Returns whether the query starts, or is active."""
        return self.starting or (self.query is not None and _runs(self.query))

    def is_of(self, checkpoint: str | None) -> bool:
        """Returns whether its query has this checkpoint. Spark stops that run, so nothing conflicts."""
        return checkpoint is not None and self.checkpoint == checkpoint


class ActivePaths:
    """The paths of queries, in the order in which they were claimed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._claims: list[PathClaim] = []

    def check(self, places: Iterable[str], checkpoint: str | None) -> None:
        """Checks that no active query with another checkpoint writes to one of these places.

        Raises:
            SpecError: if one does.
        """
        with self._lock:
            claims = [*self._claims]
        self._check(claims, frozenset(places), _placed(checkpoint))

    @contextmanager
    def claimed(self, places: Iterable[str], checkpoint: str | None) -> Iterator[PathClaim]:
        """Claims places for a query that starts in the block, or for a batch that is written in it.

        The claim lasts as long as the query that the block gives it by :meth:`PathClaim.last_as_long_as`.
        Without one it ends with the block.

        Raises:
            SpecError: if an active query with another checkpoint, or one that starts, writes to one of them.
        """
        claim = PathClaim(frozenset(places), _placed(checkpoint))
        with self._lock:
            earlier = [*self._claims]
            self._claims += [claim] if claim.places else []
        try:
            self._check(earlier, claim.places, claim.checkpoint)
            yield claim
        finally:
            claim.starting = False
            if claim.query is None:
                self._release(claim)

    def _check(self, claims: Iterable[PathClaim], places: frozenset[str], checkpoint: str | None) -> None:
        for claim in claims:
            if claim.places.isdisjoint(places):
                continue
            if not claim.is_active():
                self._release(claim)
            elif not claim.is_of(checkpoint):
                where = min(claim.places & places)
                fault = f"the path {where!r}, to which {_shown(claim)} writes"
                rule = "two queries would replace each other's micro-batches (semantics 49.59)"
                raise SpecError(fault, rule, "give another path, or stop that query")

    def _release(self, claim: PathClaim) -> None:
        with self._lock:
            self._claims = [other for other in self._claims if other is not claim]


ACTIVE: Final = ActivePaths()  # those of this process


def _placed(checkpoint: str | None) -> str | None:
    return None if checkpoint is None else place(checkpoint)


def _shown(claim: PathClaim) -> str:
    """Returns the query of a claim, as an error shows it."""
    if claim.checkpoint is None:
        return "a query over a batch DataFrame"
    return f"the active query with the checkpoint {claim.checkpoint!r}"


def _runs(query: StreamingQuery) -> bool:
    """Returns whether a query is active. It is not if its session has ended: Spark then raises an error."""
    try:
        return query.isActive
    except spark_errors():
        return False
