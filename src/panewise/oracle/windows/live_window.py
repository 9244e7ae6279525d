"""The state of one window in the interpreter."""

from dataclasses import dataclass, field, replace
from typing import Any

from panewise.oracle.columns import sort_key
from panewise.oracle.rows import Row
from panewise.oracle.windowing.assign import Bounds
from panewise.oracle.windows.trigger_tree import TriggerContext, TriggerNode


@dataclass
class LiveWindow:
    """A stored window of one key.

    While a batch is processed, its rows are in `fresh`. :meth:`settle` then passes them to the trigger and
    moves them to `stored`.

    Attributes:
        key: the values of its keys.
        start: its start; None for a global window.
        end: its end, half-open (semantics 7.2); None for a global window.
        node: its trigger.
        since: processing time of its last firing, or else of its first row (F of semantics 16.3).
        unflipped: whether it was opened before its end was reached and has not flipped yet (semantics 16.4).
        on_time_is_next: whether its next firing is the on-time firing: its trigger did not fire the rows that
            were pending when it flipped (semantics 20.1).
        stored: its row buffer before the current batch (semantics 21).
        new: the rows in `stored` that are new since its last firing. In a session that replaced others and
            has not fired since, these are all rows (semantics 21.8).
        fresh: its rows of the current batch, each with its number in arrival order.
        replaces: the windows from before the current batch that were merged into it.
        pending: the number of pending rows (semantics 16.1).
        pending_since: processing time at which the earliest pending row was applied (A of semantics 16.3).
        settled: the number of pending rows before the current batch; None if the batch opened the window.
        closed: whether its trigger is finished (semantics 19).
        panes: the number of its `+` panes (semantics 20.2).
        nonspeculative_panes: the number of those that are not EARLY.
        live: its live pane (semantics 21.2).
    """

    key: tuple[Any, ...]
    start: int | None
    end: int | None
    node: TriggerNode
    since: int
    unflipped: bool
    on_time_is_next: bool = False
    stored: list[dict[str, Any]] = field(default_factory=list)
    new: list[dict[str, Any]] = field(default_factory=list)
    fresh: list[tuple[int, Row]] = field(default_factory=list)
    replaces: list["LiveWindow"] = field(default_factory=list)
    pending: int = 0
    pending_since: int = 0
    settled: int | None = None
    closed: bool = False
    panes: int = 0
    nonspeculative_panes: int = 0
    live: dict[str, Any] | None = None

    @property
    def bounds(self) -> Bounds:
        """Start and end."""
        return (self.start, self.end)

    def take(self, number: int, row: Row, processing_time: int) -> None:
        """Applies a row."""
        self.fresh.append((number, row))
        self.pending_since = self.pending_since if self.pending else processing_time
        self.pending += 1

    def take_over(self, others: list["LiveWindow"]) -> None:
        """Takes over rows and times of the sessions that this one replaces (semantics 9.1, 24.4)."""
        for other in sorted(others, key=lambda window: sort_key(window.start)):
            self.stored = self.stored + other.stored
            self.fresh = sorted([*self.fresh, *other.fresh], key=lambda numbered: numbered[0])
            if other.pending:
                self.pending_since = (
                    min(self.pending_since, other.pending_since) if self.pending else other.pending_since
                )
            self.pending += other.pending
            self.since = min(self.since, other.since)
            self.replaces += other.replaces if other.settled is None else [other]
        self.new = self.stored

    def settle(self, now: TriggerContext) -> None:
        """Ends the batch: passes its rows to the trigger and stores them.

        Before that, the trigger takes over the states of the sessions that were replaced (semantics 16.12).
        """
        if self.replaces:
            before = sorted(self.replaces, key=lambda window: sort_key(window.start))
            self.node.take_over(
                [window.node for window in before], now, [window.settled or 0 for window in before]
            )
        settled = self.pending - len(self.fresh)
        for number, (_, row) in enumerate(self.fresh):
            self.node.take(row, replace(now, pending=settled + number))
        arrived = [row.values for _, row in self.fresh]
        self.stored, self.new = [*self.stored, *arrived], [*self.new, *arrived]
        self.fresh, self.replaces = [], []

    def close(self) -> None:
        """Closes the window and purges its row buffer; its pending rows have been fired (semantics 19)."""
        self.stored, self.new, self.pending, self.closed, self.live = [], [], 0, True, None


def pane_order(window: LiveWindow) -> tuple[Any, ...]:
    """Returns a sort key: end, start, keys, with nulls first (semantics 23)."""
    return (sort_key(window.end), sort_key(window.start), [sort_key(value) for value in window.key])
