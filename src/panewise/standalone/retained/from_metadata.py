"""Makes a window from metadata that a caller puts."""

from dataclasses import replace
from typing import NoReturn

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.errors import InputError
from panewise.spec.column_values import is_long
from panewise.standalone.retained.outputs import WindowMetadata
from panewise.standalone.retained.progress import Progress
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.state import RetainedState
from panewise.standalone.retained.window import RetainedWindow, session_bytes
from panewise.stores.keys import KeyValue


def window_of(state: RetainedState, metadata: WindowMetadata) -> RetainedWindow:
    """Returns a new window with these metadata. It is not put in the table."""
    _check_types(metadata)
    settings, progress = state.settings, state.progress
    session_key = state.keys.session_from_call(metadata.session_key, needed=True)
    stored = state.windows.at((metadata.start, session_bytes(session_key)))
    window = _window_with(settings, metadata, session_key, stored, progress)
    if settings.by_time:
        if session_key is not None:
            _check_apart(state, window)
        if state.retention.expired_until >= window.end:
            rule = "a window in retention ends after the instant up to which windows have expired"
            raise InputError(f"end_time={window.end}", rule, "put later windows")
    return window


def _check_apart(state: RetainedState, window: RetainedWindow) -> None:
    """Raises InputError for a session of time that is within the gap of another one of its key."""
    gap = state.settings.length
    for other in state.windows.backward(window.session_key, window.last_time + gap):
        if other.last_time + gap < window.start:
            break
        if other.start != window.start:
            rule = "two messages of different sessions of a key are more than the gap apart"
            fault = f"start={window.start}, end_time={window.end - 1}"
            raise InputError(fault, rule, f"delete the session at {other.start} first")


def _check_types(metadata: WindowMetadata) -> None:
    """Raises InputError if metadata have a value of another type than `WindowMetadata` says."""
    if not isinstance(metadata, WindowMetadata):
        _refuse(f"metadata of the type {type(metadata).__name__}", "a window is put by its WindowMetadata")
    numbers = ("start", "start_offset", "last_offset", "start_time", "end_time")
    for name in numbers:
        value = getattr(metadata, name)
        if not is_long(value) and not (value is None and name.endswith("_time")):
            _refuse(f"{name}={value!r}", "starts, offsets and times of a window are whole numbers of 64 bits")
    if not isinstance(metadata.partial, bytes):
        _refuse(f"partial={metadata.partial!r}", "a partial is an Arrow file as bytes, or b''")
    if not isinstance(metadata.value, (dict, type(None))):
        _refuse(f"value={metadata.value!r}", "the value of a window is a dict of its results, or None")


def _refuse(fault: str, rule: str) -> NoReturn:
    raise InputError(fault, rule, "give what get_window returned")


def _window_with(
    settings: AggregatorSettings,
    metadata: WindowMetadata,
    session_key: KeyValue | None,
    stored: RetainedWindow | None,
    progress: Progress,
) -> RetainedWindow:
    """Returns a window with these metadata.

    Args:
        stored: the window that it replaces; None: there is none.
    """
    start, offsets = metadata.start, (metadata.start_offset, metadata.last_offset)
    if offsets[0] > offsets[1]:
        rule = "the first offset of a window is not above its last one"
        raise InputError(f"start_offset={offsets[0]}, last_offset={offsets[1]}", rule, "swap them")
    end = _end(settings, metadata)
    if stored is None and not settings.by_time:
        rule = "a window of messages is put in place of one with the same start"
        raise InputError(f"start={start}", rule, "put a window that get_window returns")
    number = max(progress.received - 1, 0)
    window = stored or RetainedWindow(
        session_key, start, end, end, *offsets, number, number, _last_time(settings, end)
    )
    changed = replace(window, start_offset=offsets[0], last_offset=offsets[1], fresh=list(window.fresh))
    if not settings.by_time:
        return changed
    full = progress.watermark is not None and end <= progress.watermark
    return replace(changed, boundary=end, end=end, last_time=_last_time(settings, end), full=full)


def _end(settings: AggregatorSettings, metadata: WindowMetadata) -> int:
    """Returns the first instant after the window; 0 for windows of messages."""
    start, end = metadata.start_time, metadata.end_time
    if not settings.by_time:
        if (start, end) != (None, None):
            rule = "windows of messages have no times"
            raise InputError(f"start_time={start}, end_time={end}", rule, "leave them out")
        return 0
    if end is not None and settings.session_key is not None:
        end += 1  # the metadata of a session have its last instant
    if end is None or start != metadata.start or not _is_possible(settings, start, end):
        fault = f"start={metadata.start}, start_time={start}, end_time={metadata.end_time}"
        _refuse(fault, "the start and the end of a window are those of a window of this operator")
    return end


def _is_possible(settings: AggregatorSettings, start: int, end: int) -> bool:
    """Returns whether the operator can have a window of time, or a session, from the start to the end."""
    if start < MIN_INSTANT or end > MAX_INSTANT:
        return False
    if settings.session_key is not None:
        return end > start + settings.length
    return end == start + settings.length and (start - settings.origin) % settings.step == 0


def _last_time(settings: AggregatorSettings, end: int) -> int:
    """Returns the latest event time that a window with this end can have."""
    return end - 1 - (settings.length if settings.session_key is not None else 0)
