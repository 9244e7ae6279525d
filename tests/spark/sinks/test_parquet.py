"""Compaction and retention of a ParquetSink (semantics 49.46, 49.47)."""

import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from panewise import SpecError
from panewise.spark import ParquetSink
from panewise.spark.sinks.compaction import RowsDirectory, replaced
from panewise.spark.sinks.directories import Directories
from panewise.spark.sinks.preparation import check_new, prepare_batch


@pytest.fixture
def sink(spark: SparkSession, tmp_path: Path) -> ParquetSink:
    sink = ParquetSink(f"{tmp_path}/out", compact_every=3)
    sink.prepare(rows(spark).limit(0))
    return sink


def rows(spark: SparkSession, *ids: int) -> DataFrame:
    return spark.range(max(ids, default=0) + 1).where(f"id IN ({', '.join(map(str, (-1, *ids)))})")


def there(path: str | Path) -> list[str]:
    return sorted(entry.name for entry in Path(path).iterdir() if "=" in entry.name)


def ids(frame: DataFrame) -> list[int]:
    return [row.id for row in frame.orderBy("id").collect()]


def test_directories_of_committed_micro_batches_become_one(spark: SparkSession, sink: ParquetSink) -> None:
    """Each row is read once before, while and after directories are replaced (semantics 49.46)."""
    for batch in (0, 1, 2):
        sink(rows(spark, batch), batch)
    assert there(sink.path) == ["batch_id=-1", "batch_id=0", "batch_id=1", "batch_id=2"]
    sink(rows(spark, 3), 3)
    assert "compacted=0-2" in there(sink.path)
    assert "batch_id=0" in there(sink.path)  # a reader may still read it
    assert ids(sink.read(spark)) == [0, 1, 2, 3]
    compacted = Path(sink.path) / "compacted=0-2"
    assert len(list(compacted.glob("*.parquet"))) == 1
    assert sorted(pl.read_parquet(compacted / "*.parquet")["id"]) == [0, 1, 2]
    with pytest.raises(PySparkException, match="CONFLICTING_PARTITION"):
        spark.read.parquet(sink.path).count()
    sink(rows(spark, 7), 7)  # 4, 5 and 6 had no rows
    assert there(sink.path) == ["batch_id=-1", "batch_id=3", "batch_id=7", "compacted=0-2", "compacted=3-5"]
    assert ids(sink.read(spark)) == [0, 1, 2, 3, 7]


def test_a_repeated_micro_batch_is_there_once(spark: SparkSession, sink: ParquetSink) -> None:
    """Also the one that compacts those before it (semantics 49.46)."""
    for batch in (0, 1, 3, 3):
        sink(rows(spark, batch), batch)
    assert ids(sink.read(spark)) == [0, 1, 3]


@pytest.mark.nightly
def test_an_unfinished_compaction_does_not_count(spark: SparkSession, sink: ParquetSink) -> None:
    """A file that is written last completes it (semantics 49.46)."""
    for batch in (0, 1):
        sink(rows(spark, batch), batch)
    rows(spark, 0).write.parquet(f"{sink.path}/compacted=0-2")
    rows(spark, 9).write.parquet(f"{sink.path}/_compacting-compacted=0-2")
    assert ids(sink.read(spark)) == [0, 1]
    sink(rows(spark, 4), 4)
    assert ids(sink.read(spark)) == [0, 1, 4]
    assert "compacted=0-2" in there(sink.path)


@pytest.mark.nightly
def test_other_numbers_replace_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """See semantics 49.46: `compact_every` may change with a restart."""
    for batch in range(5):
        ParquetSink(f"{tmp_path}/out", compact_every=3)(rows(spark, batch), batch)
    for batch in (5, 6, 8):
        ParquetSink(f"{tmp_path}/out", compact_every=2)(rows(spark, batch), batch)
    assert ids(ParquetSink(f"{tmp_path}/out").read(spark)) == [*range(7), 8]


def test_rows_expire(spark: SparkSession, tmp_path: Path) -> None:
    """Old directories are deleted; a replaced one does not count again (semantics 49.47)."""
    sink = ParquetSink(f"{tmp_path}/out", compact_every=2, retain="1 hour")
    sink.prepare(rows(spark).limit(0))
    for batch in range(4):
        sink(rows(spark, batch), batch)
    age(Path(sink.path), "batch_id=0", "batch_id=1", "compacted=0-1")
    sink(rows(spark, 4), 4)
    assert ids(sink.read(spark)) == [2, 3, 4]
    assert not {"batch_id=0", "batch_id=1", "compacted=0-1"} & {*there(sink.path)}
    assert "batch_id=-1" in there(sink.path)


def age(path: Path, *names: str) -> None:
    """Makes the files of directories two hours older."""
    for file in (file for name in names for file in (path / name).iterdir()):
        os.utime(file, (file.stat().st_atime - 7200, file.stat().st_mtime - 7200))


def test_a_path_with_compacted_rows_of_another_query_is_refused(
    spark: SparkSession, sink: ParquetSink
) -> None:
    """They would hide micro-batches of the new one (semantics 49.46)."""
    for batch in (0, 3):
        sink(rows(spark, batch), batch)
    with pytest.raises(
        SpecError, match=r"ParquetSink\(.* \| the path has compacted rows .* \| give another path"
    ):
        sink.prepare(rows(spark).limit(0))
    plain = ParquetSink(sink.path)
    for check in (lambda: plain.prepare(rows(spark).limit(0)), lambda: plain.check_batch(spark)):
        with pytest.raises(SpecError, match="the path has compacted rows"):
            check()


def test_rows_of_another_checkpoint_are_refused_or_deleted(spark: SparkSession, tmp_path: Path) -> None:
    """See semantics 49.51."""
    sink = ParquetSink(f"{tmp_path}/out")
    rows(spark, 0).write.parquet(f"{sink.path}/batch_id=0")
    check_new(spark, {"panes": ParquetSink(f"{tmp_path}/other")})
    with pytest.raises(
        SpecError, match=r"rows of another checkpoint at .* \| a new checkpoint .* \| delete .*overwrite=True"
    ):
        check_new(spark, {"panes": sink})
    prepare_batch(spark, {"panes": sink})  # a batch is micro-batch 0
    rows(spark, 0).write.parquet(f"{sink.path}/batch_id=1")
    with pytest.raises(SpecError, match=r"rows of a stream at .* \| a batch is written as micro-batch 0"):
        prepare_batch(spark, {"panes": sink})
    for begin in (check_new, prepare_batch):
        for name in ("batch_id=0", "batch_id=1", "compacted=2-3", "_compacting-compacted=4-5", "own"):
            (Path(sink.path) / name).mkdir(exist_ok=True)
        begin(spark, {"panes": replace(sink, overwrite=True)})
        assert [path.name for path in Path(sink.path).iterdir()] == ["own"]


def test_a_batch_compacts_and_expires_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """See semantics 49.47."""
    for sink in (ParquetSink(f"{tmp_path}/o", compact_every=2), ParquetSink(f"{tmp_path}/o", retain="1 day")):
        with pytest.raises(SpecError, match=r"on a batch \| a batch is one micro-batch, .* \| leave out"):
            prepare_batch(spark, {"panes": sink})
    prepare_batch(spark, {"panes": ParquetSink(f"{tmp_path}/o")})


@pytest.mark.nightly
def test_columns_may_be_added(spark: SparkSession, sink: ParquetSink) -> None:
    """Rows that lack a column have null there (semantics 49.46)."""
    sink(rows(spark, 0), 0)
    sink(rows(spark, 1).selectExpr("id", "id AS more"), 1)
    sink(rows(spark, 3).selectExpr("id", "id AS more"), 3)
    assert [(row.id, row.more) for row in sink.read(spark).orderBy("id").collect()] == [
        (0, None),
        (1, 1),
        (3, 3),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": ""}, r"ParquetSink\(path=''\) \| without a path .* \| give a path"),
        (
            {"compact_every": 1},
            r"compact_every=1 \| .* micro-batches that become one directory, two or more \| give a number",
        ),
        ({"compact_every": "3"}, r"compact_every='3' \| .* two or more \| give a number"),
        (
            {"retain": "0 seconds"},
            r"retain='0 seconds' \| rows are retained for some time \| give a duration",
        ),
        ({"retain": "1 month"}, r"retain='1 month' \| months"),
        ({"retain": 30}, r"retain=30 \| a time for which rows are retained has a unit \| give a duration"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ParquetSink(**{"path": "out/panes"} | arguments)  # type: ignore[arg-type]


def test_another_session_is_refused() -> None:
    """A session of Connect cannot list directories (semantics 49.47)."""
    with pytest.raises(SpecError, match=r"through Connect \| directories are listed"):
        ParquetSink("out/panes", compact_every=3).prepared(object())  # type: ignore[arg-type]


def test_replaced_directories() -> None:
    plain = [RowsDirectory(number, number, compacted=False) for number in range(5)]
    assert replaced([*plain, RowsDirectory(0, 2, compacted=True)]) == {*plain[:3]}
    assert replaced(plain) == set()


def test_directories_of_a_path_that_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    assert not list(Directories(spark, f"{tmp_path}/none").names())
