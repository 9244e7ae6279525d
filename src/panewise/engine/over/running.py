"""Frames without a start, computed from stored partials (semantics 29.9).

For each key the table `running` stores the partials of the rows that the frames of all later rows contain.
Invariant: these are the first rows of the key, up to the number :attr:`Sequences.covered`. So the frame of a
row consists of the stored partial and of the rows after those that it covers: a range of pieces. A step costs
as much as the rows that it reads, whatever the length of the frames.
"""

import numpy as np
import polars as pl

from panewise.engine.kernels.small_frames import take_rows, vstack_frames
from panewise.engine.over.bounds import ranges
from panewise.engine.over.jobs import Job
from panewise.engine.over.range_partials import over_frames, results
from panewise.engine.over.sequences import Flags, Numbers, Sequences


class Running:
    """The pieces of the frames without a start, key by key.

    The pieces of a key are its stored partial, if there is one, and then the rows that the partial does not
    cover.
    """

    def __init__(self, sequences: Sequences) -> None:
        self._sequences = sequences
        covered = sequences.covered_before
        self._remembered: Flags = covered > 0
        self._own: Flags = sequences.number >= np.repeat(covered, sequences.total)
        self._rows_before = np.append(0, np.cumsum(self._own))
        self._remembered_until = np.cumsum(self._remembered)
        self._keys: Numbers = np.arange(len(sequences.start))
        self._begin: Numbers = self._piece(sequences.start, self._keys) - self._remembered

    def results(self, job: Job) -> tuple[list[pl.Series], list[pl.Series]]:
        """Returns the aggregates of the targets, and the partials to store for each key."""
        sequences, pieces, from_end = self._sequences, self._pieces(job), self._sequences.plan.from_end
        columns = results(job, pieces, self._ranges(job), from_end=from_end)
        end = sequences.passed - (sequences.count - sequences.covered)
        rows = [(self._begin, self._piece(end, self._keys))]
        partials = over_frames(job.aggregation, pieces, rows, from_end=from_end)
        stored = [values.alias(job.stored(values.name)) for values in partials.get_columns()]
        return columns.get_columns(), stored

    def _ranges(self, job: Job) -> list[tuple[Numbers, Numbers]]:
        """Returns the frames of the targets as ranges of pieces, the first with the stored partial."""
        code = self._sequences.code[self._sequences.targets]
        first = self._sequences.start[code]
        bounds = [
            (self._piece(np.maximum(low, first), code), self._piece(np.maximum(high, first), code))
            for low, high in ranges(self._sequences, job.frame)
        ]
        return [(self._begin[code], bounds[0][1]), *bounds[1:]]

    def _piece(self, position: Numbers, code: Numbers) -> Numbers:
        """Returns the number of the piece of the row at each position. `code` is the key of the position.

        For a row that the stored partial covers, it is the number of the first piece after the partial.
        """
        return self._rows_before[position] + self._remembered_until[code]

    def _pieces(self, job: Job) -> pl.DataFrame:
        """Returns the partials of all pieces, in order: of each key the stored partial, and then its rows."""
        rows = job.aggregation.singles(self._sequences.values)
        if not self._remembered.any():
            return rows if self._own.all() else rows.filter(pl.Series(self._own))
        known = self._sequences.running.select(
            pl.col(job.stored(partial.name)).alias(partial.name) for partial in job.aggregation.partials
        )
        keys, positions = np.flatnonzero(self._remembered), np.flatnonzero(self._own)
        order = np.empty(len(keys) + len(positions), dtype=np.int64)
        order[self._piece(positions, self._sequences.code[positions])] = positions
        order[self._begin[keys]] = rows.height + keys
        return take_rows(vstack_frames([rows, known]), order)
