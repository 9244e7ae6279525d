"""The state of another query or operator, with which a new query begins (semantics 48.9).

The driver divides an exported file among the shards, and writes the pieces to a directory of the checkpoint,
some megabytes at a time. The first micro-batch of the query reads them as the initial state. So that
micro-batch can be repeated, also when the file is no longer there. Each operator has a directory of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from panewise.engine.exported_state import StateOwner, begun_otherwise, exported_states
from panewise.errors import SpecError
from panewise.spark.columns.types import arrow_schema
from panewise.spark.inputs.ancestry import operators_upstream
from panewise.spark.inputs.plan_text import plan_of, stateful
from panewise.spark.session.settings import envelopes_in_small_batches
from panewise.spark.shuffle import envelope
from panewise.spark.sinks.paths import exists
from panewise.spark.workers.state_pieces import Envelope, state_envelopes
from panewise.spec import Specification
from panewise.state.export_file import origin_of

FIELD: Final = "imported"  # the field of the record that says with which file the checkpoint began
_MANY: Final = 32 << 20  # bytes of pieces that are written together


@dataclass(frozen=True)
class InitialState:
    """The exported file with whose state a checkpoint began.

    Attributes:
        checkpoint: the path of the checkpoint.
        id: the id of the exported state.
        file: the path of the file, as it was given.
        watermark: the watermark with which the query begins, in microseconds; None if there is none.
        place: the place of the operator among those of the query, of which the last one comes first.
    """

    checkpoint: str
    id: str
    file: str
    watermark: int | None
    place: int = 0

    @property
    def record(self) -> dict[str, Any]:
        """The field of the record of the checkpoint."""
        return {"id": self.id, "file": self.file, "watermark": self.watermark}

    def rows(self, session: SparkSession) -> DataFrame:
        """Returns the pieces of all shards; none once their first micro-batch has been committed.

        Spark reads them in that one only, so they may have been deleted.
        """
        if _has_committed(session, self.checkpoint):
            return session.createDataFrame([], envelope.IN)
        return session.read.schema(envelope.IN).parquet(_directory(self.checkpoint, self.place))

    def while_starting(self, session: SparkSession, checkpoint: str) -> AbstractContextManager[None]:
        """Bounds the Arrow batches of a query that has not committed its first micro-batch yet."""
        committed = _has_committed(session, checkpoint)
        return nullcontext() if committed else envelopes_in_small_batches(session, _MANY)


def _has_committed(session: SparkSession, checkpoint: str) -> bool:
    """Returns whether a micro-batch has been committed. Spark deletes the files of old ones."""
    return exists(session, f"{checkpoint}/commits/[0-9]*")


def known_state(record: Mapping[str, Any], checkpoint: str, file: str | None) -> InitialState | None:
    """Returns the initial state of a checkpoint, from its record; None if it began without one.

    Raises:
        StateError: if another file is given, or the checkpoint began without one.
    """
    known = record.get(FIELD)
    if known is None:
        if file is not None:
            raise begun_otherwise(file)
        return None
    may_differ = file is not None and (file != known["file"] or Path(file).exists())  # else it was deleted
    if file is not None and may_differ and origin_of(file).id != known["id"]:
        raise begun_otherwise(file)
    return InitialState(checkpoint, **known)


def imported_state(
    session: SparkSession, owners: Sequence[StateOwner], checkpoint: str, file: str
) -> tuple[InitialState, Specification]:
    """Divides an exported file among the shards of the operators of a new checkpoint, the last one first.

    It also returns the specification of the last one, in which aggregates that were added to the state are
    marked. Earlier ones have none, as they never change (semantics 47.9).

    Raises:
        StateError: if the file is damaged, or the state was made with another specification or other types,
            or by another number of operators.
    """
    states = exported_states(file, owners)
    for place, exported in enumerate(states):
        pieces = state_envelopes(exported.redistribution, exported.shards)
        _write(session, pieces, _directory(checkpoint, place))
    initial = InitialState(checkpoint, states[0].origin.id, file, states[0].origin.watermark)
    return initial, states[0].redistribution.spec


def check_streaming(df: DataFrame, file: str | None) -> None:
    """Refuses an initial state of an operator over a batch DataFrame, which ends with its input."""
    if file is not None and not df.isStreaming:
        rule = "a batch is processed as a whole, and nothing continues it (semantics 48.9)"
        raise SpecError(
            f"initial_state={file!r} on a batch DataFrame", rule, "leave it out, or read a stream"
        )


def check_reached(file: str | None, operators: int, dfs: Iterable[DataFrame]) -> None:
    """Refuses an initial state of a query with operators that are reached by a DataFrame alone.

    `operators` is the number of those before the last one that are reached by results.
    """
    upstream = sum(operators_upstream(df) for df in dfs if df.isStreaming)
    if file is not None and upstream != operators:
        rule = "the plan of a DataFrame is fixed, so no state can be put into its operators (semantics 48.9)"
        fault = f"initial_state={file!r} with an operator behind a DataFrame"
        remedy = (
            "give the result itself, as in windowed(result), or write the rows of the first operator, and "
            "read them in a second query"
        )
        raise SpecError(fault, rule, remedy)


def check_without_spark(file: str | None, dfs: Iterable[DataFrame]) -> None:
    """Refuses an initial state of a query with stateful operators of Spark: they would begin without one."""
    names = sorted({name for df in dfs if df.isStreaming for name in stateful(plan_of(df))})
    if file is not None and names:
        rule = "a file has no state of Spark's own operators, which would begin without one (semantics 48.17)"
        remedy = (
            "use an operator of panewise in its place, or run Spark's operator in a query of its own, and "
            "read the rows that it writes"
        )
        raise SpecError(f"initial_state={file!r} behind Spark's own {' and '.join(names)}", rule, remedy)


def _directory(checkpoint: str, place: int) -> str:
    """Returns the directory with the pieces of an operator."""
    return f"{checkpoint}/panewise/import{f'_{place}' if place else ''}"


def _write(session: SparkSession, pieces: Iterable[Envelope], directory: str) -> None:
    """Writes pieces to a directory, in place of what an interrupted start has left there."""
    unwritten, size, mode = list[Envelope](), 0, "overwrite"
    for piece in pieces:
        unwritten.append(piece)
        size += len(piece[-1])
        if size >= _MANY:
            _frame(session, unwritten).write.mode(mode).parquet(directory)
            unwritten, size, mode = [], 0, "append"
    if unwritten or mode == "overwrite":
        _frame(session, unwritten).write.mode(mode).parquet(directory)


def _frame(session: SparkSession, pieces: list[Envelope]) -> DataFrame:
    columns = list(zip(*pieces, strict=True)) or [(), (), ()]
    schema = arrow_schema(envelope.IN)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=schema), envelope.IN)
