"""The directory of a durable map: its header, and the check that its files are complete."""

import json
import os
from contextlib import suppress
from pathlib import Path

from panewise.errors import InputError, StoreError
from panewise.stores.rocks import INTACT, RESTORE, StoreErrors, store_error

FORMAT = 1
HEADER = "panewise-store.json"
ROOM_TO_OPEN = 1 << 18  # bytes


def directory_of(argument: str, path: object) -> Path:
    """Returns the directory that an argument names. An empty text would be the working directory.

    Raises:
        InputError: for an empty text, and for what is no path.

    >>> directory_of("store", "")
    Traceback (most recent call last):
        ...
    panewise.errors.InputError: store='' | a directory has a path | write '.' for the working directory ...
    """
    if not isinstance(path, (str, os.PathLike)):
        rule = "a directory is a text or a pathlib.Path"
        raise InputError(f"{argument} of the type {type(path).__name__}", rule, "give a path")
    if not os.fspath(path):
        rule = "a directory has a path"
        raise InputError(f"{argument}={path!r}", rule, "write '.' for the working directory")
    return path_of(argument, path)


def path_of(argument: str, path: str | os.PathLike[str]) -> Path:
    """Returns a path that a file system can have: one that can be encoded and has no character 0."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        rule = "a path can be encoded, and has no character 0"
        raise InputError(f"{argument}={path!r}", rule, "give another path")
    return Path(path)


class StoreDirectory:
    """A directory with the files of a map and a header.

    The header has the format, and a lower bound of the number of changes in the files. It is written when the
    map is closed, and after the first commit of a session. Files with fewer changes have lost some.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known_changes = _check_header(path)

    def check_complete(self, changes: int) -> None:
        """Raises if the files have fewer changes than the header says.

        RocksDB takes a damaged end of its manifest or log for what a crash left, and opens what is before it.
        """
        if changes < self._known_changes:
            fault = f"directory={str(self.path)!r}: changes that had been written are missing"
            raise StoreError(fault, INTACT, RESTORE)

    def check_room(self, room: int) -> None:
        """Raises if a number of bytes, and what RocksDB needs to open its files, cannot be written."""
        probe = self.path / f"{HEADER}.new"
        with StoreErrors(self.path):
            try:
                with probe.open("wb") as file:
                    file.write(bytes(room + ROOM_TO_OPEN))
                    file.flush()
                    os.fsync(file.fileno())
            finally:
                probe.unlink(missing_ok=True)

    def record(self, changes: int) -> None:
        """Writes the number of changes of all time into the header, if it has risen."""
        if changes > self._known_changes:
            with suppress(OSError):  # the number that the header has is still a lower bound
                _write_header(self.path / HEADER, changes)


def _check_header(directory: Path) -> int:
    """Writes the header of a new directory; refuses a directory of another kind or format.

    Returns how many changes the files have at least.
    """
    rule = "the directory of a store has been made by one"
    header = directory / HEADER
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not header.exists():
            if any(path.name != f"{HEADER}.new" for path in directory.iterdir()):
                raise StoreError(f"directory={str(directory)!r}", rule, "give an empty or a new directory")
            _write_header(header, 0)
        read = json.loads(header.read_text(encoding="utf-8"))
        written, changes = read["format"], int(read.get("changes", 0))
    except OSError as error:
        raise store_error(directory, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{header}", "the header of a store is JSON with its format", RESTORE) from error
    if written != FORMAT:
        rule = f"this version of panewise reads format {FORMAT}"
        raise StoreError(f"{header}: format {written}", rule, "use the version of panewise that wrote it")
    return changes


def _write_header(header: Path, changes: int) -> None:
    """Writes the header so that it exists as a whole or not at all."""
    new = header.with_name(f"{HEADER}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "changes": changes}, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(header)
