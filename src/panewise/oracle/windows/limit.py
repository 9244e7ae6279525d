"""The limit of the windows of each key (semantics 15.23 to 15.26)."""

from collections.abc import Iterable
from typing import Any

from panewise.errors import StateError
from panewise.oracle.windows.live_window import LiveWindow, pane_order
from panewise.spec import WindowOperator


def beyond_limit(spec: WindowOperator, windows: Iterable[LiveWindow]) -> list[LiveWindow]:
    """Returns the windows that a key has beyond the limit: the oldest ones.

    Raises:
        StateError: if there are any, with `when_full="stop"`.
    """
    limit = spec.max_windows
    if limit is None:
        return []
    more = [window for of_key in _by_key(windows).values() for window in of_key[: -limit.n]]
    if more and limit.when_full == "stop":
        rule = f"max_windows={limit!r} limits the windows of a key (semantics 15.26)"
        raise StateError(f"more than {limit.n} windows of {more[0].key}", rule, "raise n")
    return more


def oldest_if_full(spec: WindowOperator, windows: Iterable[LiveWindow]) -> dict[tuple[Any, ...], LiveWindow]:
    """Returns the oldest window of each key that has as many windows as it may have."""
    limit = spec.max_windows
    if limit is None or limit.when_full == "stop":
        return {}
    return {key: of_key[-limit.n] for key, of_key in _by_key(windows).items() if len(of_key) >= limit.n}


def _by_key(windows: Iterable[LiveWindow]) -> dict[tuple[Any, ...], list[LiveWindow]]:
    keys: dict[tuple[Any, ...], list[LiveWindow]] = {}
    for window in sorted(windows, key=pane_order):
        keys.setdefault(window.key, []).append(window)
    return keys
