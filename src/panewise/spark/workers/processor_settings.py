"""The settings of the stateful processor: its operator, and how its query runs it."""

from dataclasses import dataclass, field

import polars as pl

from panewise.spark.activity import ActivitySettings
from panewise.spark.workers.unpack import Unpack
from panewise.spec import Specification, parts


@dataclass(frozen=True)
class Settings:
    """The settings of a processor.

    With `clocks="control"` and `live`, transcripts can drive a real query.

    Attributes:
        clocks: "spark", or "control" if both clocks come only from control notes.
        live: whether the live windows are emitted after each micro-batch.
        direct: the kind of output that is emitted in real columns; the other kinds are not emitted. Without
            it all kinds are emitted as envelopes.
        state_mb: the largest state of a shard, 0 for no limit.
        reports: whether the output watermark is emitted after each micro-batch, for a second operator.
        fed: the numbers of the shards of the operators whose rows are inputs, by port.
        static: the ports whose rows are the initial state. Their inputs end with it.
        query_ports: the ports whose watermark is that of the query.
        imports: whether the initial state is that of another query (semantics 48.9), and not rows.
        least_watermark: the watermark of the query that it continues, in microseconds; None if there is none.
        activity: how the activity of windows is read, None without a journal.
        emits_panes: whether the emitted rows are not rows of the input.
    """

    spec: Specification
    schemas: dict[str, dict[str, pl.DataType]]
    shard_count: int
    clocks: str = "spark"
    live: bool = False
    direct: Unpack | None = None
    cache_mb: int = 1024
    mirror_mb: int = 4096
    state_mb: int = 0
    reports: bool = False
    fed: dict[str, tuple[int, ...]] = field(default_factory=dict)
    static: tuple[str, ...] = ()
    query_ports: tuple[str, ...] = ()
    imports: bool = False
    least_watermark: int | None = None
    activity: ActivitySettings | None = None
    emits_panes: bool = field(init=False)

    def __post_init__(self) -> None:
        # Decided on the driver, once for all tasks.
        object.__setattr__(self, "emits_panes", not parts(self.spec).passed_on)
