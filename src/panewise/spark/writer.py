"""Writes the outputs of an operator to their sinks from one query, exactly once.

The state operator emits one stream of envelopes. In ``foreachBatch`` the envelopes of each kind are unpacked
and passed to the sink of that kind, with the number of the micro-batch.

Spark repeats a micro-batch with the same input, clocks and state, so it emits the same rows. If the sink
writes a repeated micro-batch to the same place, each row is written exactly once.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from panewise.engine.checkpoint import check_same
from panewise.errors import SpecError, StateError
from panewise.spark.dataflow import Dataflow, note, unpacked
from panewise.spark.envelope import kind_of
from panewise.spark.query import Done, WindowQuery
from panewise.spark.settings import envelopes_in_small_batches
from panewise.spark.sinks import Sink, exists, prepare
from panewise.spark.unpack import Unpack
from panewise.spec.codec import to_dict
from panewise.state import Manifest


@dataclass(frozen=True)
class Dispatch:
    """The function that ``foreachBatch`` calls: passes each kind of output to its sink."""

    sinks: Mapping[str, Sink]
    unpackers: Mapping[str, Unpack]

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
    dispatch = Dispatch(
        dict(sinks), {kind: dataflow.unpacker(kind, all_columns=whole_rows) for kind in sinks}
    )
    if not dataflow.df.isStreaming:
        dispatch(_stepped(dataflow, None, whole_rows, late_wanted=late_wanted), 0)
        return WindowQuery(Done(dataflow.df), None)  # type: ignore[arg-type]
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
    record = Manifest(to_dict(dataflow.spec), len(dataflow.shards), header=_fed_record(dataflow)).encode()
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
