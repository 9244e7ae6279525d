"""Which runs are merged, and when.

A step leaves one run of what it changed. Runs of similar length are merged when there are several, so every row is
rewritten a logarithmic number of times. A table that has grown long is kept in parts by hash, each with runs of its
own, and one step merges no more than a few times what it wrote: a merge that has to wait costs a few more look-ups.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from panewise.state import Run

FAN_IN = 4  # runs of similar length that are merged together
PART_ROWS = 1 << 16  # undivided runs of more rows together are cut into parts
_SIMILAR = 2  # one run is similar to others if it is at most so many times as long as the longest of them
_STEP_ROWS = 1 << 18  # rows that a step may merge anyway
_STEP_TIMES = 4  # and times its own rows


@dataclass(frozen=True)
class Merge:
    """Runs that become one, or one for each part if they are `cut`. They are neighbours in age, the oldest first."""

    runs: tuple[Run, ...]
    cut: bool
    bottom: bool  # nothing older has rows of the same hashes

    @property
    def rows(self) -> int:
        """Rows that are read."""
        return sum(run.rows for run in self.runs)


def next_merge(runs: Sequence[Run]) -> Merge | None:
    """The merge that is most wanted; `runs` are in order of age, the oldest first."""
    whole = [run for run in runs if run.part is None]
    parts = sorted({run.part for run in runs if run.part is not None})
    if len(whole) >= FAN_IN and sum(run.rows for run in whole) > PART_ROWS:
        return Merge(tuple(whole), cut=True, bottom=not parts)
    group = similar(whole)
    if len(group) >= FAN_IN:
        return Merge(group, cut=False, bottom=not parts and len(group) == len(whole))
    wanted = [mine for mine in ([run for run in runs if run.part == part] for part in parts) if len(similar(mine)) >= FAN_IN]
    if not wanted:
        return None
    most = max(wanted, key=len)
    group = similar(most)
    return Merge(group, cut=False, bottom=len(group) == len(most))


def similar(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The youngest runs, back to the first that is much longer than all after it."""
    longest, group = 0, 0
    for run in reversed(runs):
        if group and run.rows > _SIMILAR * longest:
            break
        longest, group = max(longest, run.rows), group + 1
    return tuple(runs[len(runs) - group :])


def allowance(written: int) -> int:
    """Rows that a step may merge, after it wrote so many itself. One merge is always allowed."""
    return max(_STEP_ROWS, _STEP_TIMES * written)
