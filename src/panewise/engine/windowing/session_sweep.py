"""Sweeps the windows of rows and the stored sessions of a key in the order of their starts (semantics 9).

Invariant: a session ends where the next start lies at or beyond every end so far; if windows that touch are
merged, strictly beyond. The result does not depend on the order in which rows arrived. n rows and stored
sessions cost one sort, n log n.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.columns import END, SESSION, START
from panewise.engine.kernels.small_frames import Mask, filter_rows, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Integers, Line, Places, codes, order


@dataclass(frozen=True)
class Swept:
    """The result of a sweep.

    Attributes:
        sessions: the merged sessions that contain rows: keys, number and bounds.
        of_live: the number of the merged session that contains each stored session.
        of_rows: the number of the merged session that contains each row.
    """

    sessions: pl.DataFrame
    of_live: pl.Series
    of_rows: pl.Series


def swept(keys: list[str], rows: pl.DataFrame, stored: pl.DataFrame, *, touching: bool) -> Swept:
    """Returns the sessions into which rows and stored sessions merge, key by key.

    `touching` says whether windows merge if one ends where the other starts.
    """
    bounded = [*keys, START, END]
    points = vstack_frames([stored[bounded], rows[bounded]]).rechunk()
    begin, end = points[START].to_numpy(), points[END].to_numpy()
    places, fresh = _stretches(codes(points, keys), begin, end, touching=touching)
    number = np.empty(len(places), dtype=np.uint32)
    number[places] = np.cumsum(fresh)
    firsts = np.flatnonzero(fresh)
    grown = np.logical_or.reduceat(places >= stored.height, firsts) if len(firsts) else fresh
    bounds = {
        START: begin[places[firsts]],
        END: np.maximum.reduceat(end[places], firsts) if len(firsts) else end,
    }
    named = take_rows(points[keys], places[firsts])
    columns = {SESSION: np.arange(1, named.height + 1, dtype=np.uint32), **bounds}
    sessions = named.hstack([pl.Series(name, column) for name, column in columns.items()])
    return Swept(
        filter_rows(sessions, pl.Series(grown)),
        pl.Series(SESSION, number[: stored.height]),
        pl.Series(SESSION, number[stored.height :]),
    )


def _stretches(code: Integers, begin: Integers, end: Integers, *, touching: bool) -> tuple[Places, Mask]:
    """Returns the places of the intervals, sorted by code and begin, and which of these begin a stretch.

    A stretch begins at or after every earlier end of its code; with `touching` after every earlier end.
    """
    # Numbers of a later code are greater than all numbers of earlier codes. So one running maximum of the
    # ends serves all codes.
    line = Line.spanning(code, begin, end)
    begins = line.points(code, begin)
    places = order([begins])
    reached = np.maximum.accumulate(line.points(code, end)[places])
    fresh = np.append(True, begins[places[1:]] >= reached[:-1] + (1 if touching else 0))
    return places, fresh[: len(places)]
