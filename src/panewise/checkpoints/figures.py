"""What is shown of the state in a checkpoint."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from panewise.engine.progress.clocks import highest
from panewise.spec import Specification

# Is called with what is being read, in words, and the share of the whole that has been read, from 0 to 1.
ShowProgress: TypeAlias = Callable[[str, float], None]


def silent(words: str, share: float) -> None:
    """Shows no progress."""


@dataclass(frozen=True)
class ShardFigures:
    """The state of one shard. Instants are in microseconds (semantics 1).

    The clocks are those of the shard's last commit. A shard commits when its state changes and, if it follows
    the watermark of the query, when that has moved to another millisecond. It does not commit when only
    processing time moves.

    Attributes:
        shard: the number of the shard.
        windows: how many windows are stored. In a chain these are the windows of the operator, in an OVER
            operator the rows that wait for the watermark.
        keys: how many different keys the windows have.
        runs: how many runs are stored.
        bytes: the stored length of the runs.
        watermark: the watermark, None if there is none.
        processing_time: the processing time.
        finished: whether the input has ended.
        oldest_end: the lowest end of a window, None without windows that end in time.
        newest_end: the highest end of a window, None without windows that end in time.
    """

    shard: int
    windows: int = 0
    keys: int = 0
    runs: int = 0
    bytes: int = 0
    watermark: int | None = None
    processing_time: int = 0
    finished: bool = False
    oldest_end: int | None = None
    newest_end: int | None = None


@dataclass(frozen=True)
class OperatorFigures:
    """The state of one operator of a query.

    `shard_count` is the number of shards. `shards` has only those that have stored anything.
    """

    operator: int
    spec: Specification | None
    shard_count: int
    shards: tuple[ShardFigures, ...]

    @property
    def total(self) -> ShardFigures:
        """The sums over all shards, as shard -1, with the latest of their clocks."""
        shards = self.shards
        ends = [end for shard in shards for end in (shard.oldest_end, shard.newest_end) if end is not None]
        return ShardFigures(
            shard=-1,
            windows=sum(shard.windows for shard in shards),
            keys=sum(shard.keys for shard in shards),
            runs=sum(shard.runs for shard in shards),
            bytes=sum(shard.bytes for shard in shards),
            watermark=highest(shard.watermark for shard in shards),
            processing_time=max((shard.processing_time for shard in shards), default=0),
            finished=bool(shards) and all(shard.finished for shard in shards),
            oldest_end=min(ends, default=None),
            newest_end=max(ends, default=None),
        )


@dataclass(frozen=True)
class CheckpointFigures:
    """The state of the operators of a query when a micro-batch was committed."""

    checkpoint: str
    batch: int
    operators: tuple[OperatorFigures, ...]
