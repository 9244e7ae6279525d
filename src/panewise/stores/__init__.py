"""Stores for services: ordered maps, and stores of windows, sessions, time series and messages.

No operator has its state in them: that is stored as runs (:mod:`panewise.state`). Retained windows use these
maps, and a standalone operator can put its current results into a store.

A store is in memory, or durable in a directory. See docs/stores.md.
"""

from panewise.stores.durable_map import DurableMap
from panewise.stores.entries import Entries
from panewise.stores.memory_map import MemoryMap
from panewise.stores.message_codec import Message, MessageKey
from panewise.stores.message_layout import message_key_layout
from panewise.stores.message_store import MessageStore
from panewise.stores.ordered_map import OrderedMap, Scan, Snapshot
from panewise.stores.session_store import SessionEntry, SessionStore
from panewise.stores.time_series_store import TimedValue, TimeSeriesStore
from panewise.stores.window_store import WindowEntry, WindowStore
from panewise.stores.windowed_storage import (
    KeyedWindowedStorage,
    SessionWindowedStorage,
    StoredWindow,
    WindowedStorage,
)

__all__ = [
    "DurableMap",
    "Entries",
    "KeyedWindowedStorage",
    "MemoryMap",
    "Message",
    "MessageKey",
    "MessageStore",
    "OrderedMap",
    "Scan",
    "SessionEntry",
    "SessionStore",
    "SessionWindowedStorage",
    "Snapshot",
    "StoredWindow",
    "TimeSeriesStore",
    "TimedValue",
    "WindowEntry",
    "WindowStore",
    "WindowedStorage",
    "message_key_layout",
]
