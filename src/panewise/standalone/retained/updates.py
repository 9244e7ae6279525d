"""Decides which windows emit: the update policies of S1: early emission, full size, late arrival (26.4).

Two queues have the windows by when they become full, and by when they may emit what they have not emitted
yet. Cost: a message costs what its windows cost in these queues (:mod:`panewise.standalone.retained.table`).
A reading of the clock costs as much as the windows that it reaches.
"""

from collections.abc import Iterable

from panewise.engine.windowing.trigger.periods import last_boundary
from panewise.spec import AfterProcessingTime, Always
from panewise.standalone.retained.outputs import Firing
from panewise.standalone.retained.settings import AggregatorSettings, UpdatePolicy
from panewise.standalone.retained.table import DueQueue, RetainedTable
from panewise.standalone.retained.window import RetainedWindow


class Updates:
    """The update policies over the windows of a table.

    Invariant: the queue of boundaries has each window that is not full. The queue of deadlines has each
    window with messages that have not been emitted, unless its update policy is never to emit.
    """

    def __init__(self, settings: AggregatorSettings, windows: RetainedTable) -> None:
        self._windows, self._is_join = windows, settings.is_join
        self._early, self._late = settings.early_policy, settings.late_policy
        self._boundaries = DueQueue(lambda window: None if window.full else window.boundary)
        self._deadlines = DueQueue(self._deadline)

    def opened(self, window: RetainedWindow, progress: int) -> None:
        """Queues a new window.

        A window of an aggregator that is complete already emits when it is opened, and then by the update
        policy for late messages (17.1). One of a join emits by this update policy from the beginning (37.16).
        """
        if self._is_join:
            window.note_full(progress)
        self.add(window)

    def grown(self, window: RetainedWindow, progress: int) -> None:
        """Queues a session whose bounds have changed: it is full if the progress has passed them (9.1)."""
        window.note_full(progress)
        self.add(window)

    def add(self, window: RetainedWindow) -> None:
        """Queues a window of the table."""
        self._boundaries.put(window)
        self._deadlines.put(window)

    def pending(self, window: RetainedWindow, clock: int) -> None:
        """Notes that a window has a message that it has not emitted."""
        if window.note_pending(clock):
            self._deadlines.put(window)

    def due(
        self, touched: Iterable[RetainedWindow], progress: int, clock: int
    ) -> list[tuple[RetainedWindow, Firing]]:
        """Returns the windows that emit now, in the order of their starts, and why.

        Args:
            progress: the watermark, or the number of the last message.
        """
        full = list(self._boundaries.reached(progress, self._windows))
        timed = list(self._deadlines.reached(clock, self._windows))
        candidates = {window.place: window for window in (*touched, *full, *timed)}
        due = []
        for place in sorted(candidates):
            firing = self._firing(candidates[place], progress, clock)
            if firing is not None:
                due.append((candidates[place], firing))
        return due

    def _firing(self, window: RetainedWindow, progress: int, clock: int) -> Firing | None:
        """Returns why a window emits, None if it does not. It marks the window as full."""
        became_full = not window.full and window.note_full(progress)
        if became_full:
            self._windows.mark_changed(window)
        if window.pending_since is None:
            return None
        if became_full:
            return "full"
        at = self._deadline(window)
        if at is not None and at <= clock:
            return "late" if window.full else "early"
        return None

    def _deadline(self, window: RetainedWindow) -> int | None:
        """Returns the processing time at which a window may emit; None without such a time."""
        if window.pending_since is None:
            return None
        return deadline(self._late if window.full else self._early, window.pending_since)


def deadline(policy: UpdatePolicy | None, since: int) -> int | None:
    """Returns the processing time from which on an update policy lets a window emit, or None.

    Args:
        since: when the first message that has not been emitted was added.

    >>> from panewise import AfterProcessingTime, Every
    >>> deadline(Every(10, aligned=True), 20), deadline(AfterProcessingTime(10), 25)
    (30, 35)
    """
    match policy:
        case None:
            return None
        case Always():
            return since
        case AfterProcessingTime():
            return since + policy.delay.us
    return last_boundary(policy, since) + policy.period.us
