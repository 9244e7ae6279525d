"""Passes the rows of each micro-batch to the sinks of a query, with the number of the micro-batch.

Spark repeats a micro-batch with the same input, clocks and state, so it emits the same rows. If the sink
writes a repeated micro-batch to the same place, each row is written exactly once.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.spark.dataflow.output_schemas import unpacked
from panewise.spark.queries.selection import Sorted
from panewise.spark.session.settings import envelopes_in_small_batches
from panewise.spark.shuffle.envelope import kind_of
from panewise.spark.sinks.base import AnySink, BoundSink, OutputSink
from panewise.spark.sinks.preparation import empty
from panewise.spark.sinks.sequence import sequenced
from panewise.spark.workers.unpack import Unpack


@dataclass(frozen=True)
class Dispatch:
    """The function that ``foreachBatch`` calls: passes each kind of output to its sink.

    Attributes:
        steps: functions that are applied, in order, to the rows of the first output, for its sink.
        sequence: the column that emitted rows get (semantics 49.1), None if they get none.
        from_start: the kinds whose sinks get an empty DataFrame in the first micro-batch if it has no such
            rows. So a table that a sink writes exists, with its columns.
    """

    sinks: Mapping[str, AnySink]
    unpackers: Mapping[str, Unpack]
    from_start: frozenset[str] = frozenset()
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = ()
    sequence: str | None = None

    def __call__(self, tagged: DataFrame, batch_id: int) -> None:
        """Passes one micro-batch to the sinks.

        It is computed once. A second time would run the state operator again.
        """
        persisted = tagged.persist()
        try:
            # These are few rows: a few envelopes of each shard, of about 4 MB at most.
            present = Counter(row.kind for row in persisted.select("kind").collect())
            with envelopes_in_small_batches(persisted.sparkSession, max(present.values(), default=0)):
                for kind, sink in self.sinks.items():
                    assert not isinstance(sink, OutputSink), "it is bound to its output"
                    if kind in present:
                        rows = unpacked(persisted, self.unpackers[kind])
                        sink(self.shaped(kind, rows, batch_id), batch_id)
                    elif batch_id == 0 and kind in self.from_start:
                        sink(self.empty(kind, persisted.sparkSession), batch_id)
        finally:
            persisted.unpersist()

    def empty(self, kind: str, session: SparkSession) -> DataFrame:
        """Returns an empty DataFrame as the sink of this kind gets it."""
        return self.shaped(kind, empty(session, self.unpackers[kind].target), 0)

    def schema(self, kind: str, session: SparkSession) -> StructType:
        """Returns the columns of the rows that the sink of this kind gets."""
        plain = (kind != "panes" or not self.steps) and self._sequence(kind) is None
        return self.unpackers[kind].target if plain else self.empty(kind, session).schema

    def shaped(self, kind: str, rows: DataFrame, batch_id: int) -> DataFrame:
        """Returns rows of this kind as its sink gets them."""
        steps, sequence = self.steps if kind == "panes" else (), self._sequence(kind)
        rows = reduce(lambda shaped, step: step(shaped), steps, rows)
        return rows if sequence is None else sequenced(rows, batch_id, sequence)

    @property
    def sorts(self) -> bool:
        """Whether the rows of the first output are sorted or limited."""
        return any(isinstance(step, Sorted) for step in self.steps)

    def _sequence(self, kind: str) -> str | None:
        """Returns the name of the sequence in rows of this kind, None if they have none."""
        sink = self.sinks[kind]
        if kind_of(kind) != "panes":
            return None
        return sink.output.sequence if isinstance(sink, BoundSink) else self.sequence
