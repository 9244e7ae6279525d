"""The deduplication: emits one row of each group (semantics 45).

A step looks up the stored groups of the keys of its rows once, and finds the group of each row in whole
columns (:mod:`panewise.engine.deduplicate.grouping`). If the row that opens a group is always its chosen row,
a group is stored as its keys and its anchor. Otherwise the chosen row is stored with it. A step costs as much
as its rows and the stored groups of their keys.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import ARRIVAL_NUMBER, END, START, STORED_TIME, TIME
from panewise.engine.deduplicate.grouping import Anchors, opening, reach
from panewise.engine.deduplicate.keys import Keys
from panewise.engine.deduplicate.plan import DeduplicatePlan, group_horizon, taken_until
from panewise.engine.deduplicate.state import DeduplicateState
from panewise.engine.ingest.output import Output
from panewise.engine.ingest.row_engine import RowEngine
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import ordered, output_key, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import sealed_if_long
from panewise.spec import DeduplicateOperator
from panewise.spec.operators.panes import OP


class DeduplicateEngine(RowEngine[DeduplicatePlan, DeduplicateState]):
    """A deduplication on Polars frames."""

    spec: DeduplicateOperator

    def __init__(self, spec: DeduplicateOperator, schema: Mapping[str, pl.DataType]) -> None:
        plan = DeduplicatePlan(spec, schema)
        super().__init__(spec, plan, DeduplicateState.empty(plan))

    def horizons(self, clocks: Clocks) -> dict[str, int | None]:
        """Returns the horizon of each table at these clocks, None if it has none (semantics 45.13)."""
        known = {"groups": group_horizon(self.spec, clocks), "waiting": taken_until(clocks)}
        return {name: known[name] for name in self.state.tables}

    def output_watermark(self) -> int | None:
        """Returns the earliest event time of the rows that are emitted later, None if it is not known yet."""
        clocks, us = self.state.clocks, self.spec.within_us
        if clocks.finished:
            return MAX_INSTANT
        if self.spec.event_time is None or clocks.watermark is None:
            return None
        if self.spec.emit != "complete" or self.spec.keeps_what_it_takes_first:
            return clocks.watermark
        return None if us is None else max(MIN_INSTANT, clocks.watermark - us)

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which a row is due; None if none is."""
        groups, waiting = self.state.groups, self.state.waiting
        if self.spec.event_time is None or self.state.clocks.finished:
            return None
        due = []
        if waiting is not None:
            first = waiting.next_end(waiting.horizon)
            due.append(None if first is None else first + 1)
        if self._emits_groups and self.spec.within_us is not None:
            due.append(groups.next_end(groups.horizon))
        return min((at for at in due if at is not None and at <= MAX_INSTANT), default=None)

    def live(self) -> pl.DataFrame:
        """Returns the rows that wait, each as the window [t, t + 1), and the stored groups (semantics 45.14).

        The columns are the keys, window_start, window_end, pending and closed.
        """
        pending, row = int(self._emits_groups), pl.lit(1, dtype=pl.Int64)
        end = pl.col(END) if self.spec.within_us is not None else pl.lit(None, dtype=pl.Int64)
        groups = self.state.groups.all().select(*self.plan.keys, START, end.alias(END), pending=row * pending)
        rows = [groups]
        if self.state.waiting is not None:
            waiting = self.state.waiting.all()
            until = shifted(pl.col(END), 1).alias(END)
            rows.append(waiting.select(*self.plan.keys, pl.col(END).alias(START), until, pending=row))
        keys = [output_key(name, self.plan.schema[name]).alias(name) for name in self.plan.spec.keys]
        timed = self.spec.event_time is not None
        start = pl.col(START) if timed else pl.lit(None, dtype=pl.Int64)
        columns = {"window_start": start, "window_end": pl.col(END)}
        output = pl.concat(rows).select(
            *keys, *(value.alias(name) for name, value in columns.items()), "pending", closed=pl.lit(False)
        )
        return output.sort(["window_end", "window_start", *self.spec.keys, "pending"], nulls_last=False)

    @property
    def _emits_groups(self) -> bool:
        return self.spec.emit == "complete" and not self.spec.keeps_what_it_takes_first

    def _arrived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Numbers rows. Takes them at once, or stores them until the watermark has passed them."""
        if rows.is_empty():
            return self._nothing.panes
        if self.plan.stores_rows:
            first = self.state.arrived
            number = pl.int_range(first, first + rows.height, dtype=pl.Int64).alias(ARRIVAL_NUMBER)
            rows, self.state = rows.with_columns(number), replace(self.state, arrived=first + rows.height)
        if self.state.waiting is None:
            return self._taken(rows)
        waiting = self.state.waiting.put(rows.with_columns(pl.col(TIME).alias(END)))
        self.state, self.changed = replace(self.state, waiting=sealed_if_long(waiting)), True
        return self._nothing.panes

    def _tick(self, clocks: Clocks) -> Output:
        """Moves the clocks, takes the rows that are due, and emits the groups that are complete."""
        before, now = self.horizons(self.state.clocks), self.horizons(clocks)
        waiting, panes = self.state.waiting, self._nothing.panes
        self.state = replace(self.state, clocks=clocks)
        if waiting is not None and now["waiting"] is not None and now["waiting"] != before["waiting"]:
            due = waiting.between(before["waiting"], now["waiting"])
            self.state = replace(self.state, waiting=waiting.expired(now["waiting"]))
            if due.height:
                panes = self._taken(due.with_columns(pl.col(END).alias(TIME)))
        if self._emits_groups and now["groups"] != before["groups"]:
            panes = self._complete(now["groups"])
        self.state = replace(self.state, groups=self.state.groups.expired(now["groups"]))
        return replace(self._nothing, panes=panes)

    def _complete(self, until: int | None) -> pl.DataFrame:
        """Returns the chosen rows of the groups that are complete, in the order of semantics 45.10."""
        if until is None:
            return self._nothing.panes
        rows = self.state.groups.select(pl.col(END) <= until, lambda run: run.low <= until)
        by = [ARRIVAL_NUMBER] if self.spec.event_time is None else [STORED_TIME, ARRIVAL_NUMBER]
        return ordered(rows, by).select(*self.plan.pane_schema)

    def _taken(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Lets rows, in the order of taking, join or open groups. Returns the emitted rows."""
        keys = Keys.from_rows(rows, self.plan.keys)
        stored, others = self._stored(keys)
        times, anchors = rows[TIME].to_numpy(), stored[START].to_numpy()
        by_none = np.full(len(others), -1)  # no row of this step has opened the stored groups
        opened = opening(keys.code, times, Anchors.in_order(others, anchors, by_none), self.spec.within_us)
        new_groups = self._opened(take_rows(rows, opened))
        if not self.plan.stores_rows:
            self._put(new_groups)
            return take_rows(rows, opened).select(*self.plan.pane_schema)
        known = Anchors.in_order(
            np.concatenate([others, keys.code[opened]]),
            np.concatenate([anchors, times[opened]]),
            np.concatenate([by_none, opened]),
        )
        group = known.groups_of_rows(keys.code, *reach(times, self.spec.within_us))
        return self._chosen(rows, stored, new_groups, group)

    def _stored(self, keys: Keys) -> tuple[pl.DataFrame, Places]:
        """Returns the stored groups of keys, and the number of the key of each."""
        known = self.state.groups.of_wanted(keys.wanted)
        # Without stored rows no group is ever replaced, so each has one row in the table.
        if not self.plan.stores_rows or not known.rows.height:
            return known.rows, known.which
        places = np.lexsort([np.arange(known.rows.height), known.rows[START].to_numpy(), known.which])
        which, start = known.which[places], known.rows[START].to_numpy()[places]
        # Among the rows of one group, the newest comes first: rows are found from the newest to the oldest.
        newest = places[np.append(True, (which[1:] != which[:-1]) | (start[1:] != start[:-1]))]
        return take_rows(known.rows, newest), known.which[newest]

    def _opened(self, rows: pl.DataFrame) -> pl.DataFrame:
        us, time = self.spec.within_us, pl.col(TIME)
        end = pl.lit(MAX_INSTANT, dtype=pl.Int64) if us is None else shifted(time, us)
        bounds = time.alias(START), time.alias(STORED_TIME), end.alias(END)
        return rows.with_columns(bounds).select(*self.plan.groups.schema)

    def _chosen(
        self, rows: pl.DataFrame, stored: pl.DataFrame, new_groups: pl.DataFrame, group: Places
    ) -> pl.DataFrame:
        """Stores the chosen rows that have changed. With `retracting` they are returned, with retractions.

        `group` is the group of each row, as its place among the `stored` groups and then those `new_groups`.
        """
        times = rows[TIME].to_numpy()
        both = vstack_frames([stored, new_groups])
        candidates = np.concatenate([np.arange(stored.height), group])
        time = np.concatenate([stored[STORED_TIME].to_numpy(), times])
        number = np.concatenate([stored[ARRIVAL_NUMBER].to_numpy(), rows[ARRIVAL_NUMBER].to_numpy()])
        chosen = self._best(candidates, time, number)
        # Candidates before `stored.height` are chosen rows that are stored, the others rows of this step.
        changed = np.flatnonzero(chosen >= stored.height)
        changed = changed[np.argsort(number[chosen[changed]])]
        new = take_rows(rows, chosen[changed] - stored.height)
        bounds = take_rows(both.select(START, END), changed)
        put = new.with_columns(pl.col(TIME).alias(STORED_TIME)).select(
            *self.plan.payload, STORED_TIME, ARRIVAL_NUMBER
        )
        self._put(put.hstack(bounds).select(*self.plan.groups.schema))
        if self.spec.emit != "retracting":
            return self._nothing.panes
        replaced = np.flatnonzero(changed < stored.height)
        old = take_rows(stored, changed[replaced]).select(*self.plan.payload, pl.lit("-").alias(OP))
        emitted = vstack_frames([old, new.select(*self.plan.payload, pl.lit("+").alias(OP))])
        # Each retraction comes directly before the new row of its group.
        places = np.concatenate([replaced * 2, np.arange(len(changed)) * 2 + 1])
        return take_rows(emitted, np.argsort(places))

    def _best(self, group: Places, time: Places, number: Places) -> Places:
        """Returns for each group the place of the chosen row, among stored chosen rows and new rows."""
        by = [time, number] if self.spec.by == "event_time" else [number]
        places = np.lexsort([*reversed(by), group])
        code = group[places]
        edge = code[1:] != code[:-1]
        at = np.append(True, edge) if self.spec.keep == "first" else np.append(edge, True)
        best: Places = places[at]
        return best

    def _put(self, groups: pl.DataFrame) -> None:
        if groups.is_empty():
            return
        self.state = replace(self.state, groups=sealed_if_long(self.state.groups.changed(groups)))
        self.changed = True
