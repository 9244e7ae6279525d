"""What a step does to windows and keys, for a journal: a text of bounded size for each shard.

Without a journal nothing of this is computed. The observed metrics carry the text to the driver
(:mod:`panewise.spark.metrics`), where :mod:`panewise.observe.activity` merges those of all shards.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, INDEX, ROWS, START, TOMBSTONE
from panewise.observe.activity import COUNTS, OF_A_SHARD, fitting_width
from panewise.spec import Global, Specification, closed_at_end, merging, parts
from panewise.spec.operators.panes import BOUNDS, OP

if TYPE_CHECKING:
    from panewise.engine.protocol import Operator
    from panewise.spark.workers.step import ShardBatch

SETTING: Final = "panewise.activity"  # of the session: the number of hot keys; without a journal it is empty
_LEAST, _MOST, _IN_ALL = 10, 200, 2000  # windows of a shard, and of all shards together
_KEY_LENGTH = 60
_AFTER_ALL = (1 << 63) - 1
_PANES: Final = COUNTS[:-2]  # the counts of emitted rows; the others are those of stored windows
_CHANGED: Final = COUNTS[-2:]


@dataclass(frozen=True)
class ActivitySettings:
    """How the activity of an operator is read from its panes and its state.

    Attributes:
        windows: the most windows that a shard reports in a micro-batch.
        keys: the most keys.
        family: the name of the operator's family.
        time: the column with the event time of emitted rows; None if they have none.
        counted: whether the bounds of windows are row numbers.
        merging: whether windows merge, so that a deleted one is not live.
        unbounded: whether there is one window for all times.
        behind: how far the end of a window, as panes show it, is below the end in the state.
    """

    windows: int
    keys: int
    family: str
    time: str | None
    counted: bool = False
    merging: bool = False
    unbounded: bool = False
    behind: int = 0

    @classmethod
    def of(cls, spec: Specification, keys: int, shards: int, columns: Iterable[str]) -> Self:
        """Returns the settings of a specification, given the columns of its panes."""
        own, window = parts(spec), parts(spec).drawn_windows(spec)
        time = own.output_time(spec)
        return cls(
            max(_LEAST, min(_MOST, _IN_ALL // shards)),
            keys,
            spec.family.name,
            time if isinstance(time, str) else None,
            counted={*BOUNDS} <= {*columns} and BOUNDS[0] not in own.instants(spec),
            merging=merging(window),
            unbounded=isinstance(window, Global),
            behind=int(window is not None and closed_at_end(window)),
        )


@dataclass
class Activity:
    """What a step does, as it does it."""

    settings: ActivitySettings
    _panes: list[pl.DataFrame] = field(default_factory=list)
    _changed: pl.DataFrame | None = None
    _keys: list[tuple[str, int]] = field(default_factory=list)
    _horizon: int | None = None
    _width: int = 0

    def add_rows(self, operator: "Operator", shard_batch: "ShardBatch") -> None:
        """Counts the valid rows of each key, if the hot keys are wanted."""
        if not self.settings.keys:
            return
        frames = []
        for name, port in operator.plan.ports.items():
            keys, batch = [*port.entry.keys], shard_batch.ports.get(name)
            if keys and batch is not None:
                frames += [_keyed(rows, keys, pl.len().cast(pl.Int64)) for rows in batch.rows]
                frames += [_keyed(rows, keys, pl.col(ROWS).sum()) for rows in batch.partials]
        if frames:
            counts = pl.concat(frames, how="vertical_relaxed").group_by("key").agg(pl.col("rows").sum())
            self._keys = counts.top_k(self.settings.keys, by="rows").rows()

    def add_panes(self, panes: pl.DataFrame) -> None:
        """Counts panes by window and timing, or emitted rows without windows by a stretch of event time."""
        if panes.height:
            self._panes.append(self._with_bounds(panes).group_by(BOUNDS).agg(_counts_of(panes.schema)))

    def _with_bounds(self, panes: pl.DataFrame) -> pl.DataFrame:
        wanted = [name for name in ("timing", OP) if panes.schema.get(name) == pl.String]
        if {*BOUNDS} <= {*panes.columns}:
            return panes.select(*BOUNDS, *wanted)
        time = self.settings.time
        if time not in panes.columns:
            return panes.select(*(pl.lit(None, dtype=pl.Int64).alias(name) for name in BOUNDS), *wanted)
        times = panes[time]
        times = times if times.dtype == pl.Int64 else times.dt.epoch("us")
        first, last = times.min(), times.max()
        if isinstance(first, int) and isinstance(last, int):
            self._width = max(self._width, fitting_width(first, last))
        start = times - times % max(1, self._width)
        bounds = pl.DataFrame([start.alias(BOUNDS[0]), (start + self._width).alias(BOUNDS[1])])
        return bounds.hstack(panes.select(wanted))

    def add_state(self, operator: "Operator") -> None:
        """Counts the windows that the step has changed in the state. They are not yet in a run."""
        tables = operator.state.tables.items() if {*BOUNDS} <= {*operator.plan.pane_schema} else ()
        windows = [name for name, table in tables if {START, END, INDEX} <= {*table.shape.schema}]
        if not windows:
            return
        name, clocks = windows[-1], operator.state.clocks
        horizon = MAX_INSTANT if clocks.finished else operator.horizons(clocks)[name]
        self._horizon = None if horizon is None else horizon - self.settings.behind
        dead, newest = pl.col(TOMBSTONE), operator.state.tables[name].newest
        deleted = dead.sum() if self.settings.merging else pl.lit(0)
        start, end = pl.col(START), pl.col(END) - self.settings.behind
        if self.settings.unbounded:
            start, end = (pl.lit(None, dtype=pl.Int64) for _ in BOUNDS)
        # Numbers of rows of keys are in the same table, after all windows.
        is_window = pl.lit(self.settings.unbounded) | (pl.col(START) < _AFTER_ALL)
        self._changed = (
            newest.filter(is_window)
            .group_by(start.alias(BOUNDS[0]), end.alias(BOUNDS[1]))
            .agg((~dead).sum().cast(pl.Int64).alias("changed"), deleted.cast(pl.Int64).alias("deleted"))
        )

    def text(self, shard: int, figures: Mapping[str, Any]) -> str:
        """Returns the activity as JSON, with what else is known of the shard."""
        windows, left_out, panes = self._windows()
        document = {
            "family": self.settings.family,
            "counted": self.settings.counted,
            "width": self._width,
            "horizon": self._horizon,
            "windows": windows,
            "left_out": [left_out, panes],
            "shards": [[shard, *(figures.get(name) for name in OF_A_SHARD)]],
            "keys": [[key[:_KEY_LENGTH], rows] for key, rows in self._keys],
        }
        return json.dumps({name: value for name, value in document.items() if value}, separators=(",", ":"))

    def _windows(self) -> tuple[list[list[int | None]], int, int]:
        """Returns the windows with most panes, and how many windows and panes are left out."""
        frames = [*self._panes, *([] if self._changed is None else [self._changed])]
        if not frames:
            return [], 0, 0
        merged = pl.concat(frames, how="diagonal").group_by(BOUNDS)
        sums = merged.agg(
            (pl.col(name) if name in merged_columns(frames) else pl.lit(0)).sum().alias(name)
            for name in COUNTS
        )
        ranked = sums.with_columns(pl.sum_horizontal(_PANES).alias("panes"))
        first = ranked.top_k(self.settings.windows, by=["panes", "changed", BOUNDS[0]])
        left = ranked.height - first.height
        panes = int(ranked["panes"].sum()) - int(first["panes"].sum()) if left else 0
        rows: list[Any] = first.select(*BOUNDS, *COUNTS).rows()
        return [*map(list, rows)], left, panes


def merged_columns(frames: Iterable[pl.DataFrame]) -> set[str]:
    """Returns the names of the columns of all frames."""
    return {name for frame in frames for name in frame.columns}


def _keyed(rows: pl.DataFrame, keys: list[str], count: pl.Expr) -> pl.DataFrame:
    """Returns a text of each key, and the number of its rows."""
    counts = rows.group_by(keys).agg(count.alias("rows"))
    texts = [", ".join(map(_shown, key)) for key in counts.select(keys).iter_rows()]
    return pl.DataFrame({"key": texts, "rows": counts["rows"]}, schema={"key": pl.String, "rows": pl.Int64})


def _shown(value: object) -> str:
    return "null" if value is None else str(value)


def _counts_of(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Returns the counts of emitted rows: by timing, without a timing, and retractions."""
    has_op, has_timing = schema.get(OP) == pl.String, schema.get("timing") == pl.String
    added = pl.col(OP) != "-" if has_op else pl.lit(True)
    of_timing: Callable[[str], pl.Expr] = (
        (lambda timing: (added & (pl.col("timing") == timing)).sum())
        if has_timing
        else lambda timing: pl.lit(0)
    )
    rows = pl.lit(0) if has_timing else (added.sum() if has_op else pl.len())
    retracted = (~added).sum() if has_op else pl.lit(0)
    counts = [of_timing("EARLY"), of_timing("ON_TIME"), of_timing("LATE"), rows, retracted]
    return [count.cast(pl.Int64).alias(name) for count, name in zip(counts, _PANES, strict=True)]
