"""A run store in one SQLite file: all writes of a commit become durable together, or none.

SQLite is part of Python's standard library. The file is locked as long as the store is open, so a second
process is refused. A new file gets its name when its table is in it. So no crash leaves an empty file, and
one of 0 bytes is damaged. Long values are stored in pieces, as SQLite limits the length of a value. What
damages a value is found by the checksums of runs and manifests.
"""

import ctypes
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from weakref import WeakSet

from panewise.errors import StateError
from panewise.state.run_store import missing

FILE: Final = "operator.sqlite"
FORMAT: Final = 1
_APPLICATION: Final = 0x50575253  # "PWRS"
_PIECE: Final = 1 << 26
_MANIFEST: Final = "manifest"
_RUN: Final = "run:"
_COPY: Final = "copy:"
_NOTES: Final = "notes:"
_TABLE: Final = "CREATE TABLE items (name TEXT, piece INTEGER, data BLOB, PRIMARY KEY (name, piece))"
_PRAGMAS: Final = ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "temp_store=MEMORY")
_REMEDY: Final = "restore the directory from a copy, or start in an empty one"


class FileRunStore:
    """A run store in a directory.

    Args:
        directory: the directory, which is made if it does not exist.

    Raises:
        StateError: if the directory cannot be written, another process has it open, or its file is damaged or
            has an unknown format.
    """

    def __init__(self, directory: str | Path) -> None:
        self.path = Path(directory) / FILE
        with self._explained("open"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                _create(self.path)
            elif not self.path.stat().st_size:
                rule = "a store writes its file before it is used, so the file is never empty"
                raise StateError(f"{self.path} of 0 bytes", rule, _REMEDY)
            self._database = sqlite3.connect(
                self.path, isolation_level=None, timeout=0, check_same_thread=False
            )
        self._process = os.getpid()
        _OPEN.add(self)
        try:
            self._prepare()
            self._file = self._file_at_path()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        with self._explained("open"):
            for pragma in _PRAGMAS:
                self._database.execute(f"PRAGMA {pragma}")
            self._database.execute("BEGIN IMMEDIATE")  # takes the lock, which stays until the store is closed
            self._check_format()
            self._database.execute("COMMIT")

    def _check_format(self) -> None:
        """Refuses the file of another program, or of another format."""
        read = self._database.execute
        application, version = (
            read(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != _APPLICATION:
            rule = "the file of a store is one that panewise wrote"
            raise StateError(f"{self.path}", rule, "give another directory")
        if version != FORMAT:
            rule = f"this version of panewise reads format {FORMAT}"
            raise StateError(
                f"{self.path} of format {version}", rule, "use the version of panewise that wrote it"
            )

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Makes all writes in this context durable together, or none if it raises.

        Raises:
            StateError: if they cannot be written.
        """
        with self._explained("write"):
            if self._file_at_path() != self._file:
                raise FileNotFoundError(None, "the file is no longer there")
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def manifest(self) -> str | None:
        """Returns the manifest, None in a new store."""
        data = self._read(_MANIFEST)
        return None if data is None else data.decode(errors="replace")

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._write(_MANIFEST, text.encode())

    def run(self, name: str) -> bytes:
        """Returns a run.

        Raises:
            StateError: if the run is missing.
        """
        data = self._read(f"{_RUN}{name}")
        if data is None:
            raise missing(name)
        return data

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._write(f"{_RUN}{name}", data)

    def drop_run(self, name: str) -> None:
        """Deletes a run."""
        self._drop(f"{_RUN}{name}")

    def copy(self, name: str) -> tuple[bytes, str] | None:
        """Returns the saved copy of a whole state with this name, and its notes; None if there is none."""
        data, notes = self._read(f"{_COPY}{name}"), self._read(f"{_NOTES}{name}")
        return None if data is None or notes is None else (data, notes.decode(errors="replace"))

    def put_copy(self, name: str, data: bytes, notes: str) -> None:
        """Saves a copy of a whole state under a name, with notes."""
        self._write(f"{_COPY}{name}", data)
        self._write(f"{_NOTES}{name}", notes.encode())

    def close(self) -> None:
        """Closes the file, so that another process can open it."""
        if os.getpid() == self._process:
            self._database.close()

    def leak(self) -> None:
        """Keeps the connection from being closed in a forked process.

        SQLite would take itself for the last user of the file there, and delete the commits in its log.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._database))

    def _file_at_path(self) -> tuple[int, int]:
        """Returns device and inode of the file at the path. SQLite would write on into a deleted file."""
        with self._explained("write"):
            status = self.path.stat()
        return status.st_dev, status.st_ino

    def _read(self, name: str) -> bytes | None:
        with self._explained("read"):
            query = "SELECT data FROM items WHERE name = ? ORDER BY piece"
            pieces = [row[0] for row in self._database.execute(query, (name,))]
        return b"".join(pieces) if pieces else None

    def _write(self, name: str, data: bytes) -> None:
        with self._explained("write"):
            self._drop(name)
            pieces = range(0, max(len(data), 1), _PIECE)
            rows = ((name, number, data[at : at + _PIECE]) for number, at in enumerate(pieces))
            self._database.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)

    def _drop(self, name: str) -> None:
        with self._explained("write"):
            self._database.execute("DELETE FROM items WHERE name = ?", (name,))

    @contextmanager
    def _explained(self, action: str) -> Iterator[None]:
        """Raises errors of the file system and of SQLite as StateError, with a remedy."""
        if action != "open" and os.getpid() != self._process:
            rule = "one process at a time has a store open"
            raise StateError(f"{self.path} in a forked process", rule, "open it in one process")
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(action, str(error)) from error
        except OSError as error:
            raise self._error(action, error.strerror or str(error)) from error

    def _error(self, action: str, reason: str) -> StateError:
        problem = f"cannot {action} {self.path}: {reason}"
        if "locked" in reason:
            return StateError(problem, "one process at a time has a store open", "close it there first")
        if "malformed" in reason or "not a database" in reason:
            return StateError(problem, "the file of a store is one that panewise wrote", _REMEDY)
        rule = "a store is in a directory that can be written, on a disk with free space"
        return StateError(problem, rule, "mend this and open the store again; it is as after its last commit")


def _create(path: Path) -> None:
    """Makes a file with an empty table under another name, then gives it its name.

    If another process has made the file in the meantime, that one is used.
    """
    handle, name = tempfile.mkstemp(prefix=f"{FILE}.", suffix=".new", dir=path.parent)
    os.close(handle)
    try:
        database = sqlite3.connect(name, isolation_level=None)
        try:
            database.execute("BEGIN")
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id={_APPLICATION}")
            database.execute(f"PRAGMA user_version={FORMAT}")
            database.execute("COMMIT")
        finally:
            database.close()
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            Path(name).rename(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _leak_all() -> None:
    for store in _OPEN:
        store.leak()


_OPEN: Final = WeakSet[FileRunStore]()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_leak_all)
