"""Where the windows and messages of an operator are stored, and in which order they are written.

S1's order: messages, then metadata, then the position of the input. So metadata never refer to messages that
are not stored. The metadata contain the *mark*, the highest offset of an applied message, in the same commit.
So messages between the position and the mark, which are repeated after a failure, are recognised.

A checkpoint is a copy of all this beside the metadata. A reset puts it back in two commits, as messages are
in a store of their own. So a commit before these says what the reset does. If it does not get to its end, it
is done again when the files are opened.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from panewise.errors import StoreError
from panewise.standalone.retained.window import RetainedWindow, decode_window, encode_window
from panewise.stores.durable_map import PlainDurableMap
from panewise.stores.keys import encode_key
from panewise.stores.memory_map import PlainMemoryMap
from panewise.stores.message_layout import KeyLayout
from panewise.stores.message_store import MessageStore
from panewise.stores.ordered_map import OrderedMap, prefix_end
from panewise.stores.rocks import RESTORE
from panewise.stores.store_directory import HEADER, directory_of

_HEADER, _POSITION, _WINDOWS, _RETIRED = b"h", b"p", b"w", b"d"
_COPY, _MESSAGES, _RESET = b"c", b"m", b"r"
_FORMAT: Final = 1


class WindowFiles:
    """The metadata of windows and, if an operator needs them, the messages.

    Args:
        layout: the fields of the keys of messages; None: messages are not stored.
        on_write: is called with the kind of each write before it: "messages", "metadata" or "position".
    """

    def __init__(
        self,
        directory: str | Path | None,
        made_with: dict[str, Any],
        layout: KeyLayout | None,
        sessions: bool,
        on_write: Callable[[str], object],
    ) -> None:
        self._made_with = json.loads(json.dumps(made_with))
        self._on_write, self._in_memory = on_write, directory is None
        path = None if directory is None else directory_of("store", directory)
        if path is not None and _is_store(path / "messages") and not _is_store(path / "metadata"):
            fault, rule = f"messages in {path}, and no metadata", "messages are stored beside their metadata"
            raise StoreError(fault, rule, RESTORE)
        self._metadata: OrderedMap = PlainMemoryMap() if path is None else _opened(path / "metadata")
        self.messages: MessageStore | None = None
        try:
            self.header = self._read_header()
            at = None if path is None else path / "messages"
            if layout is None and at is not None and at.exists():
                fault = f"settings without a message store, and messages in {at}"
                rule = "a store is opened with the settings that made it"
                raise StoreError(fault, rule, "set message_store=True, or use another directory")
            if layout is not None:
                if self.header and at is not None and not _is_store(at):
                    self._mark_lost()
                self.messages = MessageStore(layout, sessions=sessions, directory=at)
            self._finish_reset()
        except BaseException:
            self.close()
            raise

    def _mark_lost(self) -> None:
        """Notes that messages are to be restored, before the new message store is made."""
        self.header["restore_until"] = self.header["mark"]
        self._put_header(self.header)
        self._metadata.commit()

    @property
    def position(self) -> int | None:
        """The offset of the last message before the last flush."""
        stored = self._metadata.get(_POSITION)
        return None if stored is None else int(stored)

    def windows(self) -> Iterable[RetainedWindow]:
        """Returns the stored windows."""
        for _, data in self._metadata.scan(_WINDOWS, prefix_end(_WINDOWS)):
            yield decode_window(data)

    def retired(self) -> Iterable[tuple[bytes, bytes]]:
        """Returns the bounds of retired messages by their fields, as `Retirements.changes` encodes them."""
        for key, data in self._metadata.scan(_RETIRED, prefix_end(_RETIRED)):
            yield key[len(_RETIRED) :], data

    def flush(
        self,
        changed: Iterable[RetainedWindow],
        removed: Iterable[bytes],
        header: dict[str, Any],
        retired: Mapping[bytes, bytes],
    ) -> None:
        """Writes messages, metadata and the position, each in a commit of its own.

        Args:
            retired: the encoded bounds of retired messages by their fields; empty ones are deleted.

        Raises:
            StoreError: if they cannot be written. What was not committed is still pending.
        """
        if self.messages is not None:
            self._on_write("messages")
            self.messages.commit()
        for key in removed:
            self._metadata.delete(key)
        for window in changed:
            self._metadata.put(window.stored_key(), encode_window(window))
        for key, data in retired.items():
            if data:
                self._metadata.put(_RETIRED + key, data)
            else:
                self._metadata.delete(_RETIRED + key)
        self._put_header(header)
        self._on_write("metadata")
        self._metadata.commit()
        if header["mark"] is not None:
            self._metadata.put(_POSITION, str(header["mark"]).encode())
            self._on_write("position")
            self._metadata.commit()

    def save(
        self,
        name: str,
        windows: Iterable[RetainedWindow],
        header: dict[str, Any],
        messages: Iterable[tuple[bytes, bytes]],
    ) -> None:
        """Makes a durable copy of the state under a name, in place of an earlier one."""
        copy = _copy(name)
        self._metadata.delete_range(copy, prefix_end(copy))
        self._put_header(header, copy)
        for window in windows:
            self._metadata.put(copy + window.stored_key(), encode_window(window))
        for place, data in messages:
            self._metadata.put(copy + _MESSAGES + place, data)
        self._on_write("metadata")
        self._metadata.commit()

    def saved(self, name: str) -> dict[str, Any] | None:
        """Returns the header of a copy; None if there is none of this name."""
        return self._read_header(_copy(name)) or None

    def reset(self, name: str | None, header: dict[str, Any]) -> None:
        """Puts a copy back, or with None the initial state, and makes it durable.

        Raises:
            StoreError: if it cannot be written. The files are then those before the reset, or the reset is
                done when they are opened again. So the caller closes them.
        """
        self._metadata.put(_RESET, json.dumps({"name": name, "header": header}).encode())
        self._on_write("metadata")
        self._metadata.commit()
        self._finish_reset()

    def _finish_reset(self) -> None:
        """Does the reset that has been stored, if there is one."""
        stored = self._metadata.get(_RESET)
        if stored is None:
            return
        reset = json.loads(stored)
        copy, mark = reset["name"] and _copy(reset["name"]), reset["header"]["mark"]
        if self.messages is not None:
            self.messages.load(self._copied(copy, _MESSAGES))
            self._on_write("messages")
            self.messages.commit()
        for kind in (_WINDOWS, _RETIRED):
            self._metadata.delete_range(kind, prefix_end(kind))
        for key, data in self._copied(copy, _WINDOWS):
            self._metadata.put(_WINDOWS + key, data)
        self._put_header(reset["header"])
        self._metadata.delete(_POSITION)
        if mark is not None:
            self._metadata.put(_POSITION, str(mark).encode())
        self._metadata.delete(_RESET)
        self._on_write("metadata")
        self._metadata.commit()
        self.header = self._read_header()

    def _copied(self, copy: bytes | None, kind: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Returns the entries of a kind in a copy, without the prefix of their keys."""
        if copy is not None:
            for key, data in self._metadata.scan(copy + kind, prefix_end(copy + kind)):
                yield key[len(copy) + len(kind) :], data

    def forget(self, removed: set[bytes]) -> None:
        """Deletes removed windows at once if the state is in memory.

        No restart needs them, and the caller may never flush.
        """
        if self._in_memory:
            for key in removed:
                self._metadata.delete(key)
            removed.clear()

    def close(self) -> None:
        """Releases the files. It commits nothing."""
        if self.messages is not None:
            self.messages.close(commit=False)
        self._metadata.close(commit=False)

    def _put_header(self, header: dict[str, Any], copy: bytes = b"") -> None:
        """Puts the header of the state, or of a copy."""
        whole = {"format": _FORMAT, "made_with": self._made_with, "header": header}
        self._metadata.put(copy + _HEADER, json.dumps(whole).encode())

    def _read_header(self, copy: bytes = b"") -> dict[str, Any]:
        """Returns the header of the state, or of a copy, after checking its format and its settings."""
        stored = self._metadata.get(copy + _HEADER)
        if stored is None:
            return {}
        whole = json.loads(stored)
        if whole["format"] != _FORMAT:
            rule = f"this version of panewise reads format {_FORMAT}"
            raise StoreError(
                f"metadata of the format {whole['format']}", rule, "use the version of panewise that wrote it"
            )
        if whole["made_with"] != self._made_with:
            fault = f"settings {self._made_with}, and metadata made with {whole['made_with']}"
            raise StoreError(
                fault, "a store is opened with the settings that made it", "use another directory"
            )
        header: dict[str, Any] = whole["header"]
        return header


def _copy(name: str) -> bytes:
    """Returns the prefix of the keys of a copy. No prefix is the beginning of another name's."""
    return _COPY + encode_key(name)


def _is_store(directory: Path) -> bool:
    """Returns whether a directory has the files of a map."""
    return (directory / HEADER).exists()


def _opened(directory: Path) -> OrderedMap:
    directory.parent.mkdir(parents=True, exist_ok=True)
    return PlainDurableMap(directory)
