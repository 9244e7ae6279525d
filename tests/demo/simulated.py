"""Simulates the demo's query window by window in plain Python, for tests of code that reads its outputs."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from panewise.demo.check import LATENESS, SIZE, PaneOutputs

DELAY = timedelta(minutes=30)
EARLY = 3
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIME = pl.Datetime("us", "UTC")
PANES = {
    "origin": pl.String,
    "window_start": TIME,
    "window_end": TIME,
    "flights": pl.Int64,
    "mean_delay": pl.Float64,
    "timing": pl.String,
    "index": pl.Int64,
    "op": pl.String,
    "batch_id": pl.Int64,
}


@dataclass
class Window:
    end: datetime
    delays: list[float] = field(default_factory=list)
    pending: int = 0
    flipped: bool = False
    live: tuple[Any, ...] | None = None
    index: int = 0


class Query:
    """Takes batches of flights and collects what the query would write."""

    def __init__(self, schema: pl.Schema) -> None:
        self.row = pl.Struct(schema)
        self.windows: dict[tuple[str, datetime], Window] = {}
        self.watermark: datetime | None = None  # in force for the rows of the next batch
        self.following: datetime | None = None  # to which it moves after the next batch
        self.panes: list[tuple[Any, ...]] = []
        self.late: list[dict[str, Any]] = []
        self.invalid: list[dict[str, Any]] = []
        self.counts: list[dict[str, Any]] = []

    def step(self, batch_id: int, rows: list[dict[str, Any]]) -> None:
        before = len(self.late), len(self.invalid)
        touched = {key for row in rows if (key := self._add(row)) is not None}
        for key in sorted(touched):
            window = self.windows[key]
            if window.flipped or window.pending >= EARLY:
                self._fire(batch_id, key, "LATE" if window.flipped else "EARLY")
        self.watermark = self.following
        self._advance(batch_id)
        late, invalid = len(self.late) - before[0], len(self.invalid) - before[1]
        counts = {
            "rows_in": len(rows),
            "applied": len(rows) - late - invalid,
            "replays": 0,
            "late": late,
            "invalid": invalid,
        }
        self.counts.append({"batch_id": batch_id, "watermark": self.watermark, **counts})
        latest = max((row["scheduled"] for row in rows if row["scheduled"]), default=None)
        if latest is not None:
            self.following = max(latest - DELAY, self.following or latest - DELAY)

    def _add(self, row: dict[str, Any]) -> tuple[str, datetime] | None:
        if row["scheduled"] is None:
            self.invalid.append(row)
            return None
        start = row["scheduled"].replace(minute=0)
        if self.watermark is not None and self.watermark >= start + SIZE + LATENESS:
            self.late.append(
                {"row": row, "late_by": (self.watermark - row["scheduled"]) // timedelta(microseconds=1)}
            )
            return None
        end = start + SIZE
        flipped = self.watermark is not None and self.watermark >= end
        window = self.windows.setdefault((row["origin"], start), Window(end, flipped=flipped))
        window.delays.append(row["dep_delay"])
        window.pending += 1
        return row["origin"], start

    def _advance(self, batch_id: int) -> None:
        for key, window in sorted(self.windows.items()):
            if self.watermark is None or self.watermark < window.end:
                continue
            if window.pending or not window.flipped:  # the on-time pane is emitted even if no flight is new
                self._fire(batch_id, key, "LATE" if window.flipped else "ON_TIME")
            window.flipped = True
            if self.watermark >= window.end + LATENESS:
                del self.windows[key]

    def _fire(self, batch_id: int, key: tuple[str, datetime], timing: str) -> None:
        window = self.windows[key]
        pane = (
            *key,
            window.end,
            len(window.delays),
            sum(window.delays) / len(window.delays),
            timing,
            window.index,
        )
        if window.live is not None:
            self.panes.append((*window.live, "-", batch_id))
        self.panes.append((*pane, "+", batch_id))
        window.live, window.pending, window.index = pane, 0, window.index + 1

    def finish(self, batch_id: int) -> PaneOutputs:
        self.watermark = datetime(9000, 1, 1, tzinfo=UTC)
        self._advance(batch_id)
        late = pl.DataFrame(self.late, schema={"row": self.row, "late_by": pl.Int64})
        invalid = pl.DataFrame({"row": self.invalid}, schema={"row": self.row})
        return PaneOutputs(
            panes=pl.DataFrame(self.panes, schema=PANES, orient="row"),
            late=late.with_columns(reason=pl.lit("expired"), partial=pl.lit(value=False)),
            invalid=invalid.with_columns(reason=pl.lit("event time is null")),
            counts=pl.DataFrame(self.counts, schema_overrides={"watermark": TIME}),
        )


def simulate(arrived: pl.DataFrame) -> PaneOutputs:
    query = Query(arrived.drop("batch", "arrival").schema)
    batches = arrived.partition_by("batch", maintain_order=True)
    for number, rows in enumerate(batches):
        query.step(number, rows.drop("batch", "arrival").to_dicts())
    return query.finish(len(batches))
