"""A batch DataFrame as the right side of an as-of join, next to a stream (semantics 36.8).

Spark has no union of a batch DataFrame and a stream. But a stateful operator can have a batch DataFrame as
its initial state, which it gets in the first micro-batch of a checkpoint, before any row of the stream. So
the rows of the static side are in the state from then on, and later micro-batches do not read it.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.spark.shuffle.envelope import kind_of, port_of
from panewise.spec import Specification, parts


def static_ports(dfs: Mapping[str, DataFrame], spec: Specification) -> tuple[str, ...]:
    """Returns the static sides: the right one, if it is a batch DataFrame and the left one is a stream."""
    if len({df.isStreaming for df in dfs.values()}) < 2:
        return ()
    static = parts(spec).static_port(spec)
    if static is None or dfs[static].isStreaming:
        kinds = {port: "a stream" if df.isStreaming else "a batch" for port, df in dfs.items()}
        rule = "all inputs of an operator are streams, or none is; the right side of AsOf may be a batch"
        remedy = "read all of them as streams; Spark's own stream.join(batch, ...) takes both"
        raise SpecError(", ".join(f"{port}: {kind}" for port, kind in kinds.items()), rule, remedy)
    parts(spec).check_static(spec)
    return (static,)


def check_output(label: str, static: tuple[str, ...]) -> None:
    """Refuses an output of a static side."""
    port = port_of(label)
    if port in static:
        rule = "a static side has no late and no invalid rows, and no counts (semantics 36.8)"
        raise SpecError(f"{port}.{kind_of(label)} of a static side", rule, "leave it out")
