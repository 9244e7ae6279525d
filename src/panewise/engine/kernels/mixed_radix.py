"""Several columns of whole numbers as one column, and back.

Polars groups rows by one column of numbers in half the time that it needs for two columns.

Invariant: the code of a row has one digit for each column, its distance from the minimum, which is below the
base of that digit. So rows have equal codes if and only if all columns are equal, and the digits give the
columns back. Cost: a pass over each column for its range, one for its digit, and one to have it back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from panewise.engine.kernels.sorting import WHOLE

_LIMIT = 2**62  # codes, and the distances that they are made of, are below it
_HIGHEST = 2**63 - 1


@dataclass(frozen=True)
class MixedRadix:
    """A code for the rows of a frame: equal for two rows if and only if all columns are.

    The code is a number whose digits are the distances of the columns from their minimums. The base of a
    digit is the range of its column.
    """

    columns: tuple[str, ...]
    dtypes: tuple[pl.DataType, ...]
    lowest: tuple[int, ...]
    bases: tuple[int, ...]

    @classmethod
    def fitting(cls, frame: pl.DataFrame, columns: Sequence[str]) -> Self | None:
        """Returns the code of these columns.

        None if there is a single column, a column of another type or with nulls, or the code would not fit.
        """
        series = [frame[name] for name in columns]
        if len(series) < 2 or any(column.dtype not in WHOLE or column.has_nulls() for column in series):
            return None
        lowest, bases, size = list[int](), list[int](), 1
        for column in series:
            low, high = column.min(), column.max()
            assert isinstance(low, int), "an integer column without nulls has a minimum if it has rows"
            assert isinstance(high, int), "an integer column without nulls has a maximum if it has rows"
            lowest.append(low)
            bases.append(high - low + 1)
            size *= bases[-1]
            if size > _LIMIT or high > _HIGHEST:
                return None
        dtypes = tuple(column.dtype for column in series)
        return cls(tuple(columns), dtypes, tuple(lowest), tuple(bases))

    @property
    def code(self) -> pl.Expr:
        """The code of each row."""
        code = self._distance(0)
        for place in range(1, len(self.columns)):
            code = code * self.bases[place] + self._distance(place)
        return code

    def _distance(self, place: int) -> pl.Expr:
        return pl.col(self.columns[place]).cast(pl.Int64) - self.lowest[place]

    def digits(self, code: pl.Expr) -> Iterator[pl.Expr]:
        """Returns the columns of the rows that have these codes."""
        weight = 1
        for base in self.bases:
            weight *= base
        for name, dtype, low, base in zip(self.columns, self.dtypes, self.lowest, self.bases, strict=True):
            weight //= base
            yield (code // weight % base + low).cast(dtype).alias(name)
