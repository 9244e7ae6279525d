"""Writes the input: small Parquet files, out of order, with late, invalid and repeated rows.

The same seed gives the same rows.
"""

import os
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "ts": pl.Datetime("us", "UTC"),
    "k": pl.String,
    "v": pl.Int64,
    "x": pl.Float64,
    "id": pl.Int64,
    "part": pl.Int32,
    "off": pl.Int64,
}
DDL = "ts TIMESTAMP, k STRING, v BIGINT, x DOUBLE, id BIGINT, part INT, off BIGINT"
KEYS = "abcdefgh"
ROWS = 40
STEP = 25  # seconds of event time from one file to the next

Row = tuple[datetime | None, str | None, int, float, int, int, int]


def write_files(folder: Path, seed: int, cuts: Sequence[int]) -> Path:
    """Writes the files of a stream, which Spark reads in order of their modification times.

    Each cut is the number of pieces of the stream that its file contains.
    """
    folder.mkdir(parents=True)
    pieces = iter(_pieces(seed, sum(cuts)))
    for number, cut in enumerate(cuts):
        path = folder / f"{number:04}.parquet"
        together = [row for _ in range(cut) for row in next(pieces)]
        pl.DataFrame(together, schema=SCHEMA, orient="row").write_parquet(path)
        os.utime(path, (number + 1, number + 1))
    return folder


def _pieces(seed: int, count: int) -> list[list[Row]]:
    draw = random.Random(seed)
    seen: list[Row] = []
    pieces = []
    for number in range(count):
        fresh = [_row(draw, number, number * ROWS + place) for place in range(ROWS)]
        pieces.append([*fresh, *(draw.sample(seen, 3) if seen else [])])
        seen += fresh
    return pieces


def _row(draw: random.Random, number: int, id_: int) -> Row:
    chance = draw.random()
    behind = (
        draw.uniform(150, 600)
        if chance < 0.04
        else draw.uniform(30, 120)
        if chance < 0.12
        else draw.uniform(-STEP, 20)
    )
    # The id as microseconds: two rows never have the same time, so their order does not depend on file
    # splits.
    at = START + timedelta(seconds=round(number * STEP - behind) + 1_000, microseconds=id_)
    key = None if chance > 0.98 else draw.choice(KEYS)
    return (
        (None if 0.96 < chance < 0.98 else at),
        key,
        draw.randrange(1_000),
        draw.randrange(400) / 4,
        id_,
        id_ % 3,
        id_,
    )
