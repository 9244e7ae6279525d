"""bench.joins: panewise and Spark's join give the same rows as a join by hand, and the data is as it says."""

import math
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bench import session
from bench.joins import compare, data, flat, per_key, skew
from bench.joins.compare import SHAPES
from bench.joins.queries import (
    NATIVE,
    AnyJoin,
    Cogroup,
    InWindows,
    Join,
    LatestBefore,
    aggregates,
    empty,
    native,
    ours,
)
from bench.joins.runs import Runs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("k", "ts", "v", "r_ts", "r_v")
KEYS = 20


@pytest.fixture(scope="module")
def beside(spark: "SparkSession") -> "SparkSession":
    return session.beside(spark)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> data.Sides:
    return data.random("few", 600, 3, partners=1.0, keys=KEYS, cache=tmp_path_factory.mktemp("sides"))


def rows_of(sides: data.Sides, side: str) -> list[tuple[Any, ...]]:
    return pl.read_parquet(sides.folder / side).select("k", pl.col("ts").dt.epoch("us"), "v").rows()


def partners_of(join: AnyJoin, ts: int, rows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns those of the right rows of a key, (ts, v), that are partners of a left row at `ts`."""
    match join:
        case Join():
            return [row for row in rows if join.lower_us <= row[0] - ts <= join.upper_us]
        case InWindows():
            return [row for row in rows if row[0] // join.size_us == ts // join.size_us]
    return sorted((row for row in rows if row[0] <= ts), key=lambda row: row[0])[-1:]


def by_hand(sides: data.Sides, join: AnyJoin) -> list[tuple[Any, ...]]:
    """Returns the rows that a join emits before the input ends, computed row by row."""
    joined, right = list[tuple[Any, ...]](), defaultdict[int, list[tuple[int, int]]](list)
    for k, ts, v in rows_of(sides, "right"):
        right[k].append((ts, v))
    if isinstance(join, Cogroup):
        return sums_by_hand(sides, join)
    for k, ts, v in rows_of(sides, "left"):
        partners = partners_of(join, ts, right[k])
        joined += [(k, ts, v, *partner) for partner in partners]
        if join.how == "left" and not partners and k >= 0:  # the closing row waits for a partner
            joined.append((k, ts, v, None, None))
    return sorted(joined, key=repr)


def sums_by_hand(sides: data.Sides, join: Cogroup) -> list[tuple[Any, ...]]:
    """Returns the sums of each side by key and window. The windows of the closing rows are not complete."""
    sums = defaultdict[tuple[int, int], list[int | None]](lambda: [None, None])
    for place, side in enumerate(("left", "right")):
        for k, ts, v in rows_of(sides, side):
            both = sums[k, ts // join.size_us * join.size_us]
            both[place] = (both[place] or 0) + v
    return sorted(((k, ts, v, ts, r_v) for (k, ts), (v, r_v) in sums.items() if k >= 0), key=repr)


def emitted(rows: "DataFrame", scratch: Path) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []

    def keep(batch: "DataFrame", _: int) -> None:
        instants = pl.col("ts", "r_ts").dt.epoch("us")
        found.extend(pl.DataFrame(batch.toArrow()).with_columns(instants).select(COLUMNS).rows())

    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(scratch))
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted(found, key=repr)


@pytest.mark.nightly
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_panewise_joins_as_by_hand(
    beside: "SparkSession", sides: data.Sides, shape: compare.Shape, tmp_path: Path
) -> None:
    join = Cogroup(5_000_000) if isinstance(shape.join, Cogroup) else shape.join  # the rows are of one minute
    wanted = by_hand(sides, join)
    assert len(wanted) > 100
    assert emitted(ours(*sides.read(beside), join), tmp_path) == wanted


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("shape", "name"),
    [("inner", "rocksdb_v2"), ("inner", "hdfs_v2"), ("left", "rocksdb_v2"), ("window", "rocksdb_v2")],
)
def test_spark_joins_as_by_hand(
    beside: "SparkSession", sides: data.Sides, shape: str, name: str, tmp_path: Path
) -> None:
    join: Any = SHAPES[shape].join
    with session.settings(beside, NATIVE[name]):
        found = emitted(native(*sides.read(beside), join), tmp_path / "checkpoint")
    assert found == by_hand(sides, join)
    metadata = (tmp_path / "checkpoint" / "offsets" / "0").read_text()
    assert f'"{NATIVE[name]["spark.sql.streaming.join.stateFormatVersion"]}"' in metadata


@pytest.mark.nightly
def test_two_aggregations_of_spark_are_a_cogroup(
    beside: "SparkSession", sides: data.Sides, tmp_path: Path
) -> None:
    join = Cogroup(5_000_000)
    wanted = by_hand(sides, join)
    assert len(wanted) > 100
    assert emitted(aggregates(*sides.read(beside), join), tmp_path) == wanted


@pytest.mark.nightly
def test_one_call_for_each_key_joins_as_by_hand(
    beside: "SparkSession", sides: data.Sides, tmp_path: Path
) -> None:
    join = LatestBefore()
    assert emitted(per_key.query(*sides.read(beside), join), tmp_path) == by_hand(sides, join)


@pytest.mark.nightly
def test_runs_that_emit_other_numbers_of_rows_fail(beside: "SparkSession", sides: data.Sides) -> None:
    runs, join = Runs(beside), SHAPES["inner"].join
    seconds = runs.ours(sides, join)
    assert len(seconds) == sides.batches
    assert len(runs.native("rocksdb_v2", sides, join)) == sides.batches
    pairs = len(by_hand(sides, join))
    assert runs.emitted == {(sides, join): pairs}
    runs.emitted[sides, join] = pairs + 1
    with pytest.raises(
        RuntimeError, match=rf"^hdfs_v2 emitted {pairs} rows, the run before {pairs + 1} \| .* \| compare"
    ):
        runs.native("hdfs_v2", sides, join)


@pytest.mark.nightly
def test_the_empty_stages_emit_as_many_rows(
    beside: "SparkSession", sides: data.Sides, tmp_path: Path
) -> None:
    rows = emitted(empty(*sides.read(beside), 0.5), tmp_path)
    assert len(rows) == sides.rows // 2  # the two closing rows are too few for one more
    assert set(rows) == {(1, 1, 1, 1, 1)}


def test_a_row_has_as_many_partners_as_it_should(tmp_path: Path) -> None:
    for shape in (SHAPES["inner"], SHAPES["left"]):
        few = data.random(shape.name, 20_000, 2, shape.partners, keys=100, cache=tmp_path)
        assert isinstance(shape.join, Join)
        found = by_hand(few, Join("left", shape.join.lower_us, shape.join.upper_us))
        alone = sum(row[3] is None for row in found)
        assert (len(found) - alone) / (few.rows / 2) == pytest.approx(shape.partners, rel=0.05)
        assert alone / (few.rows / 2) == pytest.approx(math.exp(-shape.partners), rel=0.05)


@pytest.mark.parametrize("hot", [False, True])
def test_a_hot_key_changes_no_pair(tmp_path: Path, hot: bool) -> None:
    sides = data.paired("pairs", 1000, 3, hot=hot, cache=tmp_path)
    pairs = by_hand(sides, skew.JOIN)
    assert len(pairs) == sides.rows // 2
    of_key_0 = sum(k == 0 for k, *_ in pairs)
    assert (of_key_0 > len(pairs) // 2 - 1) == hot


def test_live_rows_have_one_partner_before_them(tmp_path: Path) -> None:
    sides = flat.filled(2000, 200, tmp_path)
    assert sides.batches == 1 + flat.BATCHES
    files = {side: sorted((sides.folder / side).glob("*.parquet")) for side in ("left", "right")}
    assert [len(of_side) for of_side in files.values()] == [sides.batches, sides.batches]
    frames = {side: pl.concat(map(pl.read_parquet, of)) for side, of in files.items()}
    assert [frame.height for frame in frames.values()] == [1000 + 100 * flat.BATCHES] * 2
    assert frames["left"]["k"].n_unique() == 200
    pairs = len(by_hand(sides, flat.JOINS["nothing"]))
    assert pairs / sum(frame.height for frame in frames.values()) == pytest.approx(1, rel=0.15)


def test_the_table_compares_with_the_first_number_of_rows_of_the_runner() -> None:
    results = [
        flat.Flat("panewise", 10, "nothing", 0.2, 0.4),
        flat.Flat("hdfs_v2", 10, "nothing", 1.0, 1.0),
        flat.Flat("panewise", 100, "nothing", 0.3, 0.4),
    ]
    times = [line.split()[-2:] for line in flat.table(results).splitlines()[1:]]
    assert times == [["1.00", "2.0"], ["1.00", "1.0"], ["1.50", "1.3"]]
