"""The sinks that `write` is given, and their checks before a query starts."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from panewise.errors import SpecError
from panewise.paths import is_path, place
from panewise.spark.shuffle.envelope import kind_of
from panewise.spark.sinks.base import OutputSink, PathSink
from panewise.spark.sinks.delta import DeltaSink
from panewise.spark.sinks.kafka import KafkaSink, replaces, topic_of
from panewise.spark.sinks.parquet import ParquetSink
from panewise.spark.sinks.places import check_place


def resolved_sink(sink: Any) -> Any:
    """Returns the sink that an argument of `write` stands for.

    A text with a slash, or a Path, is a path of Parquet files. Another text names a Delta table.
    """
    if isinstance(sink, PurePath):
        return ParquetSink(str(sink))
    if not isinstance(sink, str) or not sink:
        return sink
    return ParquetSink(sink) if is_path(sink) else DeltaSink(sink)


def check_sinks(
    sinks: Mapping[str, object], output: str = "panes", kinds: Mapping[str, str] | None = None
) -> None:
    """Checks that there is a sink, that each can take rows, and that no two write to one path.

    `output` is the first output of the operator family. `kinds` are those of the envelopes of the outputs.
    """
    if not sinks:
        raise SpecError(
            "write() without a sink",
            "write() needs a sink for at least one output",
            f"give {output}=ParquetSink(path), or a sink for another output",
        )
    by_place: dict[str, str] = {}
    for name, sink in sinks.items():
        if not callable(sink) and not isinstance(sink, OutputSink):
            rule = "a sink is a path, a table, a sink object, or a function of (DataFrame, batch_id)"
            path = sink if isinstance(sink, str) else "a/path"
            raise SpecError(f"{name}={sink!r}", rule, f"give {name}=ParquetSink({path!r}) for Parquet files")
        if isinstance(sink, PathSink):
            check_place(by_place, name, place(sink.path), f"path {sink.path!r}")
        elif isinstance(sink, OutputSink) and sink.place is not None:
            check_place(by_place, name, sink.place, f"sink {sink!r}")
    _check_topics(sinks, kinds or {})


def _check_topics(sinks: Mapping[str, object], kinds: Mapping[str, str]) -> None:
    """Refuses a topic of several outputs if one of them upserts: others may have records with its keys."""
    writers: dict[str, list[str]] = {}
    upserts: dict[str, str] = {}
    for name, sink in sinks.items():
        if isinstance(sink, KafkaSink):
            writers.setdefault(topic_of(sink), []).append(name)
            if replaces(sink, kind_of(kinds.get(name, name))):
                upserts[topic_of(sink)] = sink.topic
    for records, topic in upserts.items():
        if len(writers[records]) > 1:
            rule = "a topic with upserts has the records of one output (semantics 49.11)"
            remedy = "give each a topic of its own"
            raise SpecError(f"{' and '.join(writers[records])} with the topic {topic!r}", rule, remedy)
