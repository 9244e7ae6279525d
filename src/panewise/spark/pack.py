"""Pack: Arrow batches as Spark made them into a few envelopes. Stateless; runs inside ``mapInArrow``."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
from pyspark import TaskContext

from panewise.engine.columns import PLACE, TIME
from panewise.engine.ingest.arrival import Marks
from panewise.engine.over.plan import FramePlan
from panewise.engine.plans import plan_of
from panewise.engine.progress.multi_input import later, latest_of
from panewise.engine.windowing.plan import Plan
from panewise.engine.windowing.preaggregate import combine, combine_again
from panewise.spark.envelope import batch, encode, groups, pieces
from panewise.spark.sharding import SHARD, with_shards
from panewise.spark.types import in_utc
from panewise.spark.worker import settle, short_errors
from panewise.spec import Entry

NOW = "__now"  # the micro-batch's timestamp, as a column, where validity needs it
_CHUNK_ROWS = 1 << 20  # rows validated and combined at once: enough to combine well, little enough to hold


@dataclass(frozen=True)
class Pack:
    """The function that ``mapInArrow`` calls with each partition of the input.

    `by` are the keys that shards are made by, where those are not all. With `by_place` the columns of the input have other names: they are
    those of the schema, in its order, and perhaps the timestamp of the micro-batch.
    Spark shows `label` in plans (:mod:`panewise.spark.ancestry`).
    """

    spec: Entry
    schema: dict[str, pl.DataType]
    shards: list[int]
    late_wanted: bool
    by: tuple[str, ...] = ()
    by_place: bool = False
    label: str = "panewise"

    @property
    def __name__(self) -> str:
        """The name of the function in plans."""
        return self.label

    def combines(self, plan: Plan | FramePlan) -> bool:
        """Whether rows are combined here."""
        return not self.late_wanted and plan.can_combine

    def spare(self, plan: Plan | FramePlan) -> list[str]:
        """Columns of valid rows that need not travel: the event time is told twice, and a place may matter to nobody."""
        return [TIME] if self.late_wanted or plan.ties_matter else [TIME, PLACE]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Envelopes of one partition."""
        settle()
        context = TaskContext.get()
        with short_errors():
            packer = _Packer(self, plan_of(self.spec, self.schema), 0 if context is None else context.partitionId())
            for chunk in _chunks(batches):
                yield from packer.take(self._named(chunk))
            yield from packer.finish()

    def _named(self, chunk: pa.Table) -> pa.Table:
        """The chunk under the names of its columns."""
        return chunk.rename_columns([*self.schema, NOW][: chunk.num_columns]) if self.by_place else chunk


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, joined into chunks of a useful size."""
    waiting: list[pa.RecordBatch] = []
    for arrived in batches:
        if arrived.num_rows:
            waiting.append(arrived)
        if sum(b.num_rows for b in waiting) >= _CHUNK_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


@dataclass
class _Packer:
    """What one partition has gathered so far."""

    pack: Pack
    plan: Plan | FramePlan
    partition: int
    rows: int = 0
    partials: list[pl.DataFrame] = field(default_factory=list)
    marks: list[pl.DataFrame] = field(default_factory=list)  # what there is to note of the rows' positions
    seen: dict[str, int] = field(default_factory=dict)  # the highest event time of each input
    last: pl.DataFrame | None = None  # the source position of the last row, and its shard

    def take(self, chunk: pa.Table) -> Iterator[pa.RecordBatch]:
        """Validates a chunk. Its rows are sent at once, or are combined until the end of the partition."""
        frame = _typed(chunk, self.plan)
        now = int(frame[NOW][0]) if NOW in frame.columns else 0
        first = (self.partition << 40) + self.rows
        place = pl.int_range(first, first + frame.height, dtype=pl.Int64, eager=True)
        self.rows += frame.height
        validated = self.plan.validate(frame.with_columns(place.alias(PLACE)), now, windows=self.plan.spec.time == "event")
        if not validated.invalid.is_empty():
            shard = self.pack.shards[self.partition % len(self.pack.shards)]
            yield from _batches((shard, "invalid", encode(piece)) for piece in pieces(validated.invalid.drop(PLACE)))
        noted = Marks.noted(self.plan.spec, validated.valid)
        self.marks += [] if noted is None else [noted]
        if self.plan.hears is not None:
            self.seen = later(self.seen, latest_of(self.plan.hears, validated.valid))
        if isinstance(self.plan, Plan) and self.pack.combines(self.plan):
            self.partials.append(combine(self.plan, validated.valid))
        else:
            yield from self._sharded("rows", validated.valid.drop(self.pack.spare(self.plan)))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """What waits for the end of the partition; and to every shard what it told, or a tick: so each sees the clocks of every batch."""
        if not self.rows:
            return
        if self.partials and isinstance(self.plan, Plan):
            together = self.partials[0] if len(self.partials) == 1 else combine_again(self.plan, pl.concat(self.partials))
            yield from self._sharded("partials", together)
        marks = pieces(pl.concat(self.marks).unique(maintain_order=True)) if self.marks else ()
        told = [("marks", encode(piece)) for piece in marks]
        told += [("seen", json.dumps(self.seen, sort_keys=True).encode())] if self.seen else []
        yield from _batches((shard, *note) for shard in self.pack.shards for note in told or [("tick", b"")])

    def _sharded(self, kind: str, frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        """The frame cut by shard."""
        cut = {self.pack.shards[0]: frame}
        if len(self.pack.shards) > 1:
            sharded = self._together(with_shards(frame, list(self.pack.by) or self.plan.keys, self.pack.shards))
            cut = {int(shard): part for (shard,), part in sharded.partition_by(SHARD, as_dict=True, include_key=False).items()}
        return _batches((shard, kind, _encoded(piece)) for shard, part in cut.items() for piece in pieces(part))

    def _together(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of one source position go to the shard of the first of them, where the others are replays (semantics 4.2)."""
        position = self.plan.spec.position
        if position is None:
            return rows
        places = rows.select(*position.columns, SHARD)
        both = places if self.last is None else pl.concat([self.last, places])
        both = both.with_columns(pl.col(SHARD).first().over(position.columns))
        self.last = both.tail(1)
        return rows.with_columns(both[SHARD].tail(rows.height))


def _batches(envelopes: Iterable[tuple[int, str, bytes]]) -> Iterator[pa.RecordBatch]:
    """Envelopes as Arrow batches of bounded size."""
    return (batch(group) for group in groups(envelopes))


def _encoded(rows: pl.DataFrame) -> bytes:
    """Rows as a payload. Their places rise, and only order counts, so the first one tells enough (see :mod:`panewise.spark.shard`)."""
    if PLACE not in rows.columns:
        return encode(rows)
    return encode(rows.drop(PLACE), {PLACE: int(rows[PLACE][0])})


def _typed(chunk: pa.Table, plan: Plan | FramePlan) -> pl.DataFrame:
    """The chunk with the plan's types."""
    frame = pl.DataFrame(in_utc(chunk))
    casts = [pl.col(name).cast(dtype) for name, dtype in plan.schema.items() if frame.schema[name] != dtype]
    if NOW in frame.columns:
        casts.append(pl.col(NOW).dt.epoch("us"))
    return frame.with_columns(casts)


@dataclass(frozen=True)
class Control:
    """The function that ``mapInArrow`` calls with control notes (JSON text in one column): each goes to every shard."""

    shards: list[int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Envelopes of the notes."""
        settle()
        for arrived in batches:
            for note in arrived.column(0).to_pylist():
                yield batch([(shard, "control", note.encode()) for shard in self.shards])
