"""panewise and the peers give the same results as a Polars aggregation of the same events."""

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bench import empty, native, ours, per_key, session
from bench.data import Events, write
from bench.limits import polars_panes
from bench.peers import PEERS
from bench.shapes import SHAPES, Counted, Framed, Sessions, Slides, Windows, output_mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


WINDOWS = {name: shape for name, shape in SHAPES.items() if not isinstance(shape, Framed)}
ROWS = {name: shape for name, shape in SHAPES.items() if isinstance(shape, Framed)}
RUNNERS: tuple[Any, ...] = (ours, native, per_key)
RUNS = [
    (runner, shape)
    for shape in WINDOWS.values()
    for runner in RUNNERS
    if runner is not native or PEERS["native"].can(shape)
]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return write(tmp_path_factory.mktemp("events"), batch_rows=1100, batches=3, keys=20, rows_per_minute=1000)


@pytest.fixture(scope="module")
def beside(spark: "SparkSession") -> "SparkSession":
    return session.beside(spark)


def answers(panes: "DataFrame", mode: str, scratch: Path) -> pl.DataFrame:
    """Returns the last pane of every window."""
    parts: list[pl.DataFrame] = []

    def keep(batch: "DataFrame", number: int) -> None:
        parts.append(pl.DataFrame(batch.toArrow()).with_columns(batch=pl.lit(number)))

    writer = panes.writeStream.foreachBatch(keep).outputMode(mode).option("checkpointLocation", str(scratch))
    writer.trigger(availableNow=True).start().awaitTermination()
    return pl.concat(parts).sort("batch").group_by("k", "start", "end").last().drop("batch")


def expected(events: Events, shape: Windows | Sessions | Counted | Slides) -> pl.DataFrame:
    """Returns all windows, or for a final shape those that are complete at the last watermark."""
    frame = pl.read_parquet(events.directory)
    if isinstance(shape, Counted):
        return polars_panes(frame.lazy(), shape).collect()
    panes = polars_panes(frame.lazy(), shape).collect()
    last = frame["ts"].dt.truncate("1ms").max() - pl.duration(seconds=10)
    complete = pl.col("end") < last if isinstance(shape, Slides) else pl.col("end") <= last
    return panes.filter(complete) if shape.final else panes


def by_hand(
    events: Events, shape: Windows | Sessions | Counted | Slides
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Returns the windows, computed row by row, to check the Polars queries."""
    if isinstance(shape, Counted):
        return counted_by_hand(events, shape)
    if isinstance(shape, Slides):
        return slid_by_hand(events, shape)
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
    return (
        {window: (tuple(sorted(all_)),) for window, all_ in values.items()}
        if shape.measure == "list"
        else totals
    )


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


def slid_by_hand(events: Events, shape: Slides) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    rows = (
        pl.read_parquet(events.directory)
        .select(pl.col("k") % shape.keys, pl.col("ts").dt.epoch("us"), "v")
        .rows()
    )
    totals: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for key, end in {(k, t) for k, t, _ in rows}:
        mine = [v for k, t, v in rows if k == key and end - shape.size_us <= t <= end]
        totals[key, end - shape.size_us, end] = (len(mine), sum(mine), max(mine))
    return totals


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns a row that can be compared: its lists are sorted, because their order is not defined."""
    return tuple(tuple(sorted(value)) if isinstance(value, list) else value for value in row)


@pytest.mark.parametrize("shape", WINDOWS.values(), ids=WINDOWS)
def test_polars_computes_the_shape(events: Events, shape: Windows | Sessions | Counted | Slides) -> None:
    panes = polars_panes(pl.scan_parquet(events.directory), shape).collect()
    micros = (
        panes if isinstance(shape, Counted) else panes.with_columns(pl.col("start", "end").dt.epoch("us"))
    )
    assert {row[:3]: plain(row[3:]) for row in micros.rows()} == by_hand(events, shape)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize(
    ("runner", "shape"),
    RUNS,
    ids=[f"{runner.__name__.split('.')[-1]} {shape.name}" for runner, shape in RUNS],
)
def test_answers_agree_with_polars(
    beside: "SparkSession", events: Events, runner: Any, shape: Windows | Sessions | Counted, tmp_path: Path
) -> None:
    panes = runner.query(session.read(beside, events), shape).withColumnsRenamed(
        {"window_start": "start", "window_end": "end"}
    )
    found = answers(panes, "append" if runner is ours else output_mode(shape), tmp_path)
    wanted = expected(events, shape)
    assert wanted.height >= 20
    assert sorted(map(plain, found.select(wanted.columns).rows())) == sorted(map(plain, wanted.rows()))


@pytest.mark.nightly
@pytest.mark.spark
def test_the_empty_stages_read_every_row(beside: "SparkSession", events: Events, tmp_path: Path) -> None:
    seen: list[int] = []
    writer = empty.query(session.read(beside, events)).writeStream.option("checkpointLocation", str(tmp_path))
    writer = writer.foreachBatch(lambda batch, _: seen.extend(row["rows"] for row in batch.collect()))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert max(seen) == events.rows


def rows_by_hand(events: Events, *, in_batches: bool) -> list[tuple[Any, ...]]:
    """Returns every row with its sum; the order of rows is time, within each batch or over all batches."""
    files = [
        pl.read_parquet(path).sort("ts", maintain_order=True)
        for path in sorted(events.directory.glob("*.parquet"))
    ]
    rows = (
        (pl.concat(files) if in_batches else pl.concat(files).sort("ts", maintain_order=True))
        .select("ts", "k", "v")
        .rows()
    )
    seen: dict[int, list[int]] = {}
    told = []
    for ts, k, v in rows:
        seen.setdefault(k, []).append(v)
        told.append((ts, k, v, sum(seen[k][-3:])))
    return sorted(told)


def test_polars_computes_the_rows(events: Events) -> None:
    found = polars_panes(pl.scan_parquet(events.directory), ROWS["over_time"]).collect()
    assert sorted(found.select("ts", "k", "v", "s").rows()) == rows_by_hand(events, in_batches=False)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("runner", [ours, per_key], ids=["ours", "per_key"])
def test_rows_agree(beside: "SparkSession", events: Events, runner: Any, tmp_path: Path) -> None:
    assert sorted(sent(runner.query(session.read(beside, events), ROWS["over"]), tmp_path)) == rows_by_hand(
        events, in_batches=True
    )


@pytest.mark.nightly
def test_rows_in_the_order_of_time_agree(beside: "SparkSession", events: Events, tmp_path: Path) -> None:
    """Only the rows that the watermark has passed are emitted and compared."""
    found = sorted(sent(ours.query(session.read(beside, events), ROWS["over_time"]), tmp_path))
    wanted = rows_by_hand(events, in_batches=False)
    assert len(found) > 1000
    assert found == wanted[: len(found)]


def sent(rows: "DataFrame", scratch: Path) -> list[tuple[Any, ...]]:
    """Returns all rows that a query emits."""
    told: list[tuple[Any, ...]] = []
    writer = rows.writeStream.option("checkpointLocation", str(scratch))
    writer = writer.foreachBatch(
        lambda batch, _: told.extend(pl.DataFrame(batch.toArrow()).select("ts", "k", "v", "s").rows())
    )
    writer.trigger(availableNow=True).start().awaitTermination()
    return told
