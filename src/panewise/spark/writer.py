"""All outputs of an operator from one query into their sinks, exactly once.

The state operator's output is one tagged stream. In ``foreachBatch`` each kind is unpacked and handed to its sink
with the batch's number; a sink that writes the same batch twice to the same place makes that exactly once, as Spark
repeats a batch with the same input, clocks and state.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from panewise.engine.checkpoint import check_same
from panewise.errors import SpecError
from panewise.spark.failures import QueryError
from panewise.spark.plumbing import Plumbing, note, unpacked
from panewise.spark.sinks import Sink, exists, prepare
from panewise.spark.types import polars_schema
from panewise.spark.unpack import Unpack
from panewise.spec.codec import to_dict
from panewise.state import Manifest


class WindowQuery:
    """A running operator: Spark's StreamingQuery, which also ends the input where `finish="at_end"` asks for it."""

    def __init__(self, query: StreamingQuery, finisher: Callable[[], StreamingQuery] | None) -> None:
        self.query = query
        self._finisher = finisher

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - PySpark's name
        """Waits for the end; then, once everything has been processed, ends the input and waits for the last panes.

        Args:
            timeout: seconds to wait for what has come to be processed; the last panes are waited for as long as they take.

        Raises:
            QueryError: if the query failed; it begins with the sentence that says why.
        """
        with _short_reports():
            if timeout is not None and not self.query.awaitTermination(timeout):  # type: ignore[arg-type]
                return False
            self.query.awaitTermination()
            if self._finisher is not None:
                finisher, self._finisher = self._finisher, None
                self.query = finisher()
                self.query.awaitTermination()
        return True

    def stop(self) -> None:
        """Stops the query; the input is not ended."""
        self._finisher = None
        self.query.stop()

    @property
    def lastProgress(self) -> Any:  # noqa: N802 - PySpark's name
        """Spark's report on the last micro-batch."""
        return self.query.lastProgress

    @property
    def isActive(self) -> bool:  # noqa: N802 - PySpark's name
        """Whether the query runs."""
        return self.query.isActive

    @property
    def name(self) -> str | None:
        """The name that the query was given."""
        return self.query.name

    def exception(self) -> QueryError | None:
        """Returns why the query failed; None if it runs, or ended well."""
        found = self.query.exception()
        return None if found is None else QueryError(str(found))

    def processAllAvailable(self) -> None:  # noqa: N802 - PySpark's name
        """Waits until everything that is there has been processed.

        Raises:
            QueryError: if the query failed; it begins with the sentence that says why.
        """
        with _short_reports():
            self.query.processAllAvailable()


@contextmanager
def _short_reports() -> Iterator[None]:
    """Errors of the query begin with the sentence that says why. Spark's report follows in the message, so that it is no cause as well."""
    try:
        yield
    except StreamingQueryException as error:
        raise QueryError(str(error)) from None


@dataclass(frozen=True)
class Dispatch:
    """The function that ``foreachBatch`` calls: each kind of output to its sink."""

    sinks: Mapping[str, Sink]
    unpackers: Mapping[str, Unpack]

    def __call__(self, tagged: DataFrame, batch_id: int) -> None:
        """Hands one micro-batch to the sinks. Computed once: a second time would run the state operator again."""
        kept = tagged.persist()
        try:
            present = {row.kind for row in kept.select("kind").collect()}  # a few envelopes from each shard, of some 4 MB or less
            for kind, sink in self.sinks.items():
                if kind in present:
                    sink(unpacked(kept, self.unpackers[kind]), batch_id)
        finally:
            kept.unpersist()


def start(
    plumbing: Plumbing,
    sinks: Mapping[str, Sink],
    checkpoint: str | None,
    trigger: Mapping[str, Any],
    *,
    at_end: bool,
    name: str | None = None,
) -> WindowQuery:
    """Starts the query; on a batch DataFrame, does the work."""
    whole_rows = bool({"late", "invalid"} & set(sinks))
    dispatch = Dispatch(dict(sinks), {kind: plumbing.unpacker(kind, all_columns=whole_rows) for kind in sinks})
    if not plumbing.df.isStreaming:
        dispatch(_stepped(plumbing, None, whole_rows, late_wanted="late" in sinks), 0)
        return WindowQuery(_Done(), None)  # type: ignore[arg-type]
    if checkpoint is None:
        raise SpecError(
            "write() on a stream without a checkpoint", "state and progress are kept in a checkpoint", "give checkpoint='/a/directory'"
        )
    session, controls = plumbing.df.sparkSession, f"{checkpoint}/panewise/control"
    known = _record_of(session, checkpoint)
    if known is not None:
        plumbing = plumbing.known_as(known.shards)
        check_same(known, plumbing.spec, len(plumbing.shards))
    prepare(session, sinks, {kind: unpack.target for kind, unpack in dispatch.unpackers.items()}, new=known is None)
    if known is None:
        _record(session, plumbing, checkpoint, controls)

    def begin() -> StreamingQuery:
        tagged = _stepped(plumbing, controls, whole_rows, late_wanted="late" in sinks)
        writer = tagged.writeStream.foreachBatch(dispatch).option("checkpointLocation", checkpoint)
        writer = writer if name is None else writer.queryName(name)
        return (writer.trigger(**trigger) if trigger else writer).start()

    def finish() -> StreamingQuery:
        _send_note(session, controls, note(finish=1))
        return begin()

    return WindowQuery(begin(), finish if at_end else None)


class _Done:
    """Stands for the query of a batch DataFrame, whose work is done when it is made."""

    name = None
    isActive = False  # noqa: N815 - PySpark's name
    lastProgress = None  # noqa: N815 - PySpark's name

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        return True

    def processAllAvailable(self) -> None:  # noqa: N802
        return

    def exception(self) -> None:
        return

    def stop(self) -> None:
        return


def _stepped(plumbing: Plumbing, controls: str | None, whole_rows: bool, *, late_wanted: bool) -> DataFrame:
    packed = plumbing.packed(late_wanted=late_wanted, all_columns=whole_rows)
    # Always on a stream: Spark refuses a checkpoint whose sources have changed, and the end may be told in a later run.
    if controls is not None:
        notes = plumbing.df.sparkSession.readStream.schema("value STRING").text(controls)
        packed = packed.union(plumbing.controlled(notes))
    return plumbing.stepped(packed, polars_schema(plumbing.inputs(all_columns=whole_rows)))


def _send_note(session: SparkSession, controls: str, text: str) -> None:
    """Adds a control note."""
    _text(session, text).write.mode("append").text(controls)


def _text(session: SparkSession, text: str) -> DataFrame:
    """One row of text. Spark starts no job for the rows of a statement, as it does for those of createDataFrame."""
    return session.sql("SELECT 1").select(F.lit(text).alias("value"))


def _record_of(session: SparkSession, checkpoint: str) -> Manifest | None:
    """Which operator a checkpoint belongs to; None if it is a new one."""
    if not exists(session, _record_path(checkpoint)):
        return None
    rows = session.read.text(_record_path(checkpoint), wholetext=True).collect()
    return Manifest.decode(rows[0][0].strip()) if rows else None


def _record_path(checkpoint: str) -> str:
    """Where a checkpoint tells which operator it belongs to."""
    return f"{checkpoint}/panewise/operator"


def _record(session: SparkSession, plumbing: Plumbing, checkpoint: str, controls: str) -> None:
    """Makes what a new checkpoint needs. The record comes last: what is interrupted here is done again."""
    _text(session, "").limit(0).write.mode("append").text(controls)  # a directory for the stream of notes
    record = Manifest(to_dict(plumbing.spec), len(plumbing.shards)).encode()
    _text(session, record).write.mode("append").text(_record_path(checkpoint))
