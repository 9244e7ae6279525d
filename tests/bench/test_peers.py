"""Ours and the peers compute the same: their answers are those of a Polars aggregate of the same events."""

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bench import empty, native, ours, per_key, session
from bench.data import Events, write
from bench.limits import polars_panes
from bench.peers import PEERS
from bench.shapes import SHAPES, Counted, Sessions, Shape, output_mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


RUNNERS: tuple[Any, ...] = (ours, native, per_key)
RUNS = [(runner, shape) for shape in SHAPES.values() for runner in RUNNERS if runner is not native or PEERS["native"].can(shape)]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return write(tmp_path_factory.mktemp("events"), batch_rows=1100, batches=3, keys=20, rows_per_minute=1000)


@pytest.fixture(scope="module")
def beside(spark: "SparkSession") -> "SparkSession":
    return session.beside(spark)


def answers(panes: "DataFrame", mode: str, scratch: Path) -> pl.DataFrame:
    """The last pane of every window."""
    parts: list[pl.DataFrame] = []

    def keep(batch: "DataFrame", number: int) -> None:
        parts.append(pl.DataFrame(batch.toArrow()).with_columns(batch=pl.lit(number)))

    writer = panes.writeStream.foreachBatch(keep).outputMode(mode).option("checkpointLocation", str(scratch))
    writer.trigger(availableNow=True).start().awaitTermination()
    return pl.concat(parts).sort("batch").group_by("k", "start", "end").last().drop("batch")


def expected(events: Events, shape: Shape) -> pl.DataFrame:
    """All windows; of a shape whose windows are sent when complete, those that are by the watermark's last value."""
    frame = pl.read_parquet(events.directory)
    if isinstance(shape, Counted):
        return polars_panes(frame.lazy(), shape).collect()
    panes = polars_panes(frame.lazy(), shape).collect()
    last = frame["ts"].dt.truncate("1ms").max() - pl.duration(seconds=10)
    return panes.filter(pl.col("end") <= last) if shape.final else panes


def by_hand(events: Events, shape: Shape) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Row by row, to check the Polars queries."""
    if isinstance(shape, Counted):
        return counted_by_hand(events, shape)
    rows = pl.read_parquet(events.directory).with_columns(pl.col("ts").dt.epoch("us")).sort("k", "ts").rows()
    totals: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    values: dict[tuple[Any, ...], list[int]] = {}
    previous: tuple[int, int, int] | None = None
    for t, k, v in rows:
        if isinstance(shape, Sessions):
            joins = previous is not None and previous[0] == k and t < previous[2]
            windows = [(k, previous[1] if joins else t, t + shape.gap_us)]  # type: ignore[index]
            held = totals.pop(previous, (0, 0, v)) if joins else (0, 0, v)  # type: ignore[arg-type]
            previous = windows[0]
            totals[windows[0]] = (held[0] + 1, held[1] + v, max(held[2], v))
            continue
        for start in range(t - t % shape.hop_us, t - shape.size_us, -shape.hop_us):
            n, s, m = totals.get((k, start, start + shape.size_us), (0, 0, v))
            totals[k, start, start + shape.size_us] = (n + 1, s + v, max(m, v))
            values.setdefault((k, start, start + shape.size_us), []).append(v)
    if shape.measure == "median":
        return {window: (statistics.median(all_),) for window, all_ in values.items()}
    return {window: (tuple(sorted(all_)),) for window, all_ in values.items()} if shape.measure == "list" else totals


def counted_by_hand(events: Events, shape: Counted) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    of_keys: dict[int, list[int]] = {}
    for k, v in pl.read_parquet(events.directory).select("k", "v").rows():
        of_keys.setdefault(k, []).append(v)
    totals: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for k, values in of_keys.items():
        for start in range(0, len(values) - shape.rows + 1, shape.rows):
            mine = values[start : start + shape.rows]
            totals[k, start, start + shape.rows] = (len(mine), sum(mine), max(mine))
    return totals


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row that can be compared: the order of a list is nobody's."""
    return tuple(tuple(sorted(value)) if isinstance(value, list) else value for value in row)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_polars_computes_the_shape(events: Events, shape: Shape) -> None:
    panes = polars_panes(pl.scan_parquet(events.directory), shape).collect()
    micros = panes if isinstance(shape, Counted) else panes.with_columns(pl.col("start", "end").dt.epoch("us"))
    assert {row[:3]: plain(row[3:]) for row in micros.rows()} == by_hand(events, shape)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize(("runner", "shape"), RUNS, ids=[f"{runner.__name__.split('.')[-1]} {shape.name}" for runner, shape in RUNS])
def test_answers_agree_with_polars(beside: "SparkSession", events: Events, runner: Any, shape: Shape, tmp_path: Path) -> None:
    panes = runner.query(session.read(beside, events), shape).withColumnsRenamed({"window_start": "start", "window_end": "end"})
    found = answers(panes, "append" if runner is ours else output_mode(shape), tmp_path)
    wanted = expected(events, shape)
    assert wanted.height >= 20
    assert sorted(map(plain, found.select(wanted.columns).rows())) == sorted(map(plain, wanted.rows()))


@pytest.mark.spark
def test_the_empty_stages_read_every_row(beside: "SparkSession", events: Events, tmp_path: Path) -> None:
    seen: list[int] = []
    writer = empty.query(session.read(beside, events)).writeStream.option("checkpointLocation", str(tmp_path))
    writer = writer.foreachBatch(lambda batch, _: seen.extend(row["rows"] for row in batch.collect()))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert max(seen) == events.rows
