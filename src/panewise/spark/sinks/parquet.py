"""A sink that writes Parquet files."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spark.session.driver import is_classic
from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.compaction import compact, delete_rows, expire, parts, read_directories
from panewise.spark.sinks.directories import Directories
from panewise.spark.sinks.files import EMPTY, FileSink
from panewise.spec.fields import is_count


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
        overwrite: whether a query with a new checkpoint, or a batch DataFrame, deletes rows of other queries
            that are there. Default: it is refused. A restart deletes nothing.

    Raises:
        SpecError: if `path` is empty, `compact_every` is below 2, or `retain` is a number, or no duration
            above 0. By `write` also if one of the two is given for a batch DataFrame, or the path has rows of
            another query.

    Source: semantics 49.46, 49.47, 49.51.
    """

    path: str
    compact_every: int | None = None
    retain: str | timedelta | None = None
    overwrite: bool = False

    def __post_init__(self) -> None:
        if not self.path:
            rule = "without a path the files would be in the root of the file system"
            raise SpecError(f"ParquetSink(path={self.path!r})", rule, 'give a path such as "out/panes"')
        if self.compact_every is not None and not is_count(self.compact_every, least=2):
            rule = "compact_every is the number of micro-batches that become one directory, two or more"
            raise SpecError(f"compact_every={self.compact_every!r}", rule, "give a number such as 100")
        remedy = "give a duration such as '30 days'"
        if self.retain is not None and not _has_unit(self.retain):
            # A number would be microseconds, after which rows that should stay for days are deleted.
            rule = "a time for which rows are retained has a unit"
            raise SpecError(f"retain={self.retain!r}", rule, remedy)
        if self.retain is not None and self._retained <= 0:
            raise SpecError(f"retain={self.retain!r}", "rows are retained for some time", remedy)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        self._files(rows, batch_id)
        if self._tidies:
            self._tidy(self._directories(rows.sparkSession), batch_id)

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows.

        Raises:
            SpecError: if another query has compacted directories there, which would hide rows of this one.
        """
        self._check_compacted(empty.sparkSession)
        self._files.prepare(empty)

    def check_new(self, session: SparkSession) -> None:
        """Checks that the path has no rows of another query, or deletes them.

        Raises:
            SpecError: if it has, and `overwrite` is false.
        """
        if self.overwrite:
            delete_rows(self._directories(session))
            return
        self._check_compacted(session)
        self._files.check_new(session, "or give overwrite=True to delete them")

    def check_changed(self, session: SparkSession) -> None:
        """Checks that the path has no rows of another query, which `overwrite` does not delete here.

        Raises:
            SpecError: if it has.
        """
        self._check_compacted(session)
        self._files.check_changed(session)

    def check_batch(self, session: SparkSession) -> None:
        """Checks that nothing is to be compacted or expire, and that the path has no rows of a stream.

        Raises:
            SpecError: if it is.
        """
        if self._tidies:
            rule = "a batch is one micro-batch, at whose end no others are compacted or deleted"
            raise SpecError(f"{self!r} on a batch", rule, "leave out compact_every and retain")
        if self.overwrite:
            delete_rows(self._directories(session))
            return
        self._check_compacted(session)
        self._files.check_batch(session, "or give overwrite=True")

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
        return self._files.prepared(session)

    def read(self, session: SparkSession) -> DataFrame:
        """Returns the rows, each once.

        Raises:
            SpecError: in a Connect session.
        """
        directories = self._directories(session)
        return read_directories(directories, [EMPTY] if directories.exists(EMPTY) else [])

    @property
    def _files(self) -> FileSink:
        return FileSink(self.path, "parquet")

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
            remedy = "leave out compact_every, retain and overwrite, or use a DeltaSink"
            raise SpecError(f"ParquetSink({self.path!r}) through Connect", rule, remedy)
        return Directories(session, self.path)


def _has_unit(duration: object) -> bool:
    return isinstance(duration, str | timedelta)
