"""Sinks, to which `write` writes outputs, and the checks of sinks before a query starts."""

import os
import posixpath
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, StructType

from panewise.errors import SpecError
from panewise.spark.inputs.names import in_backticks


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

    @abstractmethod
    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""


@dataclass(frozen=True)
class ParquetSink(PathSink):
    """Writes Parquet files under `path`.

    Each micro-batch with rows has a directory `batch_id=N`. A repeated micro-batch overwrites its own.
    """

    path: str

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        rows.write.mode("overwrite").parquet(f"{self.path}/batch_id={batch_id}")

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows."""
        empty.write.mode("overwrite").parquet(self._empty)

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        return exists(session, self._empty)

    @property
    def _empty(self) -> str:
        return f"{self.path}/batch_id=-1"


Sink: TypeAlias = ParquetSink | Callable[[DataFrame, int], None]


def check_sinks(sinks: Mapping[str, object], output: str = "panes") -> None:
    """Checks that there is a sink, that each can take rows, and that no two write to one path.

    `output` is the first output of the operator family.
    """
    if not sinks:
        raise SpecError(
            "write() without a sink",
            "write() needs a sink for at least one output",
            f"give {output}=ParquetSink(path), or a sink for another output",
        )
    by_path: dict[str, str] = {}
    for name, sink in sinks.items():
        if not callable(sink):
            rule = "a sink is a ParquetSink, or a function of (DataFrame, batch_id)"
            path = sink if isinstance(sink, str) else "a/path"
            raise SpecError(f"{name}={sink!r}", rule, f"give {name}=ParquetSink({path!r}) for Parquet files")
        if isinstance(sink, PathSink):
            other = by_path.setdefault(_place(sink.path), name)
            if other != name:
                rule = "outputs with the same path overwrite each other's micro-batches"
                raise SpecError(
                    f"{other} and {name} with the path {sink.path!r}",
                    rule,
                    "give each sink a path of its own",
                )


def _place(path: str) -> str:
    """Returns a path in one spelling: the real path if it is local, else without extra slashes and dots."""
    scheme, authority, rest = _parts(path)
    if scheme in ("", "file"):
        return os.path.realpath(rest)
    return f"{scheme}://{authority}{posixpath.normpath('/' + rest.lstrip('/'))}"


def is_absolute(path: str) -> bool:
    """Returns whether a path names one place in every process."""
    return _parts(path)[2].startswith("/")


def _parts(path: str) -> tuple[str, str, str]:
    """Returns scheme, authority and path as Hadoop reads them: `?` and `#` are not special."""
    match = re.fullmatch(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", str(path), re.DOTALL)
    assert match is not None, "every part may be empty"
    scheme, authority, rest = match.groups("")
    return scheme.lower(), authority, rest


def exists(session: SparkSession, path: str) -> bool:
    """Returns whether a path exists, on any file system that Spark reads, in classic and Connect sessions.

    The path is given twice, because for a single missing path Spark logs a warning with a stack trace.
    """
    try:
        return isinstance(session.read.text([path, path]).schema, StructType)
    except AnalysisException:  # no such path
        return False


def prepare(
    session: SparkSession, sinks: Mapping[str, Sink], targets: Mapping[str, StructType], *, new: bool
) -> None:
    """Makes the paths of sinks readable: all of them for a new checkpoint, else those that are not readable.

    `targets` are the schemas of the outputs.
    """
    for kind, sink in sinks.items():
        if isinstance(sink, PathSink) and (new or not sink.prepared(session)):
            sink.prepare(empty(session, targets[kind]))


def empty(session: SparkSession, schema: StructType) -> DataFrame:
    """Returns an empty DataFrame of a schema.

    Spark plans it as a constant. One of createDataFrame would be read from an RDD.
    """
    if schema.fields and all(isinstance(field.dataType, AtomicType) for field in schema.fields):
        # A text is analyzed once, and Columns take several calls of the JVM each.
        texts = (
            f"CAST(NULL AS {field.dataType.simpleString()}) AS {in_backticks(field.name)}"
            for field in schema.fields
        )
        return session.sql(f"SELECT {', '.join(texts)} LIMIT 0")
    columns = (F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields)
    return session.sql("SELECT 1").limit(0).select(*columns)
