"""The sinks that `write` is given, and their checks before a query starts."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from panewise.errors import SpecError
from panewise.spark.sinks.base import OutputSink, PathSink
from panewise.spark.sinks.delta import DeltaSink
from panewise.spark.sinks.parquet import ParquetSink
from panewise.spark.sinks.paths import is_path, place


def resolved_sink(sink: Any) -> Any:
    """Returns the sink that an argument of `write` stands for.

    A text with a slash, or a Path, is a path of Parquet files. Another text names a Delta table.
    """
    if isinstance(sink, PurePath):
        return ParquetSink(str(sink))
    if not isinstance(sink, str) or not sink:
        return sink
    return ParquetSink(sink) if is_path(sink) else DeltaSink(sink)


def check_sinks(sinks: Mapping[str, object], output: str = "panes") -> None:
    """Checks that there is a sink, that each can take rows, and that no two write to one path.

    `output` is the first output of the operator family.
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
            _check_place(by_place, name, place(sink.path), f"path {sink.path!r}")
        elif isinstance(sink, OutputSink) and sink.place is not None:
            _check_place(by_place, name, sink.place, f"sink {sink!r}")


def _check_place(by_place: dict[str, str], name: str, where: str, shown: str) -> None:
    other = by_place.setdefault(where, name)
    if other != name:
        rule = "outputs with the same path overwrite each other's micro-batches"
        raise SpecError(f"{other} and {name} with the {shown}", rule, "give each sink a path of its own")
