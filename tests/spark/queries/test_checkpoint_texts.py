"""Texts beside Spark's checkpoint."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panewise.errors import StateError
from panewise.spark.queries.checkpoint_texts import add_text, texts_of

pytestmark = pytest.mark.spark


def test_texts_are_added(spark: SparkSession, tmp_path: Path) -> None:
    assert texts_of(spark, str(tmp_path), "panewise/paths") == []
    for text in ('["/a"]', '["/b"]'):
        add_text(spark, f"{tmp_path}/panewise/paths", text)
    assert sorted(map(str.strip, texts_of(spark, str(tmp_path), "panewise/paths"))) == ['["/a"]', '["/b"]']


def test_a_text_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 47.28"""
    (tmp_path / "paths").mkdir()
    (tmp_path / "paths" / "part-0.gz").write_bytes(b"no archive")
    with pytest.raises(
        StateError, match=r"a record of its query, which cannot be read: .* \| put back the files"
    ):
        texts_of(spark, str(tmp_path), "paths")
