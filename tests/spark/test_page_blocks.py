"""The blocks of code of pages that show no output build their operators over streams. No query starts."""

import re
from inspect import signature
from pathlib import Path
from typing import Any, Final
from unittest.mock import MagicMock, create_autospec

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
import panewise.spark
from panewise import functions as F
from panewise.spark import ParquetSink, joined, over, windowed
from panewise.spark.results.operator_result import OperatorResult

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final = (
    "beside-spark.md",
    "deduplicate.md",
    "how-to/current-table.md",
    "how-to/dead-letters.md",
    "how-to/sessions.md",
    "how-to/silence.md",
    "how-to/start.md",
    "joins.md",
    "operations/guards.md",
    "operations/metrics.md",
    "operations/watch.md",
    "sinks.md",
    "sql.md",
    "stream-windows.md",
)
WRITE_OPTIONS: Final = {
    name for name, one in signature(OperatorResult.write).parameters.items() if one.kind is one.KEYWORD_ONLY
}
# Pages whose blocks others run, and code of Spark that is not ours.
OTHERS: Final = {
    "how-to/from-transform-with-state.md": "a processor of Spark",
    "how-to/window-functions.md": "tests/spark/test_pages.py",
    "operations/deployment.md": "tests/faults/test_deployment.py",
}
COLUMNS: Final = """
    at TIMESTAMP, ts TIMESTAMP, amount INT, device STRING, event_id STRING, offset BIGINT, page STRING,
    partition INT, price DOUBLE, product STRING, sensor STRING, shop STRING, user STRING, v DOUBLE,
    value DOUBLE
"""
# The inputs of the joins: each has its columns, and its watermark at the last one.
SIDES: Final = {
    "clicks": "shop STRING, ts TIMESTAMP",
    "orders": "id INT, shop STRING, amount INT, ordered TIMESTAMP",
    "quotes": "symbol STRING, bid DOUBLE, quoted_at TIMESTAMP",
    "shipments": "id INT, shop STRING, carrier STRING, shipped TIMESTAMP",
    "trades": "symbol STRING, price DOUBLE, traded_at TIMESTAMP",
}


def blocks(page: str) -> list[str]:
    """Returns the blocks of Python of a page that show no output, without one that test_pages.py runs."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    others = (block for block in found if ">>>" not in block)
    return [
        block for block in others if not block.startswith("from panewise.spark import ParquetSink, joined")
    ]


def write_nothing(result: OperatorResult, **arguments: Any) -> MagicMock:
    """Checks the names of the arguments of `write`, and starts no query."""
    outputs = {name.removeprefix("first_") for name in arguments.keys() - WRITE_OPTIONS}
    assert outputs
    assert outputs <= result._outputs().keys()
    return MagicMock()


def test_no_page_is_left_out() -> None:
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert {page for page in pages if "decisions/" not in page and blocks(page)} == {*PAGES, *OTHERS}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("restored_settings")
def test_a_page(spark: SparkSession, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later block may use names of an earlier one."""
    (tmp_path / "rows").mkdir()
    stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "rows"))
    names: dict[str, Any] = dict.fromkeys(("df", "events", "orders", "readings", "visits"), stream)
    hourly = windowed(stream.withWatermark("ts", "1 hour"), "ts").window(pw.Tumbling("1 hour"))
    names |= {
        "F": F,
        "ParquetSink": ParquetSink,
        "SF": SF,
        "StreamTime": pw.StreamTime,
        "pw": pw,
        "spark": spark,
    }
    names |= {
        "Tumbling": pw.Tumbling,
        "joined": joined,
        "over": over,
        "windowed": windowed,
        "result": MagicMock(),
    }
    names["hourly"] = hourly.agg(F.count().alias("n"))
    if page == "joins.md":
        for name, columns in SIDES.items():
            (tmp_path / name).mkdir()
            side = spark.readStream.schema(columns).parquet(str(tmp_path / name))
            names[name] = side.withWatermark(side.columns[-1], "1 minute")
    monkeypatch.chdir(tmp_path)
    # Calls are compared with the signatures, but no query starts, and no connector is needed.
    monkeypatch.setattr(OperatorResult, "write", write_nothing)
    if page == "sinks.md":
        monkeypatch.setattr(ParquetSink, "read", create_autospec(ParquetSink.read))
        for function, returned in (("configure", spark), ("kafka_source", stream)):
            replaced = create_autospec(getattr(panewise.spark, function), return_value=returned)
            monkeypatch.setattr(panewise.spark, function, replaced)
    assert blocks(page)
    for block in blocks(page):
        exec(block, names)
    if "observer" in names:
        names["observer"].close()
