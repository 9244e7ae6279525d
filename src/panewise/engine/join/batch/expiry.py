"""The turn of a batch in which stored rows expire (semantics 36.7)."""

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, NUMBER
from panewise.engine.join.batch.join_batch import JoinBatch
from panewise.engine.kernels.instants import Instants


def expiry_turns(rows: pl.DataFrame, batch: JoinBatch, by: str) -> tuple[Instants, npt.NDArray[np.bool_]]:
    """Returns the turn in which each row expires, and whether it does so before the horizon moves.

    Only a row that arrives in the batch can do so, at its own turn. `by` is the side whose horizon decides.
    """
    before, after = batch.horizons.before[by], batch.horizons.after[by]
    own = rows[NUMBER].to_numpy() - batch.first_number
    ends = np.minimum(rows[END].to_numpy(), MAX_INSTANT - 1)  # a horizon at the last instant has passed all
    place = np.clip(own, 0, len(after) - 1)
    expired = (own >= 0) & (ends < before[place])
    return np.maximum(place, np.searchsorted(after, ends, side="right")), expired
