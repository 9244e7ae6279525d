"""Reads a journal while it is written, or after that."""

import json
from collections.abc import Iterator
from pathlib import Path

from panewise.observe.entries import Entry, from_document
from panewise.observe.journal import path_of, segments


class JournalReader:
    """Reads entries in the order in which they were written. It changes nothing.

    Attributes:
        skipped: how many lines were no entries, as those that a killed process has begun.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory, self.skipped = Path(directory), 0
        self._segment, self._offset = 0, 0

    @property
    def exists(self) -> bool:
        """Whether there is a journal."""
        return bool(segments(self.directory))

    def new_entries(self) -> Iterator[Entry]:
        """Yields the entries that were written since the last call. The first call yields all."""
        for number in segments(self.directory):
            if number < self._segment:
                continue
            if number > self._segment:  # the one before is complete, or was deleted
                self._segment, self._offset = number, 0
            yield from self._entries(path_of(self.directory, number))

    def _entries(self, path: Path) -> Iterator[Entry]:
        """Yields the entries of whole lines. The rest is read when its line has ended."""
        try:
            with path.open("rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self._offset += len(line)
                    entry = self._entry(line)
                    if entry is not None:
                        yield entry
        except FileNotFoundError:
            return  # it was deleted since it was listed

    def _entry(self, line: bytes) -> Entry | None:
        try:
            return from_document(json.loads(line))
        except (AttributeError, KeyError, TypeError, ValueError):
            self.skipped += 1
            return None
