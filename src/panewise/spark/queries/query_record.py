"""What a query stores beside Spark's checkpoint: the record of its operators, and control notes.

The record names the specification, the number of shards and the operators whose rows are inputs. So a changed
query is refused before it starts.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from pyspark.sql import SparkSession

from panewise.checkpoints.layout import AFTER, READS, STATEFUL
from panewise.chrono import Duration
from panewise.engine.checkpoint import EXPORT, check_same
from panewise.engine.evolution import log_change
from panewise.errors import StateError
from panewise.paths import is_absolute
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.initial_state import FIELD
from panewise.spark.inputs.ancestry import operators_upstream
from panewise.spark.inputs.plan_text import plan_of, sources, stateful
from panewise.spark.queries.added_clock import add_source, sources_so_far
from panewise.spark.queries.checkpoint_texts import add_text, one_text, texts_of
from panewise.spark.queries.committed import NONE, last_committed
from panewise.spark.queries.input_types import check_stored_types, recorded_types
from panewise.spark.queries.shown_rows import log_conditions
from panewise.spark.session.failures import cause_of, spark_errors
from panewise.spark.sinks.paths import exists
from panewise.spec.codec import to_dict
from panewise.spec.evolution import REMEDY, Continuation
from panewise.state import Manifest
from panewise.state.manifest import newest_record

_LOG: Final = logging.getLogger("panewise.evolution")
_RECORDS: Final = "panewise/operator"  # the directory of a checkpoint with the records of its operator
_FED = "fed"  # the field of the record that has the operators whose rows are inputs
_PLACE = "checkpoint"  # the field of the record that has the path of the checkpoint, if it is absolute
_CLOCK = "clock"  # the field of the record with the interval of the clock stream, null without one
_SOURCES = "clock_added_to"  # the field of the record with the number of sources before a clock was added
_NEVER = Duration(1 << 60)  # the interval of a clock stream that has been removed
_ENDS = "ends"  # the field of the record that says whether the notes reach these operators, too


def write_note(session: SparkSession, controls: str, text: str) -> None:
    """Adds a control note."""
    add_text(session, controls, text)


def record_of(session: SparkSession, checkpoint: str) -> Manifest | None:
    """Returns the record of the operator of a checkpoint, or None if the checkpoint is new."""
    return newest_record(texts_of(session, checkpoint, _RECORDS))


def records_of(session: SparkSession, checkpoint: str) -> list[Manifest]:
    """Returns all records of the operator of a checkpoint, in no order."""
    return [Manifest.decode(text.strip()) for text in texts_of(session, checkpoint, _RECORDS) if text.strip()]


def _path(checkpoint: str) -> str:
    """Returns the path of the record of the operator of a checkpoint."""
    return f"{checkpoint}/{_RECORDS}"


def check_unused(session: SparkSession, checkpoint: str) -> None:
    """Checks that a checkpoint without a record has no query either (semantics 47.27).

    The record is written before Spark starts the query, so it is not missing because of an interruption.

    Raises:
        StateError: if it has one.
    """
    if exists(session, f"{checkpoint}/metadata"):
        rule = "a checkpoint belongs to one query, and no query that write() has started made this one"
        remedy = "give a directory of its own, or put back its directory panewise if that was deleted"
        raise StateError(f"the checkpoint {checkpoint}", rule, remedy)


def prepare_notes(session: SparkSession, checkpoint: str) -> None:
    """Makes the directory of a checkpoint, and that of the control notes in it.

    Raises:
        StateError: if it cannot.
    """
    try:
        one_text(session, "").limit(0).write.mode("append").text(f"{checkpoint}/panewise/control")
    except spark_errors() as error:
        rule = f"a checkpoint is a directory that Spark can make and write: {cause_of(error)}"
        raise StateError(f"the checkpoint {checkpoint}", rule, "give another directory") from error


def prepare_record(
    session: SparkSession,
    dataflow: Dataflow,
    checkpoint: str,
    *,
    at_end: bool,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Prepares a new checkpoint, whose record also has the fields `more`.

    The record is written last. So if a start is interrupted before, the next one begins anew.
    """
    header = _fed_record(dataflow) | ({_ENDS: True} if at_end and dataflow.fed else {})
    header |= {_PLACE: checkpoint} if is_absolute(checkpoint) else {}
    header |= {_CLOCK: None if dataflow.clock is None else dataflow.clock.us}
    header |= {} if dataflow.initial_state is None else {FIELD: dataflow.initial_state.record}
    header |= {READS: reads_of(dataflow), **recorded_types(dataflow), **more}
    record = Manifest(to_dict(dataflow.spec), len(dataflow.shards), header=header).encode()
    add_text(session, _path(checkpoint), record)


def with_clock(known: Mapping[str, Any], dataflow: Dataflow) -> Dataflow:
    """Returns the dataflow with the clock stream that its checkpoint needs (semantics 47.11).

    Spark fixes the number of sources. So a clock stream that is removed stays, without rows, and one that is
    added later is the last source.
    """
    if _CLOCK not in known:
        return dataflow  # an earlier release has made the record
    if known[_CLOCK] is None:
        return replace(dataflow, clock_last=dataflow.clock is not None)
    return replace(dataflow, clock=dataflow.clock or _NEVER, clock_last=_SOURCES in known)


def added_clock(
    session: SparkSession, known: Mapping[str, Any], dataflow: Dataflow, checkpoint: str
) -> dict[str, Any]:
    """Returns the field that the record gets if a clock stream is added now; empty if none is.

    Raises:
        StateError: if it cannot be added, or not now.
    """
    if not dataflow.clock_last or _SOURCES in known:
        return {}
    return {_SOURCES: sources_so_far(session, checkpoint, EXPORT)}


def continue_record(
    session: SparkSession,
    known: Manifest,
    change: Continuation,
    dataflow: Dataflow,
    checkpoint: str,
    after: int | None,
    *,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Adds a record if the specification or the clock has changed. It logs what has changed.

    `after` is the last micro-batch before the change, None if the specification has not changed. `more` is
    what :func:`added_clock` and :func:`recorded_rows` returned. If a clock is added, Spark's offset log gets
    the source that the record says.

    Spark adds a record as a whole or not at all. The record is there before the first micro-batch with the
    new specification, so later runs find the same record, however far this run gets.
    """
    header, clock = {**known.header, **more}, dataflow.clock
    _log_clock(checkpoint, header, clock)
    if _CLOCK in header and clock is not None and clock != _NEVER:
        header[_CLOCK] = clock.us
    types = {**recorded_types(dataflow), **_fed_record(dataflow)}
    if after is not None or _is_unused(session, known, types, checkpoint):
        header |= types
    header |= {} if after is None else {AFTER: after}
    if header != known.header or after is not None:
        record = replace(known, spec=to_dict(change.spec), version=known.version + 1, header=header).encode()
        add_text(session, _path(checkpoint), record)
    if _SOURCES in header:
        add_source(session, checkpoint, header[_SOURCES])
    if change.changes:
        log_change(f"the checkpoint {checkpoint}", change)
    log_conditions(checkpoint, known.header, header)


def _log_clock(checkpoint: str, header: Mapping[str, Any], clock: Duration | None) -> None:
    """Says in one line of the log that a checkpoint is continued with another clock, or without its clock."""
    before, now = header.get(_CLOCK), None if clock is None or clock == _NEVER else clock.us
    if _CLOCK in header and now != before:
        shown = ["no clock" if us is None else f"{Duration(us)}" for us in (before, now)]
        _LOG.warning("the checkpoint %s is continued with another clock (%s, now %s)", checkpoint, *shown)


def _is_unused(session: SparkSession, known: Manifest, types: Mapping[str, Any], checkpoint: str) -> bool:
    """Returns whether the types differ from those of a record with which no micro-batch was committed."""
    if all(known.header.get(name) == value for name, value in types.items()):
        return False
    return last_committed(session, checkpoint) <= int(known.header.get(AFTER, NONE))


def _fed_record(dataflow: Dataflow) -> dict[str, Any]:
    """Returns the field of the record with the operators whose rows are inputs; empty if there are none."""
    firsts = {port: feed.first for port, feed in dataflow.fed.items()}
    fed = {
        port: {
            "spec": to_dict(first.spec),
            "shards": len(first.shards),
            **recorded_types(first),
            **_fed_record(first),
        }
        for port, first in firsts.items()
    }
    return {_FED: fed} if fed else {}


def check_fed(
    known: Mapping[str, Any], dataflow: Dataflow, has_state: Callable[[], bool], *, at_end: bool
) -> None:
    """Checks that the operators whose rows are inputs are those of the checkpoint, with its columns."""
    _check_firsts(known, dataflow, has_state)
    if dataflow.fed and known.get(_ENDS, False) != at_end:
        fault = f"finish='at_end' {'given' if at_end else 'left out'}, over a result"
        rule = "a checkpoint fixes the sources of a query, and finish='at_end' over a result adds a source"
        raise StateError(fault, rule, "finish as before, or start from a new checkpoint")


def _check_firsts(known: Mapping[str, Any], dataflow: Dataflow, has_state: Callable[[], bool]) -> None:
    before = known.get(_FED, {})
    if set(before) != set(dataflow.fed):
        fault = f"results as the inputs {sorted(dataflow.fed)}"
        rule = f"in this checkpoint results of other operators are the inputs {sorted(before)}"
        raise StateError(fault, rule, "use the same inputs, or start from a new checkpoint")
    for port, feed in dataflow.fed.items():
        record = before[port]
        manifest, rule = (
            Manifest(record["spec"], record["shards"]),
            "only the last operator of a query may change",
        )
        check_same(manifest, feed.first.spec, len(feed.first.shards), f"{rule} (semantics 47.9)", REMEDY)
        check_stored_types(record, record["spec"], feed.first, has_state)
        _check_firsts(record, feed.first, has_state)


def check_place(session: SparkSession, known: Mapping[str, Any], checkpoint: str) -> None:
    """Checks that a checkpoint is where it was made, or can still be found there.

    Spark's description of the state has absolute paths, so without the check Spark would miss a file.
    """
    place = known.get(_PLACE)
    if place is None or place == checkpoint or exists(session, _path(place)):
        return
    rule = "a checkpoint cannot be moved, as Spark stores absolute paths in it"
    remedy = f"move it back, or make a link to it at {place}, or {EXPORT}"
    raise StateError(f"the checkpoint {checkpoint}, which was made at {place}", rule, remedy)


def reads_of(dataflow: Dataflow) -> dict[str, Any]:
    """Returns what Spark's checkpoint fixes of the plan of a query: its sources and stateful operators."""
    plans = [plan_of(df) for df in dataflow.dfs.values() if df.isStreaming]
    others = [name for plan in plans for name in stateful(plan)]
    ours = 1 + sum(operators_upstream(df) for df in dataflow.dfs.values() if df.isStreaming)
    read = {source for plan in plans for source in sources(plan)}
    clocks = dataflow.clock is not None and not dataflow.clock_last  # one that was added does not count
    return {"sources": len(read) + clocks, STATEFUL: others, "ours": ours}


def check_reads(known: Mapping[str, Any], dataflow: Dataflow) -> None:
    """Checks that the sources and the stateful operators of a query are those of its checkpoint (48.13)."""
    before, now = known.get(READS), reads_of(dataflow)
    for name, words in _WORDS.items():
        if before is not None and before[name] != now[name]:
            rule = f"a checkpoint fixes the {words}: this one has {before[name] or 'none'} (semantics 48.13)"
            # A state is imported by as many operators, and not after those of Spark (48.7, 48.17).
            imports = before["ours"] == now["ours"] and not now[STATEFUL]
            remedy = f"put them back, or {EXPORT if imports else 'start from a new checkpoint'}"
            raise StateError(f"a query with {now[name] or 'no'} {words}", rule, remedy)


_WORDS = {"sources": "sources", STATEFUL: "stateful operators of Spark", "ours": "operators of panewise"}
