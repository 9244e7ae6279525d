"""Windows as values of a map: JSON, and Arrow for partials and emitted results."""

import json
from dataclasses import fields
from typing import Final

from panewise.standalone.retained.results import of_bytes, to_bytes
from panewise.standalone.retained.window import FreshMessage, Window

_NOT_PLAIN: Final = {"fresh", "partial", "rows", "emitted"}
_PLAIN: Final = [field.name for field in fields(Window) if field.name not in _NOT_PLAIN]


def encode_window(window: Window) -> bytes:
    """Returns a window whose messages have been folded, as bytes."""
    plain = {name: getattr(window, name) for name in _PLAIN}
    if isinstance(window.session_key, bytes):
        plain["session_key"] = {"bytes": window.session_key.hex()}
    fresh = [(one.time, one.offset, one.join_keys.hex()) for one in window.fresh]
    text = json.dumps({**plain, "fresh": fresh}).encode()
    partial = to_bytes(window.partial)
    lengths = len(text).to_bytes(4, "big") + len(partial).to_bytes(4, "big")
    return lengths + text + partial + to_bytes(window.emitted)


def decode_window(data: bytes) -> Window:
    """Returns the window of bytes."""
    text, partial = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
    plain = json.loads(data[8 : 8 + text])
    if isinstance(plain["session_key"], dict):
        plain["session_key"] = bytes.fromhex(plain["session_key"]["bytes"])
    fresh = [FreshMessage(time, offset, bytes.fromhex(keys)) for time, offset, keys in plain.pop("fresh")]
    fresh.sort(key=lambda one: one.offset)  # earlier releases did not sort those of merged sessions
    behind = 8 + text + partial
    return Window(
        **plain, fresh=fresh, partial=of_bytes(data[8 + text : behind]), emitted=of_bytes(data[behind:])
    )
