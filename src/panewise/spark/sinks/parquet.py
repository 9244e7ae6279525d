"""A sink that writes Parquet files."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.compaction import compact, expire, parts, read
from panewise.spark.sinks.directories import Directories
from panewise.spark.sinks.local_session import is_classic
from panewise.spark.sinks.paths import exists


@dataclass(frozen=True)
class ParquetSink(PathSink):
    """Writes Parquet files under `path`.

    Each micro-batch with rows has a directory `batch_id=N`. A repeated micro-batch overwrites its own.

    With `compact_every` the directories of so many micro-batches become one, and :meth:`read` returns the
    rows: each once, also while directories are compacted. Other readers would see rows twice, so Spark's
    reader refuses such a path. A reader must finish before the next directories are compacted. The session of
    a query that compacts or deletes directories is a classic one.

    Args:
        path: the directory, on any file system that Spark writes to.
        compact_every: how many micro-batches become one directory, 2 or more. Default: none do.
        retain: how long rows stay after they are written or compacted, such as "30 days". Then their
            directory is deleted, at a later micro-batch with rows. Default: for ever.

    Raises:
        SpecError: if `compact_every` is below 2, or `retain` is no duration above 0. By `write` also if one
            of them is given for a batch DataFrame, or another query has compacted directories there.
    """

    path: str
    compact_every: int | None = None
    retain: str | None = None

    def __post_init__(self) -> None:
        if self.compact_every is not None and self.compact_every < 2:
            rule = "several micro-batches become one directory"
            raise SpecError(f"compact_every={self.compact_every}", rule, "give a number such as 100")
        if self.retain is not None and self._retained <= 0:
            rule = "rows are retained for some time"
            raise SpecError(f"retain={self.retain!r}", rule, "give a duration such as '30 days'")

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        rows.write.mode("overwrite").parquet(f"{self.path}/batch_id={batch_id}")
        if self._tidies:
            self._tidy(self._directories(rows.sparkSession), batch_id)

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows.

        Raises:
            SpecError: if another query has compacted directories there, which would hide rows of this one.
        """
        self._check_compacted(empty.sparkSession)
        empty.write.mode("overwrite").parquet(f"{self.path}/{_EMPTY}")

    def check_batch(self, session: SparkSession) -> None:
        """Checks that nothing is to be compacted or deleted, or is compacted.

        Raises:
            SpecError: if it is.
        """
        if self._tidies:
            rule = "a batch is one micro-batch, at whose end no others are compacted or deleted"
            raise SpecError(f"{self!r} on a batch", rule, "leave out compact_every and retain")
        self._check_compacted(session)

    def _check_compacted(self, session: SparkSession) -> None:
        """Refuses compacted directories of another query. Connect cannot list them."""
        if not self._tidies and not is_classic(session):
            return
        if any(part.compacted for part in parts(self._directories(session))):
            rule = "the path has compacted rows of a query with another checkpoint"
            raise SpecError(f"ParquetSink({self.path!r})", rule, "give another path, or delete what is there")

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        if self._tidies:
            self._directories(session)
        return exists(session, f"{self.path}/{_EMPTY}")

    def read(self, session: SparkSession) -> DataFrame:
        """Returns the rows, each once.

        Raises:
            SpecError: in a Connect session.
        """
        directories = self._directories(session)
        return read(directories, [_EMPTY] if directories.exists(_EMPTY) else [])

    @property
    def _retained(self) -> float:
        """How long rows stay, in seconds."""
        return Duration.of(self.retain or 0, "retain").us / 1_000_000

    @property
    def _tidies(self) -> bool:
        return self.compact_every is not None or self.retain is not None

    def _tidy(self, directories: Directories, batch_id: int) -> None:
        if self.compact_every is not None:
            compact(directories, self.compact_every, batch_id)
        if self.retain is not None:
            expire(directories, self._retained, batch_id)

    def _directories(self, session: SparkSession) -> Directories:
        if not is_classic(session):
            rule = "directories are listed, compacted and deleted by way of the driver of a classic session"
            remedy = "leave out compact_every and retain, or use a DeltaSink"
            raise SpecError(f"ParquetSink({self.path!r}) through Connect", rule, remedy)
        return Directories(session, self.path)


_EMPTY = "batch_id=-1"  # it has the columns before there are rows
