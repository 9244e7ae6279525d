"""The order of many rows by several whole numbers."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.integer[Any]]
_BITS = 64


def order(columns: Sequence[Integers]) -> npt.NDArray[np.intp]:
    """Places of the rows by these columns, the first before all; equal rows as they stand.

    Where the columns' ranges leave room, a row's numbers and its place become one number of 64 bits: numpy sorts half a million of these
    in some 5 ms, and takes ten times as long for the places by one column after the other.
    """
    height = len(columns[0])
    packed = _packed(columns, height) if height else None
    if packed is None:
        return np.lexsort(tuple(reversed(columns)))
    places: npt.NDArray[np.intp] = (np.sort(packed) & np.uint64((1 << height.bit_length()) - 1)).astype(np.intp)
    return places


def _packed(columns: Sequence[Integers], height: int) -> npt.NDArray[np.uint64] | None:
    """Each row as one number, its place in the lowest bits; None if that takes more bits than there are."""
    least = [int(column.min()) for column in columns]
    widths = [(int(column.max()) - low).bit_length() for column, low in zip(columns, least, strict=True)]
    if sum(widths) + height.bit_length() > _BITS:
        return None
    packed = np.zeros(height, dtype=np.uint64)
    for column, low, width in zip(columns, least, widths, strict=True):
        kind = np.uint64 if column.dtype.kind == "u" else np.int64
        packed = (packed << np.uint64(width)) | (column.astype(kind) - kind(low)).astype(np.uint64)
    return (packed << np.uint64(height.bit_length())) | np.arange(height, dtype=np.uint64)
