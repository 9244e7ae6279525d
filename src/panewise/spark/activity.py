"""What a step does to windows and keys, for a journal: a text of bounded size for each shard.

Without a journal nothing of this is computed. The observed metrics carry the text to the driver
(:mod:`panewise.spark.metrics`), where :mod:`panewise.observe.activity` merges those of all shards.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, INDEX, ROWS, START, TOMBSTONE
from panewise.observe.activity import COUNTS, EMITTED, OF_A_SHARD, Bounds, fitting_width
from panewise.spec import Global, Specification, closed_at_end, merging, parts
from panewise.spec.operators.panes import BOUNDS, OP

if TYPE_CHECKING:
    from panewise.engine.protocol import Operator
    from panewise.engine.tables.stored_table import StoredTable

SETTING: Final = "panewise.activity"  # of the session: the number of hot keys; without a journal it is empty
_LEAST, _MOST, _IN_ALL = 10, 200, 2000  # windows of a shard, and of all shards together
_KEY_LENGTH = 60
_AFTER_ALL, _NO_BOUND = (1 << 63) - 1, -1 << 63


class PortRows(Protocol):
    """The valid rows that a step receives at a port."""

    @property
    def rows(self) -> list[pl.DataFrame]:
        """Rows."""

    @property
    def partials(self) -> list[pl.DataFrame]:
        """Rows that were pre-aggregated."""


@dataclass(frozen=True)
class ActivitySettings:
    """How the activity of an operator is read from its panes and its state.

    Attributes:
        windows: the most windows that a shard reports in a micro-batch.
        keys: the most keys.
        family: the name of the operator's family.
        time: the column with the event time of emitted rows; None if they have none.
        by_row_number: whether the bounds of windows are row numbers.
        merging: whether windows merge, so that a deleted one is not live.
        unbounded: whether there is one window for all times.
        limited: whether windows may expire early (semantics 15.24), so that one key may lack a window that
            another key still has.
        past_end: how far the end of a window in the state is above the end that panes show.
    """

    windows: int
    keys: int
    family: str
    time: str | None
    by_row_number: bool = False
    merging: bool = False
    unbounded: bool = False
    limited: bool = False
    past_end: int = 0

    @classmethod
    def for_spec(cls, spec: Specification, keys: int, shards: int, columns: Iterable[str]) -> Self:
        """Returns the settings of a specification, given the columns of its panes."""
        own, window = parts(spec), parts(spec).drawn_windows(spec)
        time = own.output_time(spec)
        return cls(
            max(_LEAST, min(_MOST, _IN_ALL // shards)),
            keys,
            spec.family.name,
            time if isinstance(time, str) else None,
            by_row_number={*BOUNDS} <= {*columns} and BOUNDS[0] not in own.instants(spec),
            merging=merging(window),
            unbounded=isinstance(window, Global),
            limited=own.limits_windows(spec),
            past_end=int(window is not None and closed_at_end(window)),
        )


@dataclass
class StepActivity:
    """What a step does, as it does it.

    Attributes:
        settings: how the activity is read from panes and state.
        known: the runs that were stored before the step.
        before: the tables before the step, if windows may expire early in it.
    """

    settings: ActivitySettings
    known: frozenset[str] = frozenset()
    before: Mapping[str, "StoredTable"] = field(default_factory=dict)
    _panes: list[pl.DataFrame] = field(default_factory=list)
    _changed: list[pl.DataFrame] = field(default_factory=list)
    _stored: dict[Bounds, int] = field(default_factory=dict)
    _keys: pl.DataFrame | None = None
    _horizon: int | None = None
    _width: int = 0

    @classmethod
    def at_start(cls, settings: ActivitySettings, operator: "Operator") -> Self:
        """Returns the activity of a step that begins."""
        tables = operator.state.tables
        known = frozenset(run.name for table in tables.values() for run in table.runs)
        return cls(settings, known, tables if settings.limited else {})

    def add_rows(self, operator: "Operator", batches: Mapping[str, PortRows]) -> None:
        """Counts the valid rows of each key, if the hot keys are wanted."""
        if not self.settings.keys:
            return
        frames = []
        for name, port in operator.plan.ports.items():
            keys, batch = [*port.entry.keys], batches.get(name)
            if keys and batch is not None:
                frames += [_by_key(rows, keys, pl.len().cast(pl.Int64)) for rows in batch.rows]
                frames += [_by_key(rows, keys, pl.col(ROWS).sum()) for rows in batch.partials]
        if frames:
            # The sides of a join may have other names and types of the same keys.
            counts = pl.concat(frames, how="vertical_relaxed").group_by(pl.exclude("rows"))
            self._keys = counts.agg(pl.col("rows").sum()).top_k(self.settings.keys, by="rows")

    def add_panes(self, panes: pl.DataFrame) -> None:
        """Counts panes by window and timing, or emitted rows without windows by a stretch of event time."""
        if panes.height:
            self._panes.append(_counted(self._bounds(panes), panes))

    def _bounds(self, panes: pl.DataFrame) -> pl.DataFrame:
        if {*BOUNDS} <= {*panes.columns}:
            return panes.select(BOUNDS)
        time = self.settings.time
        if time not in panes.columns:
            nothing = pl.Series(BOUNDS[0], [None], dtype=pl.Int64).new_from_index(0, panes.height)
            return pl.DataFrame([nothing, nothing.alias(BOUNDS[1])])
        times = panes[time]
        times = times if times.dtype == pl.Int64 else times.dt.epoch("us")
        first, last = times.min(), times.max()
        if isinstance(first, int) and isinstance(last, int):
            self._width = max(self._width, fitting_width(first, last))
        start = times - times % max(1, self._width)
        return pl.DataFrame([start.alias(BOUNDS[0]), (start + self._width).alias(BOUNDS[1])])

    def add_state(self, operator: "Operator") -> None:
        """Counts the windows that the step has changed in the state, before it is committed."""
        tables = operator.state.tables.items() if {*BOUNDS} <= {*operator.plan.pane_schema} else ()
        windows = [name for name, table in tables if {START, END, INDEX} <= {*table.shape.schema}]
        if not windows:
            return
        name, clocks = windows[-1], operator.state.clocks
        horizon = MAX_INSTANT if clocks.finished else operator.horizons(clocks)[name]
        self._horizon = None if horizon is None else horizon - self.settings.past_end
        table = operator.state.tables[name]
        # What the step has changed is in no run yet, unless it is very much.
        runs = [run for run in table.runs if run.name not in self.known]
        frames = [table.newest, *(table.library.read(run, table.shape).frame for run in runs)]
        self._changed = [self._windows_of(frame) for frame in frames if frame.height]
        if self.settings.limited:
            self._stored = self._of_more_keys(self.before[name], table, frames)

    def _of_more_keys(
        self, before: "StoredTable", after: "StoredTable", changed: Iterable[pl.DataFrame]
    ) -> dict[Bounds, int]:
        """Returns, by bounds, for how many more keys than before the step a window is stored.

        Expired windows are left out.
        """
        identity = after.shape.identity
        windows = pl.concat([frame.select(identity) for frame in changed]).unique()
        counts = Counter[Bounds]()
        for table, step in ((after, 1), (before, -1)):
            for start, end in table.find(windows).select(START, END).rows():
                if after.horizon is None or end > after.horizon:
                    counts[start, end - self.settings.past_end] += step
        return {bounds: more for bounds, more in counts.items() if more}

    def _windows_of(self, stored: pl.DataFrame) -> pl.DataFrame:
        """Returns, by bounds, for how many keys the windows of stored rows were changed.

        If windows merge, it also returns for how many keys they were deleted.
        """
        counts = stored.group_by(START, END).agg(pl.len(), pl.col(TOMBSTONE).sum().alias("dead"))
        start, end = pl.col(START), pl.col(END) - self.settings.past_end
        if self.settings.unbounded:
            start, end = (pl.lit(None, dtype=pl.Int64) for _ in BOUNDS)
        else:
            # Numbers of rows of keys are in the same table, after all windows.
            counts = counts.filter(start < _AFTER_ALL)
        deleted = pl.col("dead") if self.settings.merging else pl.lit(0)
        return counts.select(
            start.alias(BOUNDS[0]),
            end.alias(BOUNDS[1]),
            (pl.col("len").cast(pl.Int64) - pl.col("dead").cast(pl.Int64)).alias("changed"),
            deleted.cast(pl.Int64).alias("deleted"),
        )

    def text(self, shard: int, figures: Mapping[str, Any]) -> str:
        """Returns the activity as JSON, with the figures of the shard."""
        windows, left_out, panes = self._windows()
        document: dict[str, Any] = {
            "family": self.settings.family,
            "counted": self.settings.by_row_number,
            "width": self._width,
            "windows": windows,
            "left_out": [left_out, panes] if left_out else [],
            "stored": [
                [start, end, self._stored[start, end]]
                for start, end, *_ in windows
                if (start, end) in self._stored
            ],
            "shards": [[shard, *(figures.get(name) for name in OF_A_SHARD)]],
            "most_keys": self.settings.keys,
            "keys": [] if self._keys is None else [_key_text(row) for row in self._keys.iter_rows()],
        }
        shown = {name: value for name, value in document.items() if value} | {"horizon": self._horizon}
        return json.dumps(shown, separators=(",", ":"))

    def _windows(self) -> tuple[list[list[int | None]], int, int]:
        """Returns the windows with most panes, and how many windows and panes are left out."""
        frames = [*self._panes, *self._changed]
        if not frames:
            return [], 0, 0
        if sum(frame.height for frame in frames) <= self.settings.windows:
            return _summed(frames), 0, 0
        present = {name for frame in frames for name in frame.columns}
        sums = pl.concat(frames, how="diagonal").group_by(BOUNDS).agg(pl.sum(*(present - {*BOUNDS})))
        missing = [pl.lit(0, dtype=pl.Int64).alias(name) for name in COUNTS if name not in present]
        ranked = sums.with_columns(missing).with_columns(pl.sum_horizontal(EMITTED).alias("panes"))
        first = ranked.top_k(self.settings.windows, by=["panes", "changed", BOUNDS[0]])
        left = ranked.height - first.height
        panes = int(ranked["panes"].sum()) - int(first["panes"].sum()) if left else 0
        rows: list[Any] = first.select(*BOUNDS, *COUNTS).rows()
        return [*map(list, rows)], left, panes


def _summed(frames: Iterable[pl.DataFrame]) -> list[list[int | None]]:
    """Returns the counts of few windows. This takes a tenth of the time that frames do."""
    sums: dict[Any, list[int]] = {}
    for frame in frames:
        places = [COUNTS.index(name) for name in frame.columns[2:]]
        for start, end, *counts in frame.iter_rows():
            known = sums.setdefault((start, end), [0] * len(COUNTS))
            for place, count in zip(places, counts, strict=True):
                known[place] += count
    return [[*bounds, *counts] for bounds, counts in sums.items()]


def _by_key(rows: pl.DataFrame, keys: list[str], count: pl.Expr) -> pl.DataFrame:
    """Returns the number of rows of each key. The columns of the key are numbered."""
    numbered = (pl.col(key).alias(f"{number}") for number, key in enumerate(keys))
    return rows.group_by(numbered).agg(count.alias("rows"))


def _key_text(row: tuple[Any, ...]) -> list[Any]:
    *key, rows = row
    text = ", ".join("null" if value is None else str(value) for value in key)
    return [text[:_KEY_LENGTH], rows]


def _counted(bounds: pl.DataFrame, panes: pl.DataFrame) -> pl.DataFrame:
    """Returns the counts of emitted rows by their bounds.

    Panes of a window follow one another. So a stretch of rows with equal bounds is added up as such, which
    takes a fifth of the time of grouping the rows. If there are many stretches, they are grouped.
    """
    import numpy as np  # noqa: PLC0415 - the processor on the driver imports this module, and counts nothing

    start, end = (bounds[name].fill_null(_NO_BOUND).to_numpy() for name in BOUNDS)
    changes = np.flatnonzero((start[1:] != start[:-1]) | (end[1:] != end[:-1])) + 1
    first = np.concatenate([[0], changes])
    counts = {
        name: np.add.reduceat(mask.to_numpy(), first, dtype=np.int64)
        for name, mask in panes.select(**_masks(panes.schema)).to_dict().items()
    }
    stretches = bounds[first].hstack(pl.DataFrame(counts))
    return stretches.group_by(BOUNDS).agg(pl.exclude(BOUNDS).sum()) if len(first) > _MOST else stretches


def _masks(schema: Mapping[str, pl.DataType]) -> dict[str, pl.Expr]:
    """Returns what is counted of emitted rows: panes by timing, rows without a timing, and retractions."""
    has_op, has_timing = schema.get(OP) == pl.String, schema.get("timing") == pl.String
    added = pl.col(OP) != "-" if has_op else pl.repeat(True, pl.len())
    timings = {"early": "EARLY", "on_time": "ON_TIME", "late": "LATE"}
    timed = {name: added & (pl.col("timing") == timing) for name, timing in timings.items()}
    return {**(timed if has_timing else {"rows": added}), **({"retracted": ~added} if has_op else {})}
