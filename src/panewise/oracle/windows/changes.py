"""A window operator whose specification changes between two events (semantics 47)."""

from dataclasses import replace
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.oracle.progress.clocks import Clock
from panewise.oracle.windows.live_window import LiveWindow
from panewise.oracle.windows.trigger import trigger_context
from panewise.oracle.windows.trigger_tree import TriggerNode
from panewise.spec import Aggregate, WindowOperator

_OF_LIVE_PANES = ("timing", "index", "nonspeculative_index", "is_first", "is_last", "op", "processing_time")


class EarlierRows:
    """The rows that were applied before an aggregate was added, by aggregate (semantics 47.3)."""

    def __init__(self) -> None:
        self._of: list[tuple[Aggregate, list[dict[str, Any]]]] = []

    def added(self, aggregate: Aggregate, rows: list[dict[str, Any]]) -> None:
        """Records that an aggregate is added after these rows."""
        self._of = [(known, of) for known, of in self._of if known != unnamed(aggregate)]
        self._of.append((unnamed(aggregate), rows))

    def among(self, aggregate: Aggregate, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns those of the rows that were applied before."""
        earlier = [row for known, of in self._of if known == unnamed(aggregate) for row in of]
        return [row for row in rows if any(row is other for other in earlier)]


def unnamed(aggregate: Aggregate) -> Aggregate:
    """Returns the aggregate under a name that does not distinguish it."""
    return replace(aggregate, name="any")


def source_of(aggregate: Aggregate, old: WindowOperator) -> Aggregate | None:
    """Returns the aggregate of the old specification that computes the same, None if there is none."""
    same = [known for known in old.measures if unnamed(known) == unnamed(aggregate)]
    return next((known for known in same if known.name == aggregate.name), same[0] if same else None)


def changed_window(window: LiveWindow, old: WindowOperator, new: WindowOperator, clock: Clock) -> None:
    """Changes a stored window as the specification changes."""
    compared = old.accumulation == "retracting" or old.only_updated
    window.live = None if window.live is None or not compared else _live_pane(window.live, old, new)
    if old.trigger == new.trigger:
        return
    now = trigger_context(clock, window.end)
    past = now.complete and not (window.unflipped or window.on_time_is_next) and window.panes > 0
    window.node = TriggerNode(new.trigger, now)
    window.node.resume(now, window.pending, past)
    window.since = window.pending_since = clock.processing_time


def _live_pane(pane: dict[str, Any], old: WindowOperator, new: WindowOperator) -> dict[str, Any]:
    """Returns a live pane with the columns of the new specification, in their order."""
    sources = {what.name: source_of(what, old) for what in new.measures}
    values = {name: None if known is None else pane[known.name] for name, known in sources.items()}
    by_window = new.timestamp is not None and "timestamp" not in values
    stamp = {"timestamp": None} if by_window else {}  # the caller sets it
    before = {name: pane[name] for name in (*old.keys, "window_start", "window_end")}
    delta = {} if new.delta is False else {"delta": pane["delta"]}
    return {**before, **stamp, **values, **delta, **{name: pane[name] for name in _OF_LIVE_PANES}}


def floor_after(clock: Clock, old: WindowOperator, new: WindowOperator) -> int | None:
    """Returns the end up to which windows stay expired when the allowed lateness changes (semantics 47.5)."""
    if old.allowed_lateness == new.allowed_lateness or clock.watermark is None or old.lateness_us is None:
        return clock.floor
    horizon = MAX_INSTANT if clock.watermark == MAX_INSTANT else clock.watermark - old.lateness_us
    return horizon if clock.floor is None else max(clock.floor, horizon)
