"""Opens the checkpoint of a query: a new one, one to continue, or one that begins with an exported state.

The sinks are prepared after the checks, and the record is changed after that. So a query that is refused
leaves both as they were.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from panewise.checkpoints.layout import ROWS, SINKS
from panewise.engine.exported_state import StateOwner
from panewise.engine.protocol import Schemas
from panewise.paths import check_apart, check_unread
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.initial_state import check_without_spark, imported_state, known_state
from panewise.spark.inputs.delta_sources import delta_sources
from panewise.spark.inputs.plan_text import file_sources, plan_of
from panewise.spark.queries.dispatch import Dispatch
from panewise.spark.queries.query_record import (
    check_unused,
    continue_record,
    prepare_notes,
    prepare_record,
    record_of,
)
from panewise.spark.queries.shown_rows import check_rows, recorded_rows
from panewise.spark.queries.taken_over import continued_query
from panewise.spark.queries.write_arguments import WriteOptions
from panewise.spark.sinks.places import file_places, named_directories
from panewise.spark.sinks.preparation import check_changed, check_new, prepare
from panewise.spec.evolution import Continuation
from panewise.spec.row_filter import RowFilter
from panewise.state.export_file import origin_of
from panewise.state.manifest import Manifest


@dataclass(frozen=True)
class QueryCheckpoint:
    """The checkpoint of a query that is about to start.

    Attributes:
        dataflow: the dataflow, as the user has built it.
        dispatch: the function that passes the outputs to their sinks.
        directories: the paths of the outputs that have one, by the names of the outputs.
        options: the arguments of `write`, of which `checkpoint` is not None.
        columns: the columns that the last operator reads, for the outputs that have sinks.
        rows: which rows that the last operator emits are written.
        at_end: whether the query may end its input.
    """

    dataflow: Dataflow
    dispatch: Dispatch
    directories: Mapping[str, str]
    options: WriteOptions
    columns: Schemas
    rows: RowFilter
    at_end: bool

    @property
    def session(self) -> SparkSession:
        """The session of the query."""
        return self.dataflow.df.sparkSession

    @property
    def checkpoint(self) -> str:
        """The directory of the checkpoint."""
        return str(self.options.checkpoint)

    def opened(self) -> Dataflow:
        """Returns the dataflow as it begins or continues the checkpoint.

        It checks whether that is possible, prepares the sinks, and then makes or changes the record of the
        checkpoint.

        Raises:
            SpecError: if a sink cannot write its output, or has rows of another query; if a query that begins
                with an exported state has an operator of Spark.
            StateError: if the query cannot continue the checkpoint, or begin with the exported state.
        """
        known = record_of(self.session, self.checkpoint)
        return self._begun() if known is None else self._continued(known)

    def _begun(self) -> Dataflow:
        dataflow, session, initial_state = self.dataflow, self.session, self.options.initial_state
        check_without_spark(initial_state, dataflow.dfs.values())
        if initial_state is not None:
            dataflow = self._with_state(initial_state)
        check_unused(session, self.checkpoint)
        self._check_apart()
        prepare_notes(session, self.checkpoint)
        # Sinks may delete earlier rows, so that comes after all other checks.
        check_new(session, self.dispatch.sinks)
        self._prepare_sinks(new=True)
        more = {**recorded_rows(dataflow, self.rows), SINKS: file_places(self.dispatch.sinks)}
        prepare_record(session, dataflow, self.checkpoint, at_end=self.at_end, more=more)
        return dataflow

    def _check_apart(self) -> None:
        """Checks that the places that the query writes to lie apart, and that it reads none of them."""
        inputs, paths = self.dataflow.dfs.values(), {**self.directories, "checkpoint": self.checkpoint}
        check_apart(paths, [path for df in inputs for path in file_sources(plan_of(df))])
        if tables := [path for df in inputs for path in delta_sources(df)]:
            check_unread(paths | named_directories(self.dispatch.sinks), directories=tables)

    def _with_state(self, file: str) -> Dataflow:
        """Returns the dataflow as it begins with the state in an exported file."""
        dataflow = self.dataflow
        owners = state_owners(dataflow, self.columns)
        initial, spec = imported_state(self.session, owners, self.checkpoint, file)
        dataflow = replace(dataflow, initial_state=initial, spec=spec)
        origin = {ROWS: origin_of(file).rows or {}}
        check_rows(origin, Continuation(spec, spec), dataflow, self.rows, has_begun=lambda: True)
        return dataflow

    def _continued(self, known: Manifest) -> Dataflow:
        session, checkpoint, added = self.session, self.checkpoint, self.options.added_aggregates
        query = continued_query(
            session, known, self.dataflow, checkpoint, self.rows, added, at_end=self.at_end
        )
        initial = known_state(known.header, checkpoint, self.options.initial_state)
        dataflow = query.dataflow.starting_with(initial)
        places = self._checked_places(known)
        self._prepare_sinks(new=False)
        more = {**query.clock, **recorded_rows(dataflow, self.rows), SINKS: places}
        continue_record(session, known, query.change, dataflow, checkpoint, query.after, more=more)
        return dataflow

    def _checked_places(self, known: Manifest) -> list[str]:
        """Returns the places of files that the query has written, after checking those that are new.

        A record of an earlier release does not say where the query has written.
        """
        places, before = file_places(self.dispatch.sinks), known.header.get(SINKS)
        if before is not None:
            check_changed(self.session, self.dispatch.sinks.values(), before)
        return sorted({*places, *(before or ())})

    def _prepare_sinks(self, *, new: bool) -> None:
        session, dispatch = self.session, self.dispatch
        schemas = {kind: dispatch.schema(kind, session) for kind in dispatch.unpackers}
        prepare(session, dispatch.sinks, schemas, new=new)


def state_owners(dataflow: Dataflow, columns: Schemas) -> list[StateOwner]:
    """Returns the operators of a query that begin with an exported state, the last one first."""
    earlier = (
        StateOwner(before.spec, before.schemas(all_columns=False), before.shards)
        for before in dataflow.operators[1:]
    )
    return [StateOwner(dataflow.spec, columns, dataflow.shards), *earlier]
