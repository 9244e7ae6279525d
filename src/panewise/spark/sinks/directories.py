"""Directories on any file system that Spark writes to, by way of the JVM of the driver.

Only classic sessions have them (:func:`panewise.spark.sinks.local_session.is_classic`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class FileFigures:
    """The files of a directory: their size in bytes, and when the newest was written, in seconds."""

    size: int
    newest: float


@dataclass(frozen=True)
class Directories:
    """The directories under a path. Only a classic session has them."""

    session: SparkSession
    path: str

    def names(self) -> Iterator[str]:
        """Yields the names of the directories, in one listing."""
        if self._system.exists(self._path()):
            yield from (
                s.getPath().getName() for s in self._system.listStatus(self._path()) if s.isDirectory()
            )

    def files(self, name: str) -> FileFigures:
        """Returns the size of the files of a directory, and when the newest was written."""
        files = [s for s in self._system.listStatus(self._path(name)) if s.isFile()]
        times = (status.getModificationTime() / 1000 for status in files)
        return FileFigures(sum(status.getLen() for status in files), max(times, default=0.0))

    def exists(self, name: str) -> bool:
        """Returns whether a file or a directory exists."""
        return bool(self._system.exists(self._path(name)))

    def touch(self, name: str) -> None:
        """Makes an empty file."""
        self._system.create(self._path(name)).close()

    def replace(self, name: str, text: str) -> None:
        """Replaces the contents of a file. A reader sees the old ones or the new ones."""
        temporary = self._path(f".{name}.panewise.tmp")
        stream = self._system.create(temporary, True)
        stream.write(bytearray(text.encode()))
        stream.close()
        jvm: Any = self.session._jvm
        files = jvm.org.apache.hadoop.fs
        overwrite = getattr(files, "Options$Rename").OVERWRITE
        kinds = jvm.java.lang.reflect.Array.newInstance(overwrite.getClass(), 1)
        kinds[0] = overwrite
        context = files.FileContext.getFileContext(temporary.toUri(), self._conf)
        context.rename(temporary, self._path(name), kinds)

    def rename(self, name: str, new: str) -> None:
        """Renames a directory."""
        if not self._system.rename(self._path(name), self._path(new)):
            raise OSError(f"{self.path}: {name} could not be renamed to {new}")

    def delete(self, name: str) -> None:
        """Deletes a directory with its files, if it exists."""
        self._system.delete(self._path(name), True)

    @property
    def _system(self) -> Any:
        return self._path().getFileSystem(self._conf)

    @property
    def _conf(self) -> Any:
        session: Any = self.session
        return session._jsparkSession.sessionState().newHadoopConf()

    def _path(self, name: str = "") -> Any:
        jvm: Any = self.session._jvm
        return jvm.org.apache.hadoop.fs.Path(f"{self.path}/{name}" if name else self.path)
