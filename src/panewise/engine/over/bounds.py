"""Frames as ranges of positions in :class:`~panewise.engine.over.sequences.Sequences` (semantics 29.4, 29.5).

Invariant: positions are sorted by key and time. So a bound of a ROWS frame is an addition, clipped to the
sequence of the key. A bound of a RANGE frame is one binary search, in one sorted array of numbers that
combine key and time. n positions and q frames cost n + q log n.
"""

import numpy as np

from panewise.chrono import MAX_INSTANT
from panewise.engine.kernels.instants import shifted_instants
from panewise.engine.over.jobs import end_of
from panewise.engine.over.sequences import Numbers, Sequences
from panewise.spec import Frame


def bounds(sequences: Sequences, frame: Frame) -> tuple[Numbers, Numbers]:
    """Returns the bounds of the frame of each target, as positions [begin, end).

    A frame whose end is at or before its begin is empty. A frame without a start begins at the start of the
    sequence.
    """
    at = sequences.targets
    start = sequences.start[sequences.code[at]]
    if frame.kind == "rows":
        passed = sequences.passed[sequences.code[at]]
        low = start if frame.start is None else np.maximum(start, at + _within(frame.start, sequences))
        return low, np.minimum(at + _within(end_of(frame), sequences) + 1, passed)
    low = start if frame.start is None else _firsts(sequences, frame.start)
    if frame.end == 0:
        return low, sequences.peers_end[at]
    return low, _positions(sequences, end_of(frame), side="right")


def ranges(sequences: Sequences, frame: Frame) -> list[tuple[Numbers, Numbers]]:
    """Returns the frame of each target as ranges of positions, in order: several if EXCLUDE leaves rows out.

    A range whose end is at or before its begin is empty. The excluded rows are one range, too: the row, or
    its peers, which are next to each other.
    """
    low, high = bounds(sequences, frame)
    at = sequences.targets
    if frame.exclude == "no others":
        return [(low, high)]
    if frame.exclude == "current row":
        begin, end = at, at + 1
    else:
        begin, end = sequences.peers_begin[at], sequences.peers_end[at]
    before, after = (low, np.minimum(high, begin)), (np.maximum(low, end), high)
    itself = (np.maximum(low, at), np.minimum(high, at + 1))
    return [before, itself, after] if frame.exclude == "ties" else [before, after]


def _within(bound: int, sequences: Sequences) -> int:
    """Returns a bound in rows, clipped to the number of positions, so that sums with it cannot overflow."""
    longest = len(sequences.code) + 1
    return max(-longest, min(longest, bound))


def _firsts(sequences: Sequences, offset: int) -> Numbers:
    """Returns, for each target, the first position in its sequence at or after its time plus the offset.

    If this sum exceeds 64 bits, the position is the one after all rows of the sequence.
    """
    first = _positions(sequences, offset, side="left")
    # A sum below the range of 64 bits saturates at the first instant, at which there is no row (semantics
    # 6.3). So it finds the first row, which is right. A sum above the range would find rows at the last
    # instant, which is wrong.
    if offset <= 0:
        return first
    beyond = sequences.times[sequences.targets] > MAX_INSTANT - offset
    return np.where(beyond, _positions(sequences, offset, side="right"), first) if beyond.any() else first


def _positions(sequences: Sequences, offset: int, side: str) -> Numbers:
    """Returns, for each target, the position in its sequence of its time plus the offset.

    With `side="left"` that is the first position with a time at or after the sum, with `side="right"` the
    first with a later time. The sum saturates at the ends of 64 bits.
    """
    at, times = sequences.targets, sequences.times
    low, high = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    wanted = shifted_instants(times[at], offset)
    width = high - low + 2
    if width * (len(sequences.start) + 1) < MAX_INSTANT:
        ranks, wanted = times - low, np.clip(wanted, low - 1, high + 1) - low
    else:  # key and time do not fit in 64 bits together: use the places of times among all times
        different = np.unique(times)
        ranks = np.searchsorted(different, times)
        width = len(different) + 1
        wanted = np.searchsorted(different, wanted, side="left" if side == "left" else "right") - (
            side == "right"
        )
    # The numbers of a key lie in a range of width + 1, so searches do not leave the sequence of the key.
    keys = sequences.code * (width + 1)
    return np.searchsorted(keys + ranks, keys[at] + wanted, side="left" if side == "left" else "right")
