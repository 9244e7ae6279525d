"""The outputs of a step as frames for Spark: envelopes, or the real columns of a single kind of output."""

from collections.abc import Iterable, Iterator

import pandas as pd
import polars as pl

from panewise.spark.metrics import COLUMN
from panewise.spark.shuffle.envelope import encode, groups, pieces
from panewise.spark.workers.unpack import Unpack


def direct_frames(unpack: Unpack, table: pl.DataFrame | None, metrics: str | None) -> Iterator[pd.DataFrame]:
    """Yields one kind of output in real columns, in frames of bounded size.

    The first frame has the metrics. Without rows and metrics there is no frame.
    """
    if table is None and metrics is not None:
        yield unpack.frame(None, metrics)
    for piece in () if table is None else pieces(table):
        yield unpack.frame(piece, metrics)
        metrics = None


def envelope_frames(envelopes: Iterable[tuple[str, bytes]], metrics: str | None) -> Iterator[pd.DataFrame]:
    """Yields envelopes as frames for Spark.

    The first envelope has the metrics. Without envelopes and metrics there is no frame.
    """
    empty = True
    for rows in groups(envelopes):
        empty, numbers = False, [metrics, *[None] * (len(rows) - 1)]
        yield pd.DataFrame(
            [(*row, number) for row, number in zip(rows, numbers, strict=True)],
            columns=["kind", "payload", COLUMN],
        )
        metrics = None
    if empty and metrics is not None:
        yield pd.DataFrame([("metrics", b"", metrics)], columns=["kind", "payload", COLUMN])


def live_payload(windows: pl.DataFrame, shard: int) -> bytes:
    """Encodes the live windows with their shard as a payload.

    A row of nulls stands for no windows, so that the reader sees that the shard has none.
    """
    rows = (
        windows
        if windows.height
        else pl.DataFrame(schema=windows.schema, data=[[None] * windows.width], orient="row")
    )
    return encode(rows.with_columns(pl.lit(shard).alias("shard")))
