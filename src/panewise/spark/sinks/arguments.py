"""The sinks that `write` is given, and their checks before a query starts."""

from collections.abc import Mapping
from typing import Any

from panewise.errors import SpecError
from panewise.spark.sinks.base import OutputSink, PathSink
from panewise.spark.sinks.parquet import ParquetSink
from panewise.spark.sinks.paths import place


def resolved_sink(sink: Any) -> Any:
    """Returns the sink that an argument of `write` stands for. A path with a slash is one of Parquet."""
    return ParquetSink(sink) if isinstance(sink, str) and "/" in sink else sink


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
    by_path: dict[str, str] = {}
    for name, sink in sinks.items():
        if not callable(sink) and not isinstance(sink, OutputSink):
            rule = "a sink is a path with a slash, a sink object, or a function of (DataFrame, batch_id)"
            path = sink if isinstance(sink, str) else "a/path"
            raise SpecError(f"{name}={sink!r}", rule, f"give {name}=ParquetSink({path!r}) for Parquet files")
        if isinstance(sink, PathSink):
            other = by_path.setdefault(place(sink.path), name)
            if other != name:
                rule = "outputs with the same path overwrite each other's micro-batches"
                raise SpecError(
                    f"{other} and {name} with the path {sink.path!r}",
                    rule,
                    "give each sink a path of its own",
                )
