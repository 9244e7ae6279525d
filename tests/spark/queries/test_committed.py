"""Which micro-batches have begun and were committed, by the files of Spark's logs."""

from pathlib import Path

from pyspark.sql import SparkSession

from panewise.spark.queries.committed import last_committed, last_number, uncommitted


def log(folder: Path, name: str, numbers: range) -> None:
    (folder / name).mkdir()
    for number in numbers:
        (folder / name / str(number)).write_text("v1\n{}")


def test_the_last_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 47.9: numbers are compared, not names, and other files do not count."""
    checkpoint = str(tmp_path)
    assert (last_committed(spark, checkpoint), uncommitted(spark, checkpoint)) == (-1, None)
    log(tmp_path, "offsets", range(8, 12))
    (tmp_path / "offsets" / "metadata").write_text("{}")
    log(tmp_path, "commits", range(8, 11))
    assert last_number(spark, f"{checkpoint}/offsets") == 11
    assert (last_committed(spark, checkpoint), uncommitted(spark, checkpoint)) == (10, 11)
