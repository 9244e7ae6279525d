"""Paths of the queries of scripts that Spark alone runs (semantics 49.62)."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from panewise.errors import SpecError, SqlError
from panewise.spark import ParquetSink
from panewise.spark.queries.query import WindowQuery
from panewise.spark.streaming_sql.script_run import ScriptRun
from panewise.sql.script.application import compile_script
from tests.spark.conftest import Feed
from tests.spark.sinks.test_arguments import sums_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("restored_settings")]

SCRIPT = """
SET panewise.checkpoint = '{folder}/{checkpoints}'; {trigger};
CREATE TEMPORARY VIEW orders (id BIGINT) USING json OPTIONS (path '{folder}/orders', streaming '{streaming}');
CREATE TABLE big USING parquet LOCATION '{folder}/{table}';
INSERT INTO big SELECT id FROM orders;
"""
ONCE = "SET panewise.trigger = 'available now'"


def started(
    spark: SparkSession,
    folder: Path,
    checkpoints: str,
    table: str,
    trigger: str = ONCE,
    *,
    stream: bool = True,
) -> ScriptRun:
    """Starts a script, and waits for its query if it ends."""

    def wait(queries: Mapping[str, WindowQuery]) -> None:
        for query in queries.values():
            query.awaitTermination()

    (folder / "orders").mkdir(exist_ok=True)
    (folder / "orders" / "1.json").write_text(json.dumps({"id": 1}), encoding="utf-8")
    streaming = str(stream).lower()
    text = SCRIPT.format(
        folder=folder, checkpoints=checkpoints, table=table, trigger=trigger, streaming=streaming
    )
    run = ScriptRun(spark, compile_script(text), wait)
    run.start()
    if trigger == ONCE:
        wait(run.queries)
    return run


def test_a_continued_query_gives_another_path(spark: SparkSession, tmp_path: Path) -> None:
    """It is refused if the path has rows (semantics 49.58, 49.62)."""
    started(spark, tmp_path, "one", "p")
    started(spark, tmp_path, "two", "q")
    message = rf"rows of another query at {re.escape(str(tmp_path))}/q \| a continued query has not written"
    with pytest.raises(SqlError, match=message):
        started(spark, tmp_path, "one", "q")
    started(spark, tmp_path, "one", "r")
    Path(tmp_path, "p", "batch_id=7").mkdir()
    started(spark, tmp_path, "one", "p")  # where it has written before
    recorded = sorted(Path(tmp_path, "one", "big", "panewise", "paths").glob("part-*"))
    assert sorted(json.loads(file.read_text())[0] for file in recorded) == [f"{tmp_path}/{t}" for t in "pr"]


def test_a_path_of_an_active_query(spark: SparkSession, feed: Feed) -> None:
    """A script, its batches and `write` are refused (semantics 49.59, 49.61, 49.62)."""
    folder, message = feed.folder, r"to which the active query with the checkpoint '.*/one/big' writes"
    feed.put((1, "a", 1))
    run = started(spark, folder, "one", "p", "SET panewise.trigger = '1 hour'")
    try:
        with pytest.raises(SqlError, match=message):
            started(spark, folder, "two", "p")
        with pytest.raises(SqlError, match=message):
            started(spark, folder, "two", "p", stream=False)
        with pytest.raises(SpecError, match=message):
            sums_of(feed.batch()).write(panes=ParquetSink(f"{folder}/p"))
        assert not Path(folder, "two").exists()
    finally:
        run.stop()
