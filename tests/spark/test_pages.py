"""Tests of the snippets of two pages: window functions and joins.

Those of docs/how-to/window-functions.md are batch code of pyspark that also runs on a stream.
"""

import re
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

from panewise.spark.compat import disable
from tests.spark.conftest import Feed, emitted

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join(
    (DOCS / name).read_text(encoding="utf-8") for name in ("how-to/window-functions.md", "joins.md")
)
COLUMNS = ["origin", "scheduled", "delay", "worse_by", "three_in_a_row"]


def snippet(beginning: str) -> str:
    """Returns the block of Python that begins with this text."""
    return next(
        block for block in re.findall(r"```python\n(.*?)```", PAGES, re.DOTALL) if block.startswith(beginning)
    )


def made(code: str, flights: DataFrame) -> dict[str, Any]:
    """Runs a snippet, and returns the names that it defines."""
    known: dict[str, Any] = {"flights": flights}
    exec(code, known)
    return known


def flights(df: DataFrame) -> DataFrame:
    return df.withColumnsRenamed({"ts": "scheduled", "k": "origin", "v": "delay"})


def test_one_import_makes_batch_code_run_on_a_stream(feed: Feed) -> None:
    """The code after the import also runs with pyspark itself, and gives the same rows (semantics 29.12)."""
    feed.put(*((10 * n, "ab"[n % 2], n * n) for n in range(8)))
    ours = snippet("# was: from pyspark.sql import")
    imports, rest = ours.split("\nenable()\n")
    of_pyspark = imports.removeprefix("# was: ").splitlines()[0] + rest
    wanted = pl.DataFrame(made(of_pyspark, flights(feed.batch()))["flights"].select(COLUMNS).toArrow()).sort(
        "origin", "scheduled"
    )
    batch = pl.DataFrame(made(ours, flights(feed.batch()))["flights"].select(COLUMNS).toArrow())
    assert_frame_equal(batch.sort("origin", "scheduled"), wanted)
    feed.put((9000, "z", 0))
    feed.put((9001, "z", 0))
    found = emitted(feed, made(ours, flights(feed.stream()))["flights"])
    assert_frame_equal(found.select(COLUMNS).sort("origin", "scheduled"), wanted)
    disable()


def test_a_join(spark: SparkSession) -> None:
    """The snippet emits the pairs, and the order without a shipment (semantics 27)."""
    known: dict[str, Any] = {}
    for name, time in (("orders", "ordered"), ("shipments", "shipped")):
        rows = spark.sql(f"SELECT * FROM VALUES (1, 100), ({len(name)}, 50) AS rows(id, {time})")
        known[name] = rows.withColumn(time, SF.timestamp_seconds(time))
    exec(snippet("from panewise.spark import ParquetSink, joined").partition("print(")[0], known)
    found = [(row.id, row.missing) for row in known["result"].rows.collect()]
    assert sorted(found, key=str) == [(1, None), (6, "right")]


def test_the_same_step_by_step(feed: Feed) -> None:
    """The snippet with `panewise.Window` computes sums, lags and row numbers (semantics 29.6, 29.7)."""
    feed.put(*((10 * n, "ab"[n % 2], n) for n in range(6)))
    result = made(snippet("from panewise import Window, functions as F"), flights(feed.batch()))["result"]
    rows = pl.DataFrame(result.rows.toArrow()).sort("origin", "scheduled")
    assert rows["three_in_a_row"].to_list() == [0, 2, 6, 1, 4, 9]
    assert rows["before"].to_list() == [None, 0, 2, None, 1, 3]
    assert rows["row"].to_list() == [1, 2, 3, 1, 2, 3]
