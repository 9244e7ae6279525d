"""What a query stores beside Spark's checkpoint: the record of its operators, and control notes.

The record names the specification, the number of shards and the operators whose rows are inputs. So a changed
query is refused before it starts.
"""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.engine.checkpoint import check_same
from panewise.errors import StateError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.sinks.paths import exists, is_absolute
from panewise.spec.codec import to_dict
from panewise.state import Manifest

_FED = "fed"  # the field of the record that has the operators whose rows are inputs
_PLACE = "checkpoint"  # the field of the record that has the path of the checkpoint, if it is absolute
_ENDS = "ends"  # the field of the record that says whether the notes reach these operators, too


def write_note(session: SparkSession, controls: str, text: str) -> None:
    """Adds a control note."""
    _text(session, text).write.mode("append").text(controls)


def _text(session: SparkSession, text: str) -> DataFrame:
    """Returns one row of text.

    It comes from a statement, for which Spark starts no job. It would start one for createDataFrame.
    """
    return session.sql("SELECT 1").select(F.lit(text).alias("value"))


def record_of(session: SparkSession, checkpoint: str) -> Manifest | None:
    """Returns the record of the operator of a checkpoint, or None if the checkpoint is new."""
    if not exists(session, _path(checkpoint)):
        return None
    rows = session.read.text(_path(checkpoint), wholetext=True).collect()
    return Manifest.decode(rows[0][0].strip()) if rows else None


def _path(checkpoint: str) -> str:
    """Returns the path of the record of the operator of a checkpoint."""
    return f"{checkpoint}/panewise/operator"


def prepare_record(
    session: SparkSession, dataflow: Dataflow, checkpoint: str, controls: str, *, at_end: bool
) -> None:
    """Prepares a new checkpoint.

    The record is written last. So if this function is interrupted, the next start calls it again.
    """
    _text(session, "").limit(0).write.mode("append").text(controls)  # the directory of the control notes
    header = _fed_record(dataflow) | ({_ENDS: True} if at_end and dataflow.fed else {})
    header |= {_PLACE: checkpoint} if is_absolute(checkpoint) else {}
    record = Manifest(to_dict(dataflow.spec), len(dataflow.shards), header=header).encode()
    _text(session, record).write.mode("append").text(_path(checkpoint))


def _fed_record(dataflow: Dataflow) -> dict[str, Any]:
    """Returns the field of the record with the operators whose rows are inputs; empty if there are none."""
    firsts = {port: feed.first for port, feed in dataflow.fed.items()}
    fed = {
        port: {"spec": to_dict(first.spec), "shards": len(first.shards), **_fed_record(first)}
        for port, first in firsts.items()
    }
    return {_FED: fed} if fed else {}


def check_fed(known: Mapping[str, Any], dataflow: Dataflow, *, at_end: bool) -> None:
    """Checks that the operators whose rows are inputs are those of the checkpoint."""
    _check_firsts(known, dataflow)
    if dataflow.fed and known.get(_ENDS, False) != at_end:
        fault = f"finish='at_end' {'given' if at_end else 'left out'}, over a result"
        rule = (
            "a checkpoint fixes the sources of a query, and what ends the input of the first operator is one"
        )
        raise StateError(fault, rule, "finish as before, or start from a new checkpoint")


def _check_firsts(known: Mapping[str, Any], dataflow: Dataflow) -> None:
    before = known.get(_FED, {})
    if set(before) != set(dataflow.fed):
        fault = f"results as the inputs {sorted(dataflow.fed)}"
        rule = f"in this checkpoint results of other operators are the inputs {sorted(before)}"
        raise StateError(fault, rule, "use the same inputs, or start from a new checkpoint")
    for port, feed in dataflow.fed.items():
        record = before[port]
        check_same(Manifest(record["spec"], record["shards"]), feed.first.spec, len(feed.first.shards))
        _check_firsts(record, feed.first)


def check_place(session: SparkSession, known: Mapping[str, Any], checkpoint: str) -> None:
    """Checks that a checkpoint is where it was made, or can still be found there.

    Spark's description of the state has absolute paths, so without the check Spark would miss a file.
    """
    place = known.get(_PLACE)
    if place is None or place == checkpoint or exists(session, _path(place)):
        return
    rule = "a checkpoint cannot be moved, as Spark stores absolute paths in it"
    remedy = f"move it back, or make a link to it at {place}, or start from a new checkpoint"
    raise StateError(f"the checkpoint {checkpoint}, which was made at {place}", rule, remedy)
