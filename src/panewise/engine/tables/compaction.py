"""The choice of runs to merge, and of the step that merges them.

A step writes one run with the rows that it changed. When the youngest runs are `FAN_IN` or more of similar
length, they are merged into one. So the number of runs, and how often a row is rewritten, grow with the
logarithm of the number of rows. A long table is divided into parts by hash. Each part has runs of its own, so
no merge reads the whole table.

The number of rows that one step merges is bounded (:func:`allowance`). A merge that is put off costs a few
more look-ups. Invariant: merged runs are neighbours in age, so newer rows still hide older ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from panewise.state import Run

FAN_IN = 4  # the least number of runs of similar length that are merged
PART_ROWS = 1 << 16  # undivided runs that have more rows together are divided into parts
_SIMILAR = 2  # a run is similar to younger ones if it is at most twice as long as the longest of them
_STEP_ROWS = 1 << 18  # rows that any step may merge
_STEP_TIMES = 4  # a step may also merge 4 times the rows that it wrote, if that is more


@dataclass(frozen=True)
class Merge:
    """Runs to merge into one run or, if `cut` is set, into one run for each part.

    The runs are neighbours in age, the oldest first.
    """

    runs: tuple[Run, ...]
    cut: bool
    bottom: bool  # no older run has rows with the same hashes

    @property
    def rows(self) -> int:
        """The number of rows that the merge reads."""
        return sum(run.rows for run in self.runs)


def next_merge(runs: Sequence[Run]) -> Merge | None:
    """Returns the most urgent merge, None if none is due. The runs are in order of age, the oldest first.

    Undivided runs come first, as every look-up reads them. Then the part with the most runs is merged.
    """
    whole = [run for run in runs if run.part is None]
    parts = sorted({run.part for run in runs if run.part is not None})
    if len(whole) >= FAN_IN and sum(run.rows for run in whole) > PART_ROWS:
        return Merge(tuple(whole), cut=True, bottom=not parts)
    group = similar(whole)
    if len(group) >= FAN_IN:
        return Merge(group, cut=False, bottom=not parts and len(group) == len(whole))
    wanted = [
        of_part
        for of_part in ([run for run in runs if run.part == part] for part in parts)
        if len(similar(of_part)) >= FAN_IN
    ]
    if not wanted:
        return None
    most = max(wanted, key=len)
    group = similar(most)
    return Merge(group, cut=False, bottom=len(group) == len(most))


def similar(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Returns the youngest runs, up to but excluding the first that is much longer than all younger ones."""
    longest, group = 0, 0
    for run in reversed(runs):
        if group and run.rows > _SIMILAR * longest:
            break
        longest, group = max(longest, run.rows), group + 1
    return tuple(runs[len(runs) - group :])


def allowance(written: int) -> int:
    """Returns how many rows a step may merge, given how many it wrote. Its first merge is always allowed."""
    return max(_STEP_ROWS, _STEP_TIMES * written)
