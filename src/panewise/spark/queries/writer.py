"""Writes the outputs of an operator to their sinks from one query, exactly once.

The state operator emits one stream of envelopes. In ``foreachBatch`` the envelopes of each kind are unpacked
and passed to the sink of that kind (:mod:`panewise.spark.queries.dispatch`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from panewise.errors import SpecError, StateError
from panewise.paths import check_apart
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.initial_state import InitialState, check_reached, check_streaming
from panewise.spark.queries.active_paths import ACTIVE, PathClaim
from panewise.spark.queries.bound_sinks import bound
from panewise.spark.queries.dispatch import Dispatch
from panewise.spark.queries.query import WindowQuery, written_batch
from panewise.spark.queries.query_checkpoint import QueryCheckpoint
from panewise.spark.queries.query_record import write_note
from panewise.spark.queries.write_arguments import EarlierOutput, WriteOptions
from panewise.spark.session.failures import cause_of, spark_errors
from panewise.spark.session.worker_python import check_sinks
from panewise.spark.shuffle.envelope import kind_of
from panewise.spark.sinks.base import AnySink, OutputSink, PathSink
from panewise.spark.sinks.places import directories, file_places
from panewise.spark.sinks.preparation import prepare_batch
from panewise.spark.workers.pack import note
from panewise.spec.row_filter import RowFilter


def start(
    dataflow: Dataflow,
    sinks: Mapping[str, AnySink],
    names: Mapping[str, str],
    options: WriteOptions,
    earlier: Sequence[EarlierOutput],
    *,
    at_end: bool,
    steps: tuple[Callable[[DataFrame], DataFrame], ...],
    shown: RowFilter,
) -> WindowQuery:
    """Starts the query. On a batch DataFrame it writes the outputs before it returns.

    `names` are those of the outputs in `write`, by their kinds. `steps` turn the rows that the last operator
    emits into those to write. `shown` says which of the emitted rows are written.

    Raises:
        SpecError: if a stream has no checkpoint, or a sink cannot write its output.
        StateError: if the checkpoint was made with a specification that this one cannot continue, or with
            another number of shards.
    """
    check_streaming(dataflow.df, options.initial_state)
    check_reached(options.initial_state, len(dataflow.operators) - 1, dataflow.dfs.values())
    if dataflow.df.isStreaming and options.checkpoint is None:
        raise SpecError(
            "write() on a stream without a checkpoint",
            "a checkpoint stores the state and the progress of the query",
            "give checkpoint='/a/directory'",
        )
    dispatch = replace(_dispatch(dataflow, sinks, earlier), steps=steps)
    names = {**names, **{output.label: output.name for output in earlier}}
    dispatch = bound(dispatch, dataflow, names, earlier, options)
    paths = directories(dispatch.sinks, names)
    if not dataflow.df.isStreaming:
        check_apart(paths)
        return _written_batch(dataflow, sinks, dispatch)
    check_sinks(dataflow.df.sparkSession)
    columns = dataflow.schemas(all_columns=whole_rows(sinks))
    checkpoint = QueryCheckpoint(dataflow, dispatch, paths, options, columns, shown, at_end)
    return _started(checkpoint, sinks, _by_dataflow(earlier))


def _written_batch(dataflow: Dataflow, sinks: Mapping[str, AnySink], dispatch: Dispatch) -> WindowQuery:
    """Writes the outputs over a batch DataFrame."""
    with ACTIVE.claimed(file_places(dispatch.sinks), None):
        prepare_batch(dataflow.df.sparkSession, dispatch.sinks)
        dispatch(_stepped(dataflow, sinks), 0)
    return written_batch(dataflow.df)


def _started(
    opening: QueryCheckpoint, sinks: Mapping[str, AnySink], earlier: dict[int, dict[str, str]]
) -> WindowQuery:
    """Opens the checkpoint, and starts the query. `earlier` are the outputs of earlier operators."""
    session, controls = opening.session, f"{opening.checkpoint}/panewise/control"
    dispatch, options, at_end = opening.dispatch, opening.options, opening.at_end
    places = file_places(dispatch.sinks)
    with ACTIVE.claimed(places, opening.checkpoint) as claim:
        dataflow = opening.opened()
        # The last operator always has the notes: Spark refuses a checkpoint whose sources have changed, and a
        # later run may end the input.
        written = dataflow.writing(earlier, controls if at_end else None)
        planned = replace(written, controls=controls)

        def begin(claim: PathClaim) -> StreamingQuery:
            query = started(_stepped(planned, sinks), dispatch, options, dataflow.initial_state)
            return claim.last_as_long_as(query)

        def finish() -> StreamingQuery:
            with ACTIVE.claimed(places, opening.checkpoint) as claim:
                write_note(session, controls, note(finish=1))
                return begin(claim)

        return WindowQuery(begin(claim), finish if at_end else None)


def started(
    df: DataFrame,
    write: Callable[[DataFrame, int], None],
    options: WriteOptions,
    initial: InitialState | None = None,
) -> StreamingQuery:
    """Starts a query of Spark with these options, from an initial state if there is one.

    `write` is called with the rows of each micro-batch and its number.
    """
    checkpoint = str(options.checkpoint)
    writer = df.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    writer = writer if options.name is None else writer.queryName(options.name)
    writer = writer.trigger(**options.trigger) if options.trigger else writer
    with nullcontext() if initial is None else initial.while_starting(df.sparkSession, checkpoint):
        try:
            return writer.start()
        except PySparkException:
            raise
        except spark_errors() as error:  # of the JVM, such as of a file that cannot be parsed
            rule = f"Spark reads the files of a checkpoint when it starts a query: {cause_of(error)}"
            remedy = "put back the files from a copy, or start from a new checkpoint"
            raise StateError(f"the checkpoint {checkpoint}", rule, remedy) from error


def _dispatch(dataflow: Dataflow, sinks: Mapping[str, AnySink], earlier: Sequence[EarlierOutput]) -> Dispatch:
    """Returns the function that passes outputs to their sinks."""
    unpackers = {kind: dataflow.unpacker(kind, all_columns=whole_rows(sinks)) for kind in sinks}
    kinds_of = _by_dataflow(earlier)
    for output in earlier:
        all_columns = whole_rows(kinds_of[id(output.dataflow)])
        unpack = output.dataflow.unpacker(output.kind, all_columns=all_columns)
        unpackers[output.label] = replace(unpack, kind=output.label)
    every = {**sinks, **{output.label: output.sink for output in earlier}}
    # On a stream the paths of sinks are prepared, and sinks that know their output always are.
    prepared = (PathSink, OutputSink) if dataflow.df.isStreaming else (OutputSink,)
    from_start = (output for output, sink in every.items() if not isinstance(sink, prepared))
    return Dispatch(every, unpackers, frozenset(from_start))


def _by_dataflow(earlier: Sequence[EarlierOutput]) -> dict[int, dict[str, str]]:
    """Returns the outputs of earlier operators as :meth:`Dataflow.writing` takes them."""
    labels: dict[int, dict[str, str]] = {}
    for output in earlier:
        labels.setdefault(id(output.dataflow), {})[output.kind] = output.label
    return labels


def whole_rows(kinds: Iterable[str]) -> bool:
    """Returns whether one of these outputs has whole rows of the input."""
    return not {"late", "invalid"}.isdisjoint(map(kind_of, kinds))


def _stepped(dataflow: Dataflow, sinks: Iterable[str]) -> DataFrame:
    """Returns the outputs of the operator, of which those with a sink are wanted."""
    all_columns = whole_rows(sinks)
    packed = dataflow.packed(late_wanted="late" in map(kind_of, sinks), all_columns=all_columns)
    return dataflow.stepped(packed, dataflow.schemas(all_columns=all_columns))
