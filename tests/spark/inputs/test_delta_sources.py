"""The directories of Delta sources, of plans as Spark has them (semantics 49.60).

With real tables: `tests.connectors.delta_places_job`.
"""

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark.errors import PySparkException

from panewise.spark.inputs.delta_sources import delta_sources


@dataclass
class Query:
    """A DataFrame with its plan as text, which is read once, and perhaps with a plan in the JVM."""

    _panewise_plan: str
    _jdf: Any = field(default_factory=MagicMock)


def test_a_plan_without_delta_is_not_read() -> None:
    query: Any = Query("~StreamingRelation FileSource[/in], [a#1], name=<Unassigned>")
    assert delta_sources(query) == []
    assert query._jdf.mock_calls == []


def test_there_are_no_directories_through_connect() -> None:
    query: Any = Query("~StreamingRelation delta, [a#1], name=<Unassigned>", None)
    assert delta_sources(query) == []


def test_a_plan_with_other_methods(caplog: pytest.LogCaptureFixture) -> None:
    query: Any = Query("~StreamingRelation delta, [a#1], name=<Unassigned>")
    query._jdf.queryExecution.side_effect = PySparkException("no such method")
    assert delta_sources(query) == []
    (record,) = caplog.records
    assert record.getMessage().endswith("not compared with its Delta sources: no such method")
