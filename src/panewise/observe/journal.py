"""A journal: what the queries of a session report, as lines of JSON in a directory of bounded size.

The journal consists of files, the *segments*, whose names are numbers. A line is written with one call, and
never changed. When a segment is full, the next one begins, and the oldest ones are deleted. So a reader needs
no lock, and has everything that is not deleted. Invariant: the bytes of all segments are at most the limit.

A process that is killed may leave a line without its end. Readers skip it, and the next writer ends it.
"""

import fcntl
import json
import os
import re
from pathlib import Path
from typing import IO, Final

from panewise.errors import SetupError
from panewise.observe.entries import Entry, to_document, without_activity

MEGABYTE: Final = 1 << 20
DEFAULT_MB: Final = 16
_SEGMENTS = 4
_LOCK = "lock"
_NAME = re.compile(r"(\d{8})\.jsonl")


class Journal:
    """Writes entries to a directory. Nobody else may write to it until the journal is closed.

    Raises:
        SetupError: if the limit is below one megabyte, another journal writes to the directory, or the
            directory cannot be made.
    """

    def __init__(self, directory: str | Path, *, megabytes: int = DEFAULT_MB) -> None:
        if megabytes < 1:
            raise SetupError(
                f"journal_mb={megabytes}", "a journal has one megabyte or more", f"give {DEFAULT_MB}"
            )
        self.directory, self._segment_bytes = Path(directory), megabytes * MEGABYTE // _SEGMENTS
        self._torn = False  # whether the last line has no end
        self._number = self._size = 0
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = self._locked()
            self._open(max(segments(self.directory), default=1))
        except OSError as error:
            rule = f"a journal is a directory on this machine's disk: {error}"
            raise SetupError(f"journal={str(directory)!r}", rule, "give another directory") from None

    def add(self, entry: Entry) -> None:
        """Appends an entry. One that is longer than a segment is written without its activity.

        Raises:
            OSError: if it cannot be written.
        """
        line = _line(entry)
        if len(line) > self._segment_bytes:
            line = _line(without_activity(entry))
        if self._size and self._size + len(line) > self._segment_bytes:
            full = self._file
            self._open(self._number + 1)
            full.close()
        line = b"\n" + line if self._torn else line
        written = self._file.write(line)
        self._size, self._torn = self._size + written, self._torn if not written else written < len(line)
        if written < len(line):
            raise OSError(f"{written} of {len(line)} bytes were written")

    def close(self) -> None:
        """Ends the journal. Its files stay."""
        self._file.close()
        self._lock.close()

    def _locked(self) -> IO[bytes]:
        lock = (self.directory / _LOCK).open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            problem = f"journal={str(self.directory)!r} of another observer"
            rule, remedy = "one observer writes a journal", "give each its own directory, or close the other"
            raise SetupError(problem, rule, remedy) from None
        return lock

    def _open(self, number: int) -> None:
        """Opens a segment, after deleting those for which there is no room beside it."""
        room = (_SEGMENTS - 1) * self._segment_bytes
        for old in reversed([old for old in segments(self.directory) if old < number]):
            path = path_of(self.directory, old)
            room -= path.stat().st_size
            if room < 0:
                path.unlink()
        path = path_of(self.directory, number)
        self._file = path.open("ab", buffering=0)
        self._number, self._size = number, self._file.tell()
        self._torn = self._size > 0 and not _ends_a_line(path)


def _line(entry: Entry) -> bytes:
    return json.dumps(to_document(entry), separators=(",", ":")).encode() + b"\n"


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def segments(directory: Path) -> list[int]:
    """Returns the numbers of the segments, the oldest first; none if there is no journal."""
    if not directory.is_dir():
        return []
    names = (_NAME.fullmatch(path.name) for path in directory.iterdir())
    return sorted(int(name[1]) for name in names if name is not None)


def path_of(directory: Path, number: int) -> Path:
    """Returns the path of a segment.

    >>> path_of(Path("out/journal"), 7).as_posix()
    'out/journal/00000007.jsonl'
    """
    return directory / f"{number:08}.jsonl"
