"""Where the windows and messages of an operator are stored, and in which order they are written.

S1's order: messages, then metadata, then the position of the input. So metadata never refer to messages that
are not stored. The metadata contain the *mark*, the highest offset of an applied message, in the same commit.
So messages between the position and the mark, which are repeated after a failure, are recognised.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from panewise.errors import StoreError
from panewise.standalone.retained.results import of_bytes, to_bytes
from panewise.standalone.retained.window import Window
from panewise.stores.durable_map import DurableMap
from panewise.stores.memory_map import MemoryMap
from panewise.stores.message_layout import KeyLayout
from panewise.stores.message_store import MessageStore
from panewise.stores.ordered_map import OrderedMap, prefix_end

_HEADER, _POSITION, _WINDOWS = b"h", b"p", b"w"
_FORMAT: Final = 1
_PLAIN: Final = (
    "session_key",
    "start",
    "boundary",
    "end",
    "start_offset",
    "last_offset",
    "first_number",
    "last_number",
    "last_time",
    "full",
    "pending_since",
    "incomplete",
)


class WindowFiles:
    """The metadata of windows and, if an operator needs them, the messages.

    Args:
        directory: where they are; None: in memory.
        made_with: what the stored windows depend on.
        layout: the fields of the keys of messages; None: messages are not stored.
        sessions: whether there are session keys.
        on_write: is called with the kind of each write before it: "messages", "metadata" or "position".

    Attributes:
        lost: whether the metadata have been stored with messages that are not there.

    Raises:
        StoreError: if the files cannot be used, or were made with other settings.
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
        place = None if directory is None else Path(directory)
        self._metadata: OrderedMap = MemoryMap() if place is None else _opened(place / "metadata")
        self.messages: MessageStore | None = None
        try:
            self.header = self._read_header()
            at = None if place is None else place / "messages"
            self.lost = bool(self.header) and layout is not None and at is not None and not at.exists()
            if layout is not None:
                if self.lost:
                    self._mark_lost()
                self.messages = MessageStore(layout, sessions=sessions, directory=at)
        except BaseException:
            self._metadata.close(commit=False)
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

    def windows(self) -> Iterable[Window]:
        """Returns the stored windows."""
        for _, data in self._metadata.scan(_WINDOWS, prefix_end(_WINDOWS)):
            yield _decoded(data)

    def flush(self, changed: Iterable[Window], removed: Iterable[bytes], header: dict[str, Any]) -> None:
        """Writes messages, metadata and the position, each in a commit of its own.

        Raises:
            StoreError: if they cannot be written. What was not committed is still pending.
        """
        if self.messages is not None:
            self._on_write("messages")
            self.messages.commit()
        for key in removed:
            self._metadata.delete(key)
        for window in changed:
            self._metadata.put(window.stored_key(), _encoded(window))
        self._put_header(header)
        self._on_write("metadata")
        self._metadata.commit()
        if header["mark"] is not None:
            self._metadata.put(_POSITION, str(header["mark"]).encode())
            self._on_write("position")
            self._metadata.commit()

    def forget(self, removed: set[bytes]) -> None:
        """Deletes removed windows in memory at once: nothing returns to them, and nobody may ever flush."""
        if self._in_memory:
            for key in removed:
                self._metadata.delete(key)
            removed.clear()

    def close(self) -> None:
        """Releases the files. It commits nothing."""
        if self.messages is not None:
            self.messages.close(commit=False)
        self._metadata.close(commit=False)

    def _put_header(self, header: dict[str, Any]) -> None:
        made = {"format": _FORMAT, "made_with": self._made_with, "header": header}
        self._metadata.put(_HEADER, json.dumps(made).encode())

    def _read_header(self) -> dict[str, Any]:
        stored = self._metadata.get(_HEADER)
        if stored is None:
            return {}
        made = json.loads(stored)
        if made["format"] != _FORMAT:
            rule = f"this version reads the format {_FORMAT}"
            raise StoreError(
                f"metadata of the format {made['format']}", rule, "use the version that wrote it"
            )
        if made["made_with"] != self._made_with:
            given = f"settings {self._made_with}, and metadata made with {made['made_with']}"
            raise StoreError(
                given, "a store is opened with the settings that made it", "use another directory"
            )
        header: dict[str, Any] = made["header"]
        return header


def _opened(directory: Path) -> OrderedMap:
    directory.parent.mkdir(parents=True, exist_ok=True)
    return DurableMap(directory)


def _encoded(window: Window) -> bytes:
    plain = {name: getattr(window, name) for name in _PLAIN}
    if isinstance(window.session_key, bytes):
        plain["session_key"] = {"bytes": window.session_key.hex()}
    text = json.dumps({**plain, "fresh": window.fresh}).encode()
    partial = to_bytes(window.partial)
    lengths = len(text).to_bytes(4, "big") + len(partial).to_bytes(4, "big")
    return lengths + text + partial + to_bytes(window.emitted)


def _decoded(data: bytes) -> Window:
    text, partial = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
    plain = json.loads(data[8 : 8 + text])
    if isinstance(plain["session_key"], dict):
        plain["session_key"] = bytes.fromhex(plain["session_key"]["bytes"])
    fresh = [(time, offset) for time, offset in plain.pop("fresh")]
    behind = 8 + text + partial
    return Window(
        **plain, fresh=fresh, partial=of_bytes(data[8 + text : behind]), emitted=of_bytes(data[behind:])
    )
