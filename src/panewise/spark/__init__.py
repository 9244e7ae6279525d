"""Operators over Spark DataFrames.

Only this package, the demo and the part of the test kit for Spark import pyspark.

Each name is imported when it is first used. Every Python worker of Spark imports its modules anew, and needs
few of these names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from panewise.extras import from_extra
from panewise.replaced_names import no_attribute
from panewise.spark.workers import worker  # noqa: F401 - before anything that imports Polars

if TYPE_CHECKING:
    from panewise.spark.builders.apply_spec import apply
    from panewise.spark.builders.cogroup import CogroupBuilder, cogrouped
    from panewise.spark.builders.deduplicate import DeduplicateBuilder, deduplicate
    from panewise.spark.builders.join import JoinBuilder, joined
    from panewise.spark.builders.over import OverBuilder, over
    from panewise.spark.builders.policy import PolicyBuilder, policy_windows
    from panewise.spark.builders.windows import WindowBuilder, windowed
    from panewise.spark.inputs.guarded_watermark import with_watermark
    from panewise.spark.kafka_topics import kafka_source
    from panewise.spark.queries.observer import Observer, observe
    from panewise.spark.queries.query import WindowQuery
    from panewise.spark.results.over import OverResult
    from panewise.spark.results.rows_between import ResultRows
    from panewise.spark.results.sides import CogroupResult, JoinResult, JoinSide, WindowedJoinResult
    from panewise.spark.results.single_input import DeduplicateResult, PolicyResult, WindowResult
    from panewise.spark.session.connector_versions import connectors
    from panewise.spark.session.failures import QueryError
    from panewise.spark.session.settings import configure
    from panewise.spark.sinks.console import ConsoleSink
    from panewise.spark.sinks.current import current
    from panewise.spark.sinks.delta import DeltaSink
    from panewise.spark.sinks.kafka import KafkaSink
    from panewise.spark.sinks.memory import MemorySink
    from panewise.spark.sinks.parquet import ParquetSink
    from panewise.spark.sinks.postgres import PostgresSink
    from panewise.spark.streaming_sql.streaming_sql import sql

_MODULES = {
    "builders.apply_spec": ("apply",),
    "builders.cogroup": ("CogroupBuilder", "cogrouped"),
    "session.connector_versions": ("connectors",),
    "builders.deduplicate": ("DeduplicateBuilder", "deduplicate"),
    "session.failures": ("QueryError",),
    "inputs.guarded_watermark": ("with_watermark",),
    "builders.join": ("JoinBuilder", "joined"),
    "kafka_topics": ("kafka_source",),
    "queries.observer": ("Observer", "observe"),
    "builders.over": ("OverBuilder", "over"),
    "builders.policy": ("PolicyBuilder", "policy_windows"),
    "results.over": ("OverResult",),
    "results.rows_between": ("ResultRows",),
    "results.sides": ("CogroupResult", "JoinResult", "JoinSide", "WindowedJoinResult"),
    "results.single_input": ("DeduplicateResult", "PolicyResult", "WindowResult"),
    "session.settings": ("configure",),
    "sinks.console": ("ConsoleSink",),
    "sinks.current": ("current",),
    "sinks.delta": ("DeltaSink",),
    "sinks.kafka": ("KafkaSink",),
    "sinks.memory": ("MemorySink",),
    "sinks.parquet": ("ParquetSink",),
    "sinks.postgres": ("PostgresSink",),
    "streaming_sql.streaming_sql": ("sql",),
    "builders.windows": ("WindowBuilder", "windowed"),
    "queries.query": ("WindowQuery",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "CogroupBuilder",
    "CogroupResult",
    "ConsoleSink",
    "DeduplicateBuilder",
    "DeduplicateResult",
    "DeltaSink",
    "JoinBuilder",
    "JoinResult",
    "JoinSide",
    "KafkaSink",
    "MemorySink",
    "Observer",
    "OverBuilder",
    "OverResult",
    "ParquetSink",
    "PolicyBuilder",
    "PolicyResult",
    "PostgresSink",
    "QueryError",
    "ResultRows",
    "WindowBuilder",
    "WindowQuery",
    "WindowResult",
    "WindowedJoinResult",
    "apply",
    "cogrouped",
    "configure",
    "connectors",
    "current",
    "deduplicate",
    "joined",
    "kafka_source",
    "observe",
    "over",
    "policy_windows",
    "sql",
    "windowed",
    "with_watermark",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        no_attribute(__name__, name)
    with from_extra("spark", "panewise.spark runs on PySpark"):
        globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
