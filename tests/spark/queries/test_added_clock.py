"""A source is added to the offset log of a checkpoint; tests/spark/test_changes.py runs a query with one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.errors import StateError
from panewise.spark.queries.added_clock import add_source, sources_so_far


def log(folder: Path, name: str, entries: dict[int, str]) -> None:
    (folder / name).mkdir()
    for number, text in entries.items():
        (folder / name / str(number)).write_text(text)


def test_the_last_two_entries_get_a_line(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 47.11: a second call, after an interrupted first one, changes nothing more."""
    entry = 'v1\n{}\n{"logOffset":1}\n-'
    log(tmp_path, "offsets", dict.fromkeys((8, 9, 10), entry))
    log(tmp_path, "commits", dict.fromkeys((8, 9, 10), "v1\n{}"))
    assert sources_so_far(spark, str(tmp_path), "wait") == 2
    for _ in range(2):
        add_source(spark, str(tmp_path), 2)
    texts = [(tmp_path / "offsets" / str(number)).read_text() for number in (8, 9, 10)]
    assert texts == [entry, f"{entry}\n-", f"{entry}\n-"]


def test_a_source_that_cannot_be_added(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 47.11."""
    assert sources_so_far(spark, str(tmp_path), "wait") == 0
    remote: Any = SimpleNamespace()
    with pytest.raises(StateError, match=r"only a classic session can write .* or wait"):
        sources_so_far(remote, str(tmp_path), "wait")
    log(tmp_path, "offsets", {0: "v2\n{}\n{}"})
    with pytest.raises(StateError, match="micro-batch 0 has begun and is not committed"):
        sources_so_far(spark, str(tmp_path), "wait")
    log(tmp_path, "commits", {0: "v1\n{}"})
    with pytest.raises(StateError, match=r"of the form v1, and this one has 'v2'"):
        sources_so_far(spark, str(tmp_path), "wait")
