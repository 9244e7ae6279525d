"""The blocks of code of pages that show no output build their operators over streams. No query starts."""

import re
from pathlib import Path
from typing import Any, Final
from unittest.mock import MagicMock

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, over, windowed
from panewise.spark.results.operator_result import OperatorResult

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final = (
    "beside-spark.md",
    "deduplicate.md",
    "how-to/current-table.md",
    "how-to/silence.md",
    "how-to/start.md",
    "operations/guards.md",
    "operations/metrics.md",
    "operations/watch.md",
    "sql.md",
    "stream-windows.md",
)
COLUMNS: Final = """
    ts TIMESTAMP, amount INT, device STRING, event_id STRING, page STRING, price DOUBLE, product STRING,
    sensor STRING, user STRING, v DOUBLE, value DOUBLE
"""


def blocks(page: str) -> list[str]:
    """Returns the blocks of Python of a page that show no output."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for block in found if ">>>" not in block]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("restored_settings")
def test_a_page(spark: SparkSession, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later block may use names of an earlier one."""
    (tmp_path / "rows").mkdir()
    stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "rows"))
    names: dict[str, Any] = dict.fromkeys(("df", "events", "orders", "readings"), stream)
    names |= {
        "F": F,
        "ParquetSink": ParquetSink,
        "SF": SF,
        "StreamTime": pw.StreamTime,
        "pw": pw,
        "spark": spark,
    }
    names |= {"Tumbling": pw.Tumbling, "over": over, "windowed": windowed, "result": MagicMock()}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(OperatorResult, "write", MagicMock())
    assert blocks(page)
    for block in blocks(page):
        exec(block, names)
    if "observer" in names:
        names["observer"].close()
