"""Compaction and retention of the directories that a ParquetSink writes.

A micro-batch has a directory `batch_id=N`. The directories of `every` micro-batches in a row become one,
`compacted=A-B`, as soon as all of them are committed: a micro-batch begins when the one before it is.

A reader lists the directories once, and never sees a row twice or misses one:

- A compacted directory counts once it has the file `_complete`, which is written last. Then the directories
  that it replaces no longer count.
- These are deleted when the next ones are compacted. So a reader has that long to finish.
"""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from panewise.spark.sinks.directories import Directories

_COMPLETE: Final = "_complete"
_HIDDEN: Final = "_compacting-"  # before the name of a directory that is being compacted
_BYTES: Final = 128 << 20  # of a file after compaction
_NAME: Final = re.compile(r"batch_id=(\d+)|compacted=(\d+)-(\d+)")


@dataclass(frozen=True, order=True)
class RowsDirectory:
    """A directory with the rows of the micro-batches from `first` to `last`."""

    first: int
    last: int
    compacted: bool

    @property
    def name(self) -> str:
        """The name of the directory."""
        return f"compacted={self.first}-{self.last}" if self.compacted else f"batch_id={self.first}"


def parts(directories: Directories) -> Iterator[RowsDirectory]:
    """Yields the directories with rows. Compacted ones that are not complete are left out."""
    for name in directories.names():
        if (match := _NAME.fullmatch(name)) is None:
            continue
        batch, first, last = match.groups()
        if batch is not None:
            yield RowsDirectory(int(batch), int(batch), compacted=False)
        elif directories.exists(f"{name}/{_COMPLETE}"):
            yield RowsDirectory(int(first), int(last), compacted=True)


def replaced(known: Iterable[RowsDirectory]) -> set[RowsDirectory]:
    """Returns the directories whose rows are in a compacted one, too."""
    listed = list(known)
    compacted = [part for part in listed if part.compacted]
    return {
        part
        for part in listed
        if not part.compacted and any(whole.first <= part.first <= whole.last for whole in compacted)
    }


def compact(directories: Directories, every: int, batch: int) -> None:
    """Compacts directories of micro-batches before `batch`, which are all committed."""
    known = list(parts(directories))
    old = replaced(known)
    groups: dict[int, list[RowsDirectory]] = {}
    for part in known:
        if not part.compacted and part not in old and part.last < batch // every * every:
            groups.setdefault(part.first // every, []).append(part)
    if groups:
        for part in old:
            directories.delete(part.name)
    for number, group in sorted(groups.items()):
        _compact(
            directories, RowsDirectory(number * every, number * every + every - 1, compacted=True), group
        )


def _compact(directories: Directories, whole: RowsDirectory, group: list[RowsDirectory]) -> None:
    """Writes the rows of directories into one, which counts when it has its last file."""
    hidden, size = f"{_HIDDEN}{whole.name}", sum(directories.files(part.name).size for part in group)
    rows = _read(directories, group).coalesce(size // _BYTES + 1)
    rows.write.mode("overwrite").parquet(f"{directories.path}/{hidden}")
    directories.delete(whole.name)  # left by an attempt that did not complete it
    directories.rename(hidden, whole.name)
    directories.touch(f"{whole.name}/{_COMPLETE}")


def expire(directories: Directories, seconds: float, batch: int) -> None:
    """Deletes directories of micro-batches before `batch` that were written more than some seconds ago."""
    oldest = time.time() - seconds
    # Those that are replaced first: without the compacted directory they would count again.
    for part in sorted(parts(directories), key=lambda part: part.compacted):
        if part.last < batch and directories.files(part.name).newest < oldest:
            directories.delete(part.name)


def delete_rows(directories: Directories) -> None:
    """Deletes the rows of all micro-batches, with what a compaction has begun."""
    for name in [*directories.names()]:
        if _NAME.fullmatch(name.removeprefix(_HIDDEN)) is not None:
            directories.delete(name)


def read_directories(directories: Directories, prepared: Iterable[str]) -> DataFrame:
    """Returns the rows of all directories, each once. `prepared` are directories without rows."""
    known = list(parts(directories))
    counted = sorted({*known} - replaced(known))
    return _read(directories, counted, *prepared)


def _read(directories: Directories, counted: Iterable[RowsDirectory], *names: str) -> DataFrame:
    paths = [f"{directories.path}/{name}" for name in (*names, *(part.name for part in counted))]
    return directories.session.read.option("mergeSchema", "true").parquet(*paths)
