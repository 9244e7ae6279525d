"""What the interpreter knows of one window."""

from dataclasses import dataclass, field, replace
from typing import Any

from panewise.oracle.assign import Bounds
from panewise.oracle.columns import sort_key
from panewise.oracle.rows import Row
from panewise.oracle.trigger_tree import Moment, Node


@dataclass
class Held:
    """A window of one key.

    node: its trigger.
    stored: the rows that it held before the present batch (in discarding mode: and that it has not fired).
    new: those of them that came after its last firing; all of a session that replaced others and has not fired (semantics 21.8).
    fresh: rows of the present batch, each with its number in arrival order.
    replaces: the windows from before the present batch that were merged into it.
    pending: rows applied since the last firing (semantics 16.1).
    settled: what was pending before the present batch; None if the window was not there then.
    since: processing time of the last firing, or of the first row if it never fired (F of semantics 16.3).
    pending_since: processing time at which the earliest pending row was applied (A of semantics 16.3).
    awaits_end: it was opened before its end was reached, and has not flipped yet (semantics 16.4).
    held_back: rows that came before it flipped are pending, as its trigger did not fire then (20.1).
    live: the last pane that is not withdrawn (semantics 21.2).
    """

    key: tuple[Any, ...]
    start: int | None
    end: int | None
    node: Node
    since: int
    awaits_end: bool
    held_back: bool = False
    stored: list[dict[str, Any]] = field(default_factory=list)
    new: list[dict[str, Any]] = field(default_factory=list)
    fresh: list[tuple[int, Row]] = field(default_factory=list)
    replaces: list["Held"] = field(default_factory=list)
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

    def take_over(self, others: list["Held"]) -> None:
        """Takes what the sessions that it replaces held (semantics 9.1, 24.4)."""
        for other in sorted(others, key=lambda window: sort_key(window.start)):
            self.stored = self.stored + other.stored
            self.fresh = sorted([*self.fresh, *other.fresh], key=lambda numbered: numbered[0])
            if other.pending:
                self.pending_since = min(self.pending_since, other.pending_since) if self.pending else other.pending_since
            self.pending += other.pending
            self.since = min(self.since, other.since)
            self.replaces += other.replaces if other.settled is None else [other]
        self.new = self.stored

    def settle(self, now: Moment) -> None:
        """Ends the batch: its rows are stored like any others, and given to the trigger."""
        if self.replaces:
            before = sorted(self.replaces, key=lambda window: sort_key(window.start))
            self.node.take_over([window.node for window in before], now, [window.settled or 0 for window in before])
        settled = self.pending - len(self.fresh)
        for number, (_, row) in enumerate(self.fresh):
            self.node.take(row, replace(now, pending=settled + number))
        came = [row.values for _, row in self.fresh]
        self.stored, self.new = [*self.stored, *came], [*self.new, *came]
        self.fresh, self.replaces = [], []

    def close(self) -> None:
        """A closed window holds nothing; what was pending has been fired."""
        self.stored, self.new, self.pending, self.closed, self.live = [], [], 0, True, None


def pane_order(window: Held) -> tuple[Any, ...]:
    """Order of (end, start, keys), nulls first (semantics 23)."""
    return (sort_key(window.end), sort_key(window.start), [sort_key(value) for value in window.key])
