"""The interpreter of window operators: which rows windows get, and their evaluations (semantics 13, 18)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.oracle.columns import checked_types
from panewise.oracle.outputs import Output, concatenate, empty_output, rows_after_finish
from panewise.oracle.progress.clocks import Clock, Clocks
from panewise.oracle.received_offsets import ReceivedOffsets
from panewise.oracle.rows import Row, arrival_order, invalid_reason, read_row
from panewise.oracle.windowing.assign import Bounds, exists, finite, output_bounds, overlap, windows_of
from panewise.oracle.windows.changes import changed_window, floor_after, source_of
from panewise.oracle.windows.limit import beyond_limit, oldest_if_full
from panewise.oracle.windows.live_window import LiveWindow, pane_order
from panewise.oracle.windows.panes import EmittedPanes, identity, stamp_of
from panewise.oracle.windows.row_numbering import RowNumbering
from panewise.oracle.windows.sliding import Slides
from panewise.oracle.windows.trigger import decide, expired, trigger_context
from panewise.oracle.windows.trigger_tree import TriggerNode
from panewise.spec import Sliding, WindowOperator, counted, has_key_watermarks, merging


class Interpreter:
    """Interprets one window operator; each method takes one event and returns the output after it.

    Args:
        spec: the specification of the operator.
        types: types of columns: "bigint", "double", "string", "boolean" or "decimal(p,s)". Values of columns
            without a type are not checked.

    >>> from panewise import Tumbling, functions as F
    >>> oracle = Interpreter(WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("rows")]))
    >>> oracle.add([{"event_time": 3}, {"event_time": 12}])["counts"]["applied"]
    2
    >>> [(pane["window_end"], pane["rows"], pane["timing"]) for pane in oracle.watermark(10)["panes"]]
    [(10, 1, 'ON_TIME')]

    Source: docs/semantics.md, except its sections on policy windows, OVER and chains.
    """

    def __init__(self, spec: WindowOperator, types: dict[str, str] | None = None) -> None:
        self._spec = spec
        self._types = checked_types(types)
        self._clocks = Clocks(spec)
        self._clock = self._clocks.common
        self._panes = EmittedPanes(spec, self._types, self._clocks)
        self._stored: dict[tuple[Any, ...], LiveWindow] = {}
        self._positions = ReceivedOffsets()
        self._slides = Slides(spec.window) if isinstance(spec.window, Sliding) else None
        self._row_numbering = RowNumbering(spec.window) if counted(spec.window) else None
        # For each key, the latest event time (in windows of rows, the highest number) in the current batch.
        self._seen: dict[tuple[Any, ...], int] = {}
        # For each key with as many windows as it may have, the oldest of them when the batch began.
        self._full: dict[tuple[Any, ...], LiveWindow] = {}
        self._early: list[LiveWindow] = []  # the windows that expire early in this evaluation

    # Events

    def add(self, rows: Iterable[dict[str, Any]]) -> Output:
        """Adds a batch; with `evaluate="record"` each of its rows is a batch of its own (semantics 18.1).

        Raises:
            InputError: after finish (semantics 12.2).
        """
        return concatenate(self.evaluations(rows))

    def evaluations(self, rows: Iterable[dict[str, Any]]) -> Iterator[Output]:
        """Yields the output of :meth:`add` evaluation by evaluation, lazily."""
        if self._clocks.common.finished:
            raise rows_after_finish()
        ordered = arrival_order(self._spec, self._types, list(rows))
        for batch in ([row] for row in ordered) if self._spec.evaluate == "record" else [ordered]:
            output = empty_output()
            self._batch(batch, output)
            yield output
            if self._clocks.report_seen():
                yield self._evaluate_all()

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Moves the watermark; with several inputs, that of the input `source`.

        Raises:
            InputError: if a watermark from outside has no meaning (semantics 6.8, 8.6, 12.8 to 12.10).
        """
        self._clocks.report(to, source)
        return self._evaluate_all()

    def clock(self, to: int) -> Output:
        """Moves the processing time."""
        return self.advance(to, None)

    def advance(self, processing_time: int | None, watermark: int | None) -> Output:
        """Moves both clocks, with one evaluation (semantics 18); a clock that is None stays where it is."""
        if processing_time is not None:
            self._clocks.read(processing_time)
        if watermark is not None:
            self._clocks.report(watermark, None)
        return self._evaluate_all()

    def finish(self) -> Output:
        """Ends the input (semantics 12.2)."""
        self._clock.finish()
        return self._evaluate_all()

    def change(self, spec: WindowOperator) -> Output:
        """Continues with another specification, and evaluates all windows once (semantics 47).

        Aggregates that are new are marked in it.
        """
        rows = [row for window in self._stored.values() for row in window.stored]
        rows += [] if self._slides is None else [row.values for row in self._slides.rows]
        for what in spec.measures:
            if what.added is not None and source_of(what, self._spec) is None:
                self._panes.earlier.added(what, rows)
        for window in self._stored.values():
            changed_window(window, self._spec, spec, self._clocks.of_key(window.key))
            if self._slides is not None and self._spec.accumulation == "discarding" != spec.accumulation:
                window.stored = [row.values for row in self._slides.rows_in(window.key, window.bounds)]
            if window.live is not None:
                window.live = {**window.live, **stamp_of(spec, identity(spec, window)["window_end"])}
        self._clock.set_floor(floor_after(self._clock, self._spec, spec))
        self._spec = self._panes.spec = spec
        self._clocks.change(spec)
        live = [
            window
            for window in self._stored.values()
            if not expired(spec, self._clocks.of_key(window.key), window.end)
        ]
        self._early = beyond_limit(spec, live)
        return self._evaluate_all()

    @property
    def now(self) -> Clock:
        """The clocks of the operator; a watermark of a single key is not among them."""
        return self._clock

    def windows(self) -> list[dict[str, Any]]:
        """Returns the stored windows, closed ones included, in the order of (end, start, keys)."""
        return [
            {**identity(self._spec, window), "pending": window.pending, "closed": window.closed}
            for window in sorted(self._stored.values(), key=pane_order)
        ]

    def progress(self) -> dict[str, Any]:
        """Returns the clocks, and the stored windows, each with its rows and whether it is complete.

        The rows are those that its next pane would be computed from. A closed window has none. With key
        watermarks each window also has the watermark of its key.
        """
        return {
            "processing_time": self._clock.processing_time,
            "watermark": self._clock.extended_watermark,
            "windows": [
                shown | self._progress_of(window)
                for shown, window in zip(
                    self.windows(), sorted(self._stored.values(), key=pane_order), strict=True
                )
            ],
        }

    def _progress_of(self, window: LiveWindow) -> dict[str, Any]:
        clock = self._clocks.of_key(window.key)
        of_key = {"watermark": clock.extended_watermark} if has_key_watermarks(self._spec.watermark) else {}
        return {"complete": clock.reached(window.end), "rows": list(window.stored), **of_key}

    # A batch

    def _batch(self, rows: list[dict[str, Any]], output: Output) -> None:
        self._seen = {}
        before = list(self._stored.values())
        self._full = oldest_if_full(self._spec, before)
        for window in before:
            window.settled = window.pending
        for number, added in enumerate(rows):
            outcome = self._row(number, added, output)
            output["counts"]["rows_in"] += 1
            output["counts"][outcome] += 1
        after = list(self._stored.values())
        replaced = [window for window in before if not any(window is other for other in after)]
        fed = [window for window in after if window.fresh]
        for window in fed:
            window.settle(trigger_context(self._clocks.of_key(window.key), window.end))
        moved = self._move_watermarks()
        affected = [
            window for window in after if window.key in moved or any(window is other for other in fed)
        ]
        self._early = beyond_limit(self._spec, after)
        affected += [window for window in self._early if not any(window is other for other in affected)]
        output["panes"] += self._panes.retractions(replaced)
        output["panes"] += self._evaluate_each(affected)

    def _move_watermarks(self) -> set[tuple[Any, ...]]:
        """Moves the watermarks that the rows of a batch drive (semantics 8.1, 9.6, 12.8).

        Returns the keys whose windows are evaluated even if they got no rows (semantics 18.2).
        """
        if self._row_numbering is not None and merging(self._spec.window) and self._seen:
            self._clock.raise_watermark(max(self._seen.values()) + 1)
            return {window.key for window in self._stored.values()}
        return self._clocks.raise_key_watermarks(self._seen)

    def _row(self, number: int, added: dict[str, Any], output: Output) -> str:
        """Validates and applies one row; returns the name of the count that it adds to (semantics 15.1)."""
        reason = invalid_reason(self._spec, self._types, added, self._clock.processing_time)
        if reason is not None:
            output["invalid"].append({"row": dict(added), "reason": reason})
            return "invalid"
        row = read_row(self._spec, self._types, added, self._clock.processing_time)
        self._clocks.record_time(row.values, row.time)
        if self._positions.is_replay(self._spec.position, row.values):
            return "replays"
        if self._row_numbering is not None:
            row = replace(row, time=self._row_numbering.next(row.key))
        self._seen[row.key] = max(row.time, self._seen.get(row.key, row.time))
        # In windows of rows a gap is tested last, because the row has its number only now (semantics 8.3).
        if self._row_numbering is not None and not self._windows_of(row):
            output["invalid"].append({"row": dict(added), "reason": "gap"})
            return "invalid"
        applied, missed = self._apply(number, row)
        if not missed:
            return "applied"
        partial = applied
        output["late"].append(self._late(row, missed, partial))
        output["counts"]["partially_late"] += partial
        return "applied" if partial else "late"

    def _windows_of(self, row: Row) -> list[Bounds]:
        return [bounds for bounds in windows_of(self._spec.window, row.time, row.values) if exists(bounds)]

    def _apply(self, number: int, row: Row) -> tuple[bool, dict[Bounds, str]]:
        """Applies a row to those of its windows for which it is not late (semantics 13).

        Returns:
            Whether it was applied to a window, and the windows for which it is late, each with the reason.
        """
        windows = self._windows_of(row)
        if self._is_behind(row):
            return False, dict.fromkeys(windows, "behind")
        if self._slides is not None:
            return self._apply_to_sliding(number, row, self._slides)
        if merging(self._spec.window):
            missed = self._apply_to_session(number, row, windows[0])
            return not missed, missed
        missed = self._apply_to_each(number, row, windows)
        return len(missed) < len(windows), missed

    def _apply_to_each(self, number: int, row: Row, windows: list[Bounds]) -> dict[Bounds, str]:
        missed: dict[Bounds, str] = {}
        for bounds in windows:
            window = self._stored.get((row.key, *bounds))
            if expired(self._spec, self._clocks.of_key(row.key), bounds[1]):
                missed[bounds] = "expired"
            elif window is not None and window.closed:
                missed[bounds] = "closed"
            elif window is None and self._is_before_full(row, bounds):
                missed[bounds] = "full"
            else:
                (window or self._open(row, bounds)).take(number, row, self._clock.processing_time)
        return missed

    def _is_before_full(self, row: Row, bounds: Bounds) -> bool:
        """Returns whether the key had as many windows as it may have, all later ones (semantics 15.25)."""
        oldest = self._full.get(row.key)
        return oldest is not None and finite(bounds)[::-1] < finite(oldest.bounds)[::-1]

    def _apply_to_sliding(self, number: int, row: Row, slides: Slides) -> tuple[bool, dict[Bounds, str]]:
        """Applies a row to its sliding windows; a new window also gets its earlier rows (semantics 7.3)."""
        applied, missed, windows = slides.take(
            row, lambda bounds: expired(self._spec, self._clocks.of_key(row.key), bounds[1])
        )
        for bounds, inside in windows:
            known = self._stored.get((row.key, *bounds))
            window = known or self._open(row, bounds)
            for other in inside:
                if known is None or other is row:
                    window.take(number, other, self._clock.processing_time)
        return applied, dict.fromkeys(missed, "expired")

    def _is_behind(self, row: Row) -> bool:
        """Returns whether `drop_by="row"` makes the row late for all its windows (semantics 13.3)."""
        watermark, lateness = self._clocks.of_key(row.key).watermark, self._spec.lateness_us
        if self._spec.drop_by != "row" or watermark is None or lateness is None:
            return False
        floor = self._clock.floor
        return row.time < watermark - lateness or (floor is not None and row.time < floor)

    def _apply_to_session(self, number: int, row: Row, own: Bounds) -> dict[Bounds, str]:
        """Merges a row with the sessions that it overlaps, unless it is late (semantics 9, 13.2).

        Returns the windows for which the row is late, each with the reason; none if it was applied.
        """
        overlapping = [
            window
            for window in self._stored.values()
            if window.key == row.key and overlap(self._spec.window, own, window.bounds)
        ]
        closed = sorted(finite(window.bounds) for window in overlapping if window.closed)
        if closed:
            return dict.fromkeys(closed, "closed")
        extents = [finite(own), *(finite(window.bounds) for window in overlapping)]
        start, end = min(first for first, _ in extents), max(last for _, last in extents)
        if expired(self._spec, self._clocks.of_key(row.key), end):
            return {own: "expired"}
        if [window.bounds for window in overlapping] == [(start, end)]:
            overlapping[0].take(number, row, self._clock.processing_time)
            return {}
        for window in overlapping:
            del self._stored[(window.key, *window.bounds)]
        merged = self._open(row, (start, end))
        merged.take_over(overlapping)
        merged.take(number, row, self._clock.processing_time)
        return {}

    def _open(self, row: Row, bounds: Bounds) -> LiveWindow:
        now = trigger_context(self._clocks.of_key(row.key), bounds[1])
        window = LiveWindow(
            row.key,
            *bounds,
            TriggerNode(self._spec.trigger, now),
            now.processing_time,
            unflipped=not now.complete,
        )
        self._stored[(row.key, *bounds)] = window
        return window

    def _late(self, row: Row, missed: dict[Bounds, str], partial: bool) -> dict[str, Any]:
        reasons = set(missed.values())
        reason = next(r for r in ("expired", "closed", "full", "behind", *reasons) if r in reasons)
        watermark = self._clocks.of_key(row.key).watermark
        return {
            "row": dict(row.added),
            "reason": reason,
            "windows": [list(output_bounds(self._spec.window, bounds)) for bounds in missed],
            "late_by": None
            if watermark is None or self._row_numbering is not None
            else min(max(0, watermark - row.time), MAX_INSTANT),  # a duration has 64 bits (semantics 13.4)
            "partial": partial,
        }

    # An evaluation

    def _evaluate_all(self) -> Output:
        return {**empty_output(), "panes": self._evaluate_each(list(self._stored.values()))}

    def _evaluate_each(self, windows: list[LiveWindow]) -> list[dict[str, Any]]:
        panes = []
        for window in sorted(windows, key=pane_order):
            panes += self._evaluate(window)
        return panes

    def _evaluate(self, window: LiveWindow) -> list[dict[str, Any]]:
        early = any(window is other for other in self._early)
        if window.closed:
            if early or expired(self._spec, self._clocks.of_key(window.key), window.end):
                del self._stored[(window.key, *window.bounds)]
            return []
        decision = decide(self._spec, self._clocks.of_key(window.key), window, early=early)
        panes = self._panes.fired(window, decision) if decision.fires or decision.requested else []
        window.unflipped = window.unflipped and not decision.flips
        window.on_time_is_next = decision.on_time and window.pending > 0
        if decision.expires:
            del self._stored[(window.key, *window.bounds)]
        elif decision.finishes:
            window.close()
        return panes
