"""The pairs of rows with what each of them has found on the other side."""

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl

from panewise.engine.join.search.matching import Pairs
from panewise.engine.join.search.rows_of_keys import Found
from panewise.engine.kernels.frames import vstack_frames
from panewise.engine.kernels.sorting import Places
from panewise.spec.operators.join.columns import OTHER


def pairs_of(nothing: Mapping[str, pl.DataFrame], found: Iterable[tuple[str, pl.DataFrame, Found]]) -> Pairs:
    """Returns the pairs of rows of a side with what they have found, in no particular order.

    `nothing` has no rows of each side, with the columns that all rows of the side have. Each search in
    `found` has a side, the rows of this side that searched, and what they found on the other one.
    """
    rows: dict[str, list[pl.DataFrame]] = {side: [one] for side, one in nothing.items()}
    at: dict[str, list[Places]] = {side: [np.empty(0, dtype=np.intp)] for side in nothing}
    for mine, searching, one in found:
        for side, frame, places in ((mine, searching, one.which), (OTHER[mine], one.rows, one.at)):
            at[side].append(places + sum(before.height for before in rows[side]))
            rows[side].append(frame)
    both = {side: vstack_frames(frames).rechunk() for side, frames in rows.items()}
    return Pairs(both, {side: np.concatenate(places) for side, places in at.items()})
