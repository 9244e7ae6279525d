"""The two inputs of a join: folders of Parquet files of (ts, k, v), one file of each for each micro-batch.

Rows are up to two seconds out of order, which is less than the watermark delay. So no row is late.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from pyspark.sql import DataFrame, SparkSession

from bench import data, session
from bench.shapes import KEYS

Numbers = npt.NDArray[np.int64]
Batch = tuple[pl.DataFrame, pl.DataFrame]  # the rows of the left side and of the right side

_SECOND_US = 1_000_000
_FAR_US = 3_600 * _SECOND_US


@dataclass(frozen=True, slots=True)
class Sides:
    """The files of both sides.

    Attributes:
        folder: has a folder for each side.
        batch_rows: the rows of a micro-batch, half of them on each side.
        batches: the number of micro-batches, without the one that closes the input.
        closed: whether one more micro-batch has a row of each side, an hour ahead. It has no partner. After
            it no other row can get one, so all joins have emitted the same rows.
    """

    folder: Path
    batch_rows: int
    batches: int
    closed: bool = True

    @property
    def rows(self) -> int:
        """The number of rows in all files but the closing ones."""
        return self.batch_rows * self.batches

    def read(self, spark: SparkSession) -> tuple[DataFrame, DataFrame]:
        """Returns the left and the right side as streams."""
        left, right = (
            session.read(spark, data.Events(self.folder / side, self.batch_rows // 2, self.batches))
            for side in ("left", "right")
        )
        return left, right


def random(
    name: str, batch_rows: int, batches: int, partners: float, keys: int = KEYS, cache: Path = data.CACHE
) -> Sides:
    """Returns rows of random keys; a row has on average `partners` rows of its key in the second after it.

    The files are created if they do not exist. They are always the same.
    """
    sides = Sides(cache / f"{name}-{batches}x{batch_rows}", batch_rows, batches)

    def side(batch: int, number: int) -> pl.DataFrame:
        draw, half = np.random.default_rng((number, batch)), batch_rows // 2
        order = np.arange(batch * half, (batch + 1) * half)
        ts = order * _SECOND_US / (keys * partners)
        return frame(ts.astype(np.int64) + _disorder(draw, half), draw.integers(0, keys, half), draw)

    _write(sides, ((side(batch, 0), side(batch, 1)) for batch in range(batches)))
    return sides


def paired(name: str, batch_rows: int, batches: int, *, hot: bool, cache: Path = data.CACHE) -> Sides:
    """Returns pairs: each left row has one partner, which is PAIR_US later, and no other row is as near.

    So the number of pairs does not depend on the keys. These are random or, with `hot`, one key for every
    second pair.
    """
    sides = Sides(cache / f"{name}-{batches}x{batch_rows}", batch_rows, batches)
    half = batch_rows // 2
    draw = np.random.default_rng(0)
    order = np.arange(half * batches)
    keys = draw.integers(0, KEYS, len(order))
    keys = np.where(order % 2 == 0, 0, keys) if hot else keys
    ts = order * 2 * PAIR_US
    arrival = [np.argsort(ts + _disorder(draw, len(ts)), kind="stable") for _ in range(2)]
    cut = [[rows[batch * half : (batch + 1) * half] for rows in arrival] for batch in range(batches)]
    batch_frames = (
        (frame(ts[left], keys[left], draw), frame(ts[right] + PAIR_US, keys[right], draw))
        for left, right in cut
    )
    _write(sides, batch_frames)
    return sides


PAIR_US = 50  # as many rows a second as 10 thousand keys with a row of each side


def frame(ts: Numbers, keys: Numbers, draw: np.random.Generator) -> pl.DataFrame:
    """Returns rows with times that begin at the start of the data, and random values."""
    columns = {"ts": ts + data.START_US, "k": keys, "v": draw.integers(0, 1_000_000, len(ts))}
    return pl.DataFrame(columns).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))


def _disorder(draw: np.random.Generator, rows: int) -> Numbers:
    return draw.integers(0, data.DISORDER_US, rows)


def _write(sides: Sides, batches: Iterable[Batch]) -> None:
    data.make(sides.folder, lambda staging: write(staging, batches, closed=sides.closed))


def write(folder: Path, batches: Iterable[Batch], *, closed: bool) -> None:
    """Writes the files of both sides, in the order in which Spark is to read them."""
    number, last = 0, 0
    for number, both in enumerate(batches, start=1):
        _put(both, folder, number)
        last = max(last, *(int(side["ts"].to_physical().max()) for side in both))  # type: ignore[arg-type]
    if closed:
        ts = np.array([last - data.START_US + _FAR_US])
        draw = np.random.default_rng(0)
        _put((frame(ts, np.array([-1]), draw), frame(ts, np.array([-2]), draw)), folder, number + 1)


def _put(both: Batch, folder: Path, number: int) -> None:
    for name, side in zip(("left", "right"), both, strict=True):
        (folder / name).mkdir(exist_ok=True)
        data.put(side, folder / name, number)
