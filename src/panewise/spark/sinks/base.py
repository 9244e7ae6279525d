"""The sinks of `write`: functions of rows and the number of a micro-batch, and classes that know more."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.spec import Specification
from panewise.spec.conditions.text import in_backticks


@dataclass
class QueryId:
    """The id of the query of a checkpoint: new for a new checkpoint, the same after a restart.

    Spark makes it when it first starts the query, and stores it in the checkpoint, also of a query without
    operators. So it is there in each micro-batch, and not before the first start.
    """

    _id: str | None = field(default=None, init=False)

    def read(self, session: SparkSession, checkpoint: str) -> str:
        """Returns the id. Only the first call reads the checkpoint, in a job of Spark."""
        if self._id is None:
            (row,) = session.read.text(f"{checkpoint}/metadata", wholetext=True).collect()
            self._id = str(json.loads(row[0])["id"])
        return self._id


@dataclass(frozen=True)
class SinkOutput:
    """An output of an operator, as its sink sees it.

    Attributes:
        name: the name of the output in `write`, such as "panes" or "left_late".
        kind: what it contains: "panes" for the emitted rows of every family, "late", "invalid" or "counts".
        schema: the columns to write.
        spec: the specification of the operator.
        key: the columns that identify an emitted row (semantics 49.2). Empty if no columns do, and for other
            outputs.
        sequence: the column by which emitted rows are ordered (semantics 49.1). The rows have it even if it
            is not to be written. None for other outputs, and for rows that SQL sorts.
        op: the column that marks retractions; None if the rows have none.
        session: the session of the query, for `check` and `prepare`. Spark Connect runs `write` in another
            process, where it is missing.
        checkpoint: the checkpoint of the query, None on a batch DataFrame.
        computed: whether SQL does more to the rows than select columns, such as by HAVING.
        keys: for each key of the operator, the columns that have it. Empty for rows without a key by 49.2.
    """

    name: str
    kind: str
    schema: StructType
    spec: Specification
    key: tuple[str, ...]
    sequence: str | None
    op: str | None
    session: SparkSession
    checkpoint: str | None
    computed: bool = False
    keys: tuple[frozenset[str], ...] = ()
    _query_id: QueryId = field(default_factory=QueryId, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the attributes without the session, which no other process can have."""
        return {name: value for name, value in vars(self).items() if name != "session"}

    def columns_of(self, rows: DataFrame) -> DataFrame:
        """Returns rows with the columns to write, without a sequence that is not to be written."""
        return rows.select(*map(in_backticks, self.schema.names))

    def query(self, session: SparkSession) -> str | None:
        """Returns the id of the query, by which a sink recognizes a repeated micro-batch. A batch has none.

        It is the same after a restart, and new for a new checkpoint. There is none before the first
        micro-batch.
        """
        return None if self.checkpoint is None else self._query_id.read(session, self.checkpoint)


class OutputSink(ABC):
    """A sink that depends on the output that it writes: its columns, their key and the specification.

    Before a query starts, `check` is called for each output, and then `prepare`. `write` is called for each
    micro-batch with rows. If a micro-batch is repeated, it has the same number and the same rows.
    """

    @property
    def place(self) -> str | None:
        """The place that it writes to, as far as its name says; None if other sinks may write there, too."""
        return None

    @property
    def directory(self) -> str | None:
        """The path that it writes to, None if it writes to something else."""
        return None

    def named_directory(self, output: SinkOutput) -> str | None:
        """Returns the directory of the table that its name stands for, None if there is none yet."""
        return None

    def located(self, output: SinkOutput) -> str | None:
        """Returns the prepared place that it writes to, in one form whatever name it was given under."""
        return self.place

    def is_missing(self, output: SinkOutput) -> bool:
        """Returns whether `prepare` has to make the place that it writes to. A restarted query then warns."""
        return False

    @abstractmethod
    def check(self, output: SinkOutput) -> None:
        """Checks that the sink can write this output.

        Raises:
            SpecError: for an unknown column, a mode that does not fit the output, or a missing jar.
        """

    def prepare(self, output: SinkOutput) -> None:  # noqa: B027 - a default
        """Makes the place that it writes to readable before there are rows, at every start."""

    @abstractmethod
    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        """Writes one micro-batch."""


@dataclass(frozen=True)
class BoundSink:
    """A sink with the output that it writes."""

    sink: OutputSink
    output: SinkOutput

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        self.sink.write(rows, batch_id, self.output)


class PathSink(ABC):
    """A sink that writes under a path, which no other output has. It is readable before there are rows.

    Other sinks are called with an empty DataFrame if there are no rows.
    """

    path: str

    @abstractmethod
    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch. If it is repeated, its rows replace those that are there."""

    @abstractmethod
    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows."""

    def check_new(self, session: SparkSession) -> None:  # noqa: B027 - a default
        """Checks that a query with a new checkpoint can write there, before it is prepared."""

    def check_changed(self, session: SparkSession) -> None:
        """Checks that a continued query that has not written there before can do so. It deletes nothing."""
        self.check_new(session)

    def check_batch(self, session: SparkSession) -> None:  # noqa: B027 - a default
        """Checks that the sink can write a batch DataFrame, for which it is not prepared."""

    @abstractmethod
    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""


Sink: TypeAlias = PathSink | Callable[[DataFrame, int], None]
AnySink: TypeAlias = Sink | OutputSink
