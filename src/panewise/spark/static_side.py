"""A batch DataFrame as the right side of an as-of join, next to a stream (semantics 36.8).

Spark has no union of a batch DataFrame and a stream. But a stateful operator can have a batch DataFrame as
its initial state, which it gets in the first micro-batch of a checkpoint, before any row of the stream. So
the rows of the static side are in the state from then on, and later micro-batches do not read it.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.spec import Specification
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.match_parts import match_parts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.windowed_join import WindowedJoin

Inputs: TypeAlias = Mapping[str, DataFrame]


def static_ports(dfs: Inputs, spec: Specification) -> tuple[str, ...]:
    """Returns the static sides: the right one, if it is a batch DataFrame and the left one is a stream.

    Raises:
        SpecError: if only some inputs of another operator are streams, or a field is not for a static side.
    """
    if len({df.isStreaming for df in dfs.values()}) < 2:
        return ()
    join: Any = spec.join if isinstance(spec, WindowedJoin) else spec
    static = match_parts(join.match).static_sides if isinstance(join, JoinOperator) else ()
    if not dfs[LEFT].isStreaming or not static:
        given = {port: "a stream" if df.isStreaming else "a batch" for port, df in dfs.items()}
        rule = "all inputs of an operator are streams, or none is; the right side of AsOf may be a batch"
        remedy = "read all of them as streams; Spark's own stream.join(batch, ...) takes both"
        raise SpecError(", ".join(f"{port}: {kind}" for port, kind in given.items()), rule, remedy)
    _check_side(join)
    return static


def _check_side(join: JoinOperator) -> None:
    """Refuses fields that have no effect, because the input of the right side ends at once."""
    side = join.right
    given = {
        "watermark": side.watermark,
        "allowed_lateness": side.allowed_lateness.us or None,
        "position": side.position,
        "max_future_skew": side.max_future_skew,
    }
    set_ones = [name for name, value in given.items() if value is not None]
    of_both = [name for name in ("watermark", "idle_after") if getattr(join, name) is not None]
    if set_ones or of_both:
        field = (
            f"{set_ones[0]} of a static right side" if set_ones else f"{of_both[0]} with a static right side"
        )
        rule = "its rows arrive before all others, and then its input ends (semantics 36.8)"
        raise SpecError(field, rule, "leave it out, or give it to the left side")


def check_output(port: str, kind: str, static: tuple[str, ...]) -> None:
    """Checks that an output is not one of a static side.

    Raises:
        SpecError: if it is.
    """
    if port in static:
        rule = "a static side has no late and no invalid rows, and no counts (semantics 36.8)"
        raise SpecError(f"{port}.{kind} of a static side", rule, "leave it out")
