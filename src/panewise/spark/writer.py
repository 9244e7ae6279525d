"""Writes the outputs of an operator to their sinks from one query, exactly once.

The state operator emits one stream of envelopes. In ``foreachBatch`` the envelopes of each kind are unpacked
and passed to the sink of that kind, with the number of the micro-batch.

Spark repeats a micro-batch with the same input, clocks and state, so it emits the same rows. If the sink
writes a repeated micro-batch to the same place, each row is written exactly once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from panewise.engine.checkpoint import check_same
from panewise.errors import SpecError, StateError
from panewise.spark.dataflow import Dataflow, note, unpacked
from panewise.spark.envelope import kind_of
from panewise.spark.failures import QueryError
from panewise.spark.settings import envelopes_in_small_batches
from panewise.spark.sinks import ParquetSink, Sink, empty, exists, is_absolute, prepare
from panewise.spark.unpack import Unpack
from panewise.spec.codec import to_dict
from panewise.state import Manifest


class WindowQuery:
    """A running query: Spark's StreamingQuery, which with `finish="at_end"` also ends the input."""

    def __init__(self, query: StreamingQuery, finisher: Callable[[], StreamingQuery] | None) -> None:
        self.query = query
        self._finisher = finisher

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - PySpark's name
        """Waits for the end of the query. With `finish="at_end"` it then ends the input and waits again.

        Args:
            timeout: seconds to wait until the input has been processed. The wait for the last panes, after
                the end of input, has no limit.

        Returns:
            False if the timeout passed, else True.

        Raises:
            QueryError: if the query failed. Its message begins with the reason.
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
        """Stops the query without ending its input."""
        self._finisher = None
        self.query.stop()

    @property
    def lastProgress(self) -> Any:  # noqa: N802 - PySpark's name
        """Spark's progress report of the last micro-batch."""
        return self.query.lastProgress

    @property
    def isActive(self) -> bool:  # noqa: N802 - PySpark's name
        """Whether the query runs."""
        return self.query.isActive

    @property
    def name(self) -> str | None:
        """The name of the query, None if it has none."""
        return self.query.name

    def exception(self) -> QueryError | None:
        """Returns why the query failed, or None if it runs or ended without an error."""
        found = self.query.exception()
        return None if found is None else QueryError(str(found))

    def processAllAvailable(self) -> None:  # noqa: N802 - PySpark's name
        """Waits until all input that is available has been processed.

        Raises:
            QueryError: if the query failed. Its message begins with the reason.
        """
        with _short_reports():
            self.query.processAllAvailable()


@contextmanager
def _short_reports() -> Iterator[None]:
    """Raises a QueryError, whose message begins with the reason, in the place of Spark's error.

    The message contains Spark's report, so Spark's error is not its cause as well.
    """
    try:
        yield
    except StreamingQueryException as error:
        raise QueryError(str(error)) from None


@dataclass(frozen=True)
class Dispatch:
    """The function that ``foreachBatch`` calls: passes each kind of output to its sink.

    Attributes:
        sinks: the sinks by kind.
        unpackers: the functions that make real columns, by kind.
        begun: the kinds whose sinks get an empty DataFrame in the first micro-batch if it has no such rows.
            So a table that a sink writes exists, with its columns.
    """

    sinks: Mapping[str, Sink]
    unpackers: Mapping[str, Unpack]
    begun: frozenset[str] = frozenset()

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
                    if kind in present:
                        sink(unpacked(persisted, self.unpackers[kind]), batch_id)
                    elif batch_id == 0 and kind in self.begun:
                        sink(empty(persisted.sparkSession, self.unpackers[kind].target), batch_id)
        finally:
            persisted.unpersist()


@dataclass(frozen=True)
class WriteOptions:
    """The arguments of `write` besides the sinks, as in :meth:`panewise.spark.WindowResult.write`.

    Raises:
        SpecError: if two triggers are given.
    """

    checkpoint: str | None
    available_now: bool
    processing_time: str | None
    name: str | None

    def __post_init__(self) -> None:
        if self.available_now and self.processing_time is not None:
            rule = "a run that stops when everything is processed has no interval between micro-batches"
            given = f"available_now=True with processing_time={self.processing_time!r}"
            raise SpecError(given, rule, "leave out one of the two")

    @property
    def trigger(self) -> dict[str, Any]:
        """The arguments of Spark's trigger, none for its default."""
        if self.available_now:
            return {"availableNow": True}
        return {} if self.processing_time is None else {"processingTime": self.processing_time}


def start(
    dataflow: Dataflow, sinks: Mapping[str, Sink], options: WriteOptions, *, at_end: bool
) -> WindowQuery:
    """Starts the query. On a batch DataFrame it writes the outputs before it returns.

    Raises:
        SpecError: if a stream has no checkpoint.
        StateError: if the checkpoint was made with another specification or number of shards.
    """
    checkpoint, trigger, name = options.checkpoint, options.trigger, options.name
    wanted = set(map(kind_of, sinks))
    whole_rows, late_wanted = bool({"late", "invalid"} & wanted), "late" in wanted
    streaming = dataflow.df.isStreaming
    # On a stream the paths of ParquetSinks are prepared.
    begun = [one for one, sink in sinks.items() if not (streaming and isinstance(sink, ParquetSink))]
    dispatch = Dispatch(
        dict(sinks),
        {kind: dataflow.unpacker(kind, all_columns=whole_rows) for kind in sinks},
        frozenset(begun),
    )
    if not streaming:
        dispatch(_stepped(dataflow, None, whole_rows, late_wanted=late_wanted), 0)
        return WindowQuery(_Done(), None)  # type: ignore[arg-type]
    if checkpoint is None:
        raise SpecError(
            "write() on a stream without a checkpoint",
            "a checkpoint stores the state and the progress of the query",
            "give checkpoint='/a/directory'",
        )
    session, controls = dataflow.df.sparkSession, f"{checkpoint}/panewise/control"
    known = _record_of(session, checkpoint)
    if known is not None:
        dataflow = dataflow.known_as(known.shards)
        check_same(known, dataflow.spec, len(dataflow.shards))
        _check_fed(known.header, dataflow)
        _check_place(session, known.header, checkpoint)
    prepare(
        session,
        sinks,
        {kind: unpack.target for kind, unpack in dispatch.unpackers.items()},
        new=known is None,
    )
    if known is None:
        _record(session, dataflow, checkpoint, controls)

    def begin() -> StreamingQuery:
        tagged = _stepped(dataflow, controls, whole_rows, late_wanted=late_wanted)
        writer = tagged.writeStream.foreachBatch(dispatch).option("checkpointLocation", checkpoint)
        writer = writer if name is None else writer.queryName(name)
        return (writer.trigger(**trigger) if trigger else writer).start()

    def finish() -> StreamingQuery:
        _write_note(session, controls, note(finish=1))
        return begin()

    return WindowQuery(begin(), finish if at_end else None)


_FED = "fed"  # the field of the record that has the operators whose rows are inputs
_PLACE = "checkpoint"  # that of the path of the checkpoint, if it is absolute


class _Done:
    """Stands for the query of a batch DataFrame, whose outputs are already written."""

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


def _stepped(dataflow: Dataflow, controls: str | None, whole_rows: bool, *, late_wanted: bool) -> DataFrame:
    packed = dataflow.packed(late_wanted=late_wanted, all_columns=whole_rows)
    # A stream always has this source: Spark refuses a checkpoint whose sources have changed, and a later run
    # may end the input.
    if controls is not None:
        notes = dataflow.df.sparkSession.readStream.schema("value STRING").text(controls)
        packed = packed.union(dataflow.controlled(notes))
    return dataflow.stepped(packed, dataflow.schemas(all_columns=whole_rows))


def _write_note(session: SparkSession, controls: str, text: str) -> None:
    """Adds a control note."""
    _text(session, text).write.mode("append").text(controls)


def _text(session: SparkSession, text: str) -> DataFrame:
    """Returns one row of text.

    It comes from a statement, for which Spark starts no job. It would start one for createDataFrame.
    """
    return session.sql("SELECT 1").select(F.lit(text).alias("value"))


def _record_of(session: SparkSession, checkpoint: str) -> Manifest | None:
    """Returns the record of the operator of a checkpoint, or None if the checkpoint is new."""
    if not exists(session, _record_path(checkpoint)):
        return None
    rows = session.read.text(_record_path(checkpoint), wholetext=True).collect()
    return Manifest.decode(rows[0][0].strip()) if rows else None


def _record_path(checkpoint: str) -> str:
    """Returns the path of the record of the operator of a checkpoint."""
    return f"{checkpoint}/panewise/operator"


def _record(session: SparkSession, dataflow: Dataflow, checkpoint: str, controls: str) -> None:
    """Prepares a new checkpoint.

    The record is written last. So if this function is interrupted, the next start calls it again.
    """
    _text(session, "").limit(0).write.mode("append").text(controls)  # the directory of the control notes
    header = {**_fed_record(dataflow), **({_PLACE: checkpoint} if is_absolute(checkpoint) else {})}
    record = Manifest(to_dict(dataflow.spec), len(dataflow.shards), header=header).encode()
    _text(session, record).write.mode("append").text(_record_path(checkpoint))


def _fed_record(dataflow: Dataflow) -> dict[str, Any]:
    """Returns what the record has of the operators whose rows are inputs: nothing if there are none."""
    fed = {
        port: {"spec": to_dict(first.spec), "shards": len(first.shards), **_fed_record(first)}
        for port, first in dataflow.fed.items()
    }
    return {_FED: fed} if fed else {}


def _check_fed(known: Mapping[str, Any], dataflow: Dataflow) -> None:
    """Checks that the operators whose rows are inputs are those of the checkpoint.

    Raises:
        StateError: if there are others, or one has another specification or number of shards.
    """
    before = known.get(_FED, {})
    if set(before) != set(dataflow.fed):
        given = f"results as the inputs {sorted(dataflow.fed)}"
        rule = f"in this checkpoint results of other operators are the inputs {sorted(before)}"
        raise StateError(given, rule, "use the same inputs, or start from a new checkpoint")
    for port, first in dataflow.fed.items():
        record = before[port]
        check_same(Manifest(record["spec"], record["shards"]), first.spec, len(first.shards))
        _check_fed(record, first)


def _check_place(session: SparkSession, known: Mapping[str, Any], checkpoint: str) -> None:
    """Checks that a checkpoint is where it was made, or can still be found there.

    Spark's description of the state has absolute paths, so without the check Spark would miss a file.

    Raises:
        StateError: naming both paths.
    """
    made = known.get(_PLACE)
    if made is None or made == checkpoint or exists(session, _record_path(made)):
        return
    rule = "a checkpoint cannot be moved, as Spark stores absolute paths in it"
    remedy = f"move it back, or make a link to it at {made}, or start from a new checkpoint"
    raise StateError(f"the checkpoint {checkpoint}, which was made at {made}", rule, remedy)
