"""Windows of a join that fire, with their rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from panewise.engine.join.same_window.first_panes import Origins
from panewise.engine.join.same_window.rows import Members
from panewise.engine.kernels.small_frames import Mask
from panewise.engine.kernels.sorting import Places


@dataclass(frozen=True)
class Firings:
    """Windows that fire, and sessions that have merged away.

    Attributes:
        panes: the columns that emitted rows take from each window (:attr:`JoinOperator.window_columns`).
        last: whether the window can get no row after this.
        merged_away: whether the pane is only retracted, because its session has merged into another one.
        null_keys: whether a key of the window is null.
        members: the rows of the windows by side.
        groups: by side the group of each of these rows.
        merged_from: the first group of sessions that have merged; those below are of the window's last pane.
        accumulation: what a firing emits (semantics 37.13).
        retracted: the bounds and the timing that retractions of each window repeat (37.20).
        origins: the bounds and the timing of the first pane of each row, if rows differ in them.
    """

    panes: pl.DataFrame
    last: Mask
    merged_away: Mask
    null_keys: Mask
    members: Mapping[str, Members]
    groups: Mapping[str, Places]
    merged_from: int
    accumulation: str
    retracted: pl.DataFrame
    origins: Origins | None = None

    def chosen(self, first: int, after: int) -> "Firings":
        """Returns the firings of the windows from `first` until before `after`."""
        if after - first == self.panes.height:
            return self
        windows = slice(first, after)
        places = {
            side: slice(*np.searchsorted(rows.window, [first, after]).tolist())
            for side, rows in self.members.items()
        }
        return replace(
            self,
            panes=self.panes[windows],
            retracted=self.retracted[windows],
            origins=None if self.origins is None else self.origins.chosen(first, after),
            last=self.last[windows],
            merged_away=self.merged_away[windows],
            null_keys=self.null_keys[windows],
            members={side: rows.chosen(places[side], first) for side, rows in self.members.items()},
            groups={side: of_side[places[side]] for side, of_side in self.groups.items()},
        )
