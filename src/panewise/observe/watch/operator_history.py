"""The last micro-batches of one operator, and the scene of them."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from panewise.chrono import MAX_INSTANT
from panewise.observe.activity import CHANGED, DELETED, EMITTED, Activity, Bounds, emitted_count
from panewise.observe.micro_batch import BatchFigures
from panewise.observe.scene import ArrivalRow, Cell, PaneScene
from panewise.observe.scene_svg import rows_that_fit
from panewise.observe.time_axis import instant

_MOST_ARRIVALS, _MOST_OPEN = 60, 1000
_HEIGHT = 560  # of the rows of a picture
_ALL_TIMINGS: Final = frozenset({"early", "on_time", "late"})


@dataclass
class _Life:
    """The first and the last micro-batch of a window that is live, or was.

    `keys` is the number of keys that have it, where windows may expire early and it is known; else None.
    """

    first: int
    last: int | None = None
    keys: int | None = None


@dataclass(frozen=True)
class _Past:
    """A micro-batch of the operator."""

    number: int  # its place among all micro-batches of the journal
    label: str
    figures: BatchFigures
    watermark: int | None

    @property
    def windows(self) -> Mapping[Bounds, tuple[int, ...]]:
        activity = self.figures.activity
        return {} if activity is None else activity.windows or {}


@dataclass
class OperatorHistory:
    """What an operator has reported.

    Attributes:
        late, invalid: the rows by reason, of all micro-batches that were read.
        counts: the sums of the counts of these.
        activity: the last activity with shards, None before the first one.
        state: the last figures of the state.
        keys: the keys of the last micro-batch that has any.
        windows_left_out: how many windows of all micro-batches are not among the reported ones.
    """

    late: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    activity: Activity | None = None
    state: Mapping[str, int | None] = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)
    windows_left_out: int = 0
    _past: deque[_Past] = field(default_factory=lambda: deque(maxlen=_MOST_ARRIVALS))
    _lives: dict[Bounds, _Life] = field(default_factory=dict)
    _number: int = 0
    _stores_windows: bool = False

    def add(self, batch: int, began: int | None, figures: BatchFigures) -> None:
        """Adds a micro-batch."""
        self._number += 1
        self.late.update(figures.late)
        self.invalid.update(figures.invalid)
        self.counts.update(figures.counts)
        if figures.state.get("shards"):
            self.state = figures.state
        at = None if began is None else instant(began)
        label = f"#{batch}" if at is None else f"#{batch}  {at:%H:%M:%S}"
        self._past.append(_Past(self._number, label, figures, self.state.get("watermark")))
        if figures.activity is not None:
            self._add_activity(figures.activity)

    def _add_activity(self, activity: Activity) -> None:
        self.activity = activity if activity.shards else self.activity
        self.keys = activity.keys or self.keys
        self.windows_left_out = activity.windows_left_out
        for bounds, counts in (activity.windows or {}).items():
            life = self._lives.get(bounds)
            if counts[CHANGED]:
                self._stores_windows = True
                if life is None or life.last is not None:
                    self._lives[bounds] = _Life(self._number)
            elif counts[DELETED] and not emitted_count(counts) and life is not None and life.last is None:
                life.last = self._number
        self._count_keys(activity)
        if activity.horizon is not None:
            self._expire(activity.horizon)
        self._forget()

    def _count_keys(self, activity: Activity) -> None:
        """Ends the windows that have expired early in all keys (semantics 15.28).

        A window whose first change was not seen may be that of further keys.
        """
        for bounds, more in (activity.stored or {}).items():
            life = self._lives.get(bounds)
            if life is None or life.last is not None:
                continue
            if life.first == self._number:
                life.keys = more if more == (activity.windows or {})[bounds][CHANGED] else None
            elif life.keys is not None:
                life.keys += more
            if life.keys == 0:
                life.last = self._number
        if activity.windows_left_out:
            for life in self._lives.values():
                life.keys = None

    def _expire(self, horizon: int) -> None:
        """Ends the windows that have expired. After the end of input all have (semantics 15.21)."""
        for (_, end), life in self._lives.items():
            if life.last is None and (horizon >= MAX_INSTANT if end is None else end <= horizon):
                life.last = self._number

    def _forget(self) -> None:
        """Forgets the windows that had expired before the first row, and the oldest if they are too many."""
        first = self._past[0].number
        ended = [
            bounds for bounds, life in self._lives.items() if life.last is not None and life.last < first
        ]
        for bounds in ended:
            del self._lives[bounds]
        for bounds in [*self._lives][: max(0, len(self._lives) - _MOST_OPEN)]:
            del self._lives[bounds]

    @property
    def live_windows(self) -> int | None:
        """How many different windows are live, as far as it is known; None if none are stored."""
        if not self._stores_windows:
            return None
        return sum(life.last is None for life in self._lives.values())

    def scene(self) -> PaneScene:
        """Returns the picture of the last micro-batches: as many as fit."""
        whole = self._scene([*self._past])
        return self._scene([*self._past][-rows_that_fit(whole, _HEIGHT) :])

    def _scene(self, past: list[_Past]) -> PaneScene:
        by_row_number = self.activity is not None and self.activity.by_row_number
        timed = any(batch.figures.timings for batch in self._past) or self._stores_windows
        return PaneScene(
            [self._arrival(batch) for batch in past],
            by_row_number=by_row_number,
            windowed=self._stores_windows,
            more_marks=_ALL_TIMINGS if timed else frozenset({"rows"}),
        )

    def _arrival(self, batch: _Past) -> ArrivalRow:
        cells = {
            bounds: Cell(
                dict(zip(EMITTED, counts, strict=False)), counts[CHANGED], self._is_open(bounds, batch)
            )
            for bounds, counts in batch.windows.items()
        }
        for bounds in self._lives:
            if bounds not in cells and self._is_open(bounds, batch):
                cells[bounds] = Cell(is_open=True)
        figures = batch.figures
        reasons = figures.late or {"no reason": figures.counts.get("late", 0)}
        return ArrivalRow(
            batch.label,
            cells,
            watermark=None if self.activity is not None and self.activity.by_row_number else batch.watermark,
            emitted=figures.counts.get("panes", 0),
            late=reasons if figures.counts.get("late", 0) else {},
        )

    def _is_open(self, bounds: Bounds, batch: _Past) -> bool:
        life = self._lives.get(bounds)
        return life is not None and life.first <= batch.number <= (life.last or batch.number)
