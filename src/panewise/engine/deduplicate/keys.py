"""The keys of the rows of a step as numbers, in the order of their hashes.

Rows are sorted by hash once. So equal keys are side by side, and the same order looks them up in the table.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.engine.kernels.hashing import hash_order, row_hashes
from panewise.engine.kernels.small_frames import equal, take_rows
from panewise.engine.kernels.sorting import codes
from panewise.engine.tables.run import WantedRows


@dataclass(frozen=True)
class Keys:
    """The keys of rows.

    Attributes:
        code: the number of the key of each row.
        wanted: a look-up of each different key once. Its places are these numbers.
    """

    code: npt.NDArray[np.int64]
    wanted: WantedRows

    @classmethod
    def from_rows(cls, rows: pl.DataFrame, names: list[str]) -> "Keys":
        """Returns the keys of rows."""
        keys = rows.select(names)
        hashes = row_hashes(keys, names)
        places = hash_order(hashes)
        ordered = hashes[places]
        same = ordered[1:] == ordered[:-1]
        again = np.flatnonzero(same)
        begins = np.append(True, ~same)
        if not equal(keys, places[again], keys, places[again + 1], names).all():  # keys with one hash
            number = codes(keys, names)
            places = np.lexsort([number, hashes])
            ordered, number = hashes[places], number[places]
            begins = np.append(True, number[1:] != number[:-1])
        code = np.empty(rows.height, dtype=np.int64)
        code[places] = np.cumsum(begins) - 1
        firsts = places[begins]
        return cls(code, WantedRows(take_rows(keys, firsts), np.arange(len(firsts)), ordered[begins]))
