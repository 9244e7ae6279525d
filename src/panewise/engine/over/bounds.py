"""Frames as spans of positions: where the frame of each row that is sent begins, and where it ends (semantics 29.4, 29.5)."""

import numpy as np

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.over.sequences import Layout, Numbers
from panewise.spec import Frame


def bounds(layout: Layout, frame: Frame) -> tuple[Numbers, Numbers]:
    """Where the frames of the targets begin, and where they end (half-open); an empty one ends where it begins, or before.

    That of a frame without a start begins with the sequence.
    """
    at = layout.targets
    start = layout.start[layout.code[at]]
    if frame.kind == "rows":
        passed = layout.passed[layout.code[at]]
        low = start if frame.start is None else np.maximum(start, at + _within(frame.start, layout))
        return low, np.minimum(at + _within(frame.end, layout) + 1, passed)
    low = start if frame.start is None else _firsts(layout, frame.start)
    if frame.end == 0:
        return low, layout.peers_end[at]
    return low, _places(layout, frame.end, side="right")


def _within(bound: int, layout: Layout) -> int:
    """A number of rows that cannot overflow: beyond the longest sequence it does not matter how far."""
    longest = len(layout.code) + 1
    return max(-longest, min(longest, bound))


def _firsts(layout: Layout, offset: int) -> Numbers:
    """The first position in each target's sequence at or after the target's time by the offset; beyond 64 bits that after all rows."""
    first = _places(layout, offset, side="left")
    if offset <= 0:  # there are rows at the last instant, but none at the first one (semantics 6.3)
        return first
    beyond = layout.times[layout.targets] > MAX_INSTANT - offset
    return np.where(beyond, _places(layout, offset, side="right"), first) if beyond.any() else first


def _places(layout: Layout, offset: int, side: str) -> Numbers:
    """The first position in each target's sequence whose time is at or after (left), or after (right), the target's by the offset."""
    at, times = layout.targets, layout.times
    low, high = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    wanted = shifted(times[at], offset)
    span = high - low + 2
    if span * (len(layout.start) + 1) < MAX_INSTANT:
        ranks, wanted = times - low, np.clip(wanted, low - 1, high + 1) - low
    else:  # far apart: by their places among all times
        different = np.unique(times)
        ranks = np.searchsorted(different, times)
        span = len(different) + 1
        wanted = np.searchsorted(different, wanted, side="left" if side == "left" else "right") - (side == "right")
    # Keys stand one after the other, so with the key ahead all positions are sorted.
    keys = layout.code * (span + 1)
    return np.searchsorted(keys + ranks, keys[at] + wanted, side="left" if side == "left" else "right")


def shifted(times: Numbers, offset: int) -> Numbers:
    """Times moved, held inside 64 bits."""
    if offset < 0:
        return np.where(times < MIN_INSTANT - offset, MIN_INSTANT, times + offset)
    return np.where(times > MAX_INSTANT - offset, MAX_INSTANT, times + offset)
