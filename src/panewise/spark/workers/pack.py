"""Pack: turns the Arrow batches of the input into a few envelopes. Stateless; runs inside ``mapInArrow``.

It validates rows, pre-aggregates them where that is possible, and cuts them by shard.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
from pyspark import TaskContext

from panewise.engine.columns import PLACE, REASON, TIME
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.validate import Port
from panewise.engine.kernels.hashing import shard_places
from panewise.engine.progress.multi_input import later, latest_of
from panewise.engine.registry import plan_for
from panewise.errors import InputError, PanewiseError
from panewise.families import INPUT
from panewise.spark.columns.types import in_utc
from panewise.spark.shuffle.envelope import batch, carried, encode, groups, labelled, pieces
from panewise.spark.shuffle.reports import KIND, PROGRESS, Reports, highest_reports
from panewise.spark.workers.worker import hide_traceback, settle
from panewise.spec import Specification, parts

SHARD = "__shard"
NOW = "__now"  # column of the micro-batch's timestamp, if max_future_skew needs it
_CHUNK_ROWS = 1 << 20  # rows validated and combined at once: enough to combine well, few enough for memory


@dataclass(frozen=True)
class Pack:
    """The function that ``mapInArrow`` calls with each partition of the input.

    Attributes:
        late_wanted: whether the late rows are an output. Rows are then not pre-aggregated.
        by_place: whether the columns of the input have other names. They are then found by their places:
            first the columns of the schema, then `more`.
        more: further columns: the timestamp of the micro-batch, and the reports of an operator.
        label: the name that Spark shows in plans (:mod:`panewise.spark.inputs.ancestry`).
        shard_keys: the columns that decide the shard of a row; empty if all rows have one shard.
    """

    spec: Specification
    schemas: dict[str, dict[str, pl.DataType]]
    shards: list[int]
    late_wanted: bool
    port: str = INPUT
    by_place: bool = False
    more: tuple[str, ...] = ()
    label: str = "panewise"
    strict: bool = False
    shard_keys: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # Decided on the driver, once for all tasks.
        object.__setattr__(self, "shard_keys", parts(self.spec).shard_keys(self.spec, self.port))

    @property
    def __name__(self) -> str:
        """The name of the function in plans."""
        return self.label

    def combines(self, plan: Port) -> bool:
        """Returns whether rows are pre-aggregated here."""
        return not self.late_wanted and plan.can_combine

    def spare(self, plan: Port) -> list[str]:
        """Returns the columns of valid rows that need not travel.

        The step computes the event time again. It needs places only for late rows, or if ties matter.
        """
        return [TIME] if self.late_wanted or plan.ties_matter else [TIME, PLACE]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the envelopes of one partition."""
        settle()
        context = TaskContext.get()
        try:
            port = plan_for(self.spec, self.schemas).ports[self.port]
            packer = _Packer(self, port, 0 if context is None else context.partitionId())
            for chunk in _chunks(batches):
                yield from packer.take(self._named(chunk))
            yield from packer.finish()
        except PanewiseError:
            hide_traceback()
            raise

    def _named(self, chunk: pa.Table) -> pa.Table:
        """Returns the chunk with the column names of the schema."""
        return chunk.rename_columns([*self.schemas[self.port], *self.more]) if self.by_place else chunk


def _chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields the batches, concatenated into chunks of `_CHUNK_ROWS` rows or more; the last may be shorter."""
    collected: list[pa.RecordBatch] = []
    for arrived in batches:
        if arrived.num_rows:
            collected.append(arrived)
        if sum(b.num_rows for b in collected) >= _CHUNK_ROWS:
            yield pa.Table.from_batches(collected)
            collected = []
    if collected:
        yield pa.Table.from_batches(collected)


@dataclass
class _Packer:
    """Packs one partition, and collects what is emitted at its end."""

    pack: Pack
    plan: Port
    partition: int
    rows: int = 0
    partials: list[pl.DataFrame] = field(default_factory=list)
    marks: list[pl.DataFrame] = field(default_factory=list)  # marks of the rows
    seen: dict[str, int] = field(default_factory=dict)  # the highest event time of each input
    reports: Reports = field(default_factory=dict)  # those of the operator whose rows these are
    envelopes: int = 0  # how many envelopes of an earlier operator were among the rows
    last: pl.DataFrame | None = None  # the source position of the last row, and its shard

    def take(self, chunk: pa.Table) -> Iterator[pa.RecordBatch]:
        """Validates a chunk. Its rows are emitted at once, or combined until the end of the partition."""
        frame = _typed(chunk, self.plan)
        if PROGRESS in self.pack.more:
            yield from self._passed_on(frame[PROGRESS].drop_nulls())
            frame = frame.filter(pl.col(PROGRESS).is_null()).drop(PROGRESS)
            if frame.is_empty():
                return
        now = int(frame[NOW][0]) if NOW in frame.columns else 0
        first = (self.partition << 40) + self.rows
        place = pl.int_range(first, first + frame.height, dtype=pl.Int64, eager=True)
        self.rows += frame.height
        validated = self.plan.validate(
            frame.with_columns(place.alias(PLACE)), now, windows=not self.plan.needs_clock
        )
        if not validated.invalid.is_empty():
            yield from self._rejected(validated.invalid)
        if self.plan.entry.position is not None and not validated.valid.is_empty():
            self.marks.append(Marks.offsets_of(self.plan.entry.position, validated.valid))
        if self.plan.row_driven_inputs is not None:
            self.seen = later(self.seen, latest_of(self.plan.row_driven_inputs, validated.valid))
        if self.pack.combines(self.plan):
            self.partials.append(self.plan.combine(validated.valid))
        else:
            yield from self._sharded("rows", validated.valid.drop(self.pack.spare(self.plan)))

    def _rejected(self, invalid: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        """Yields invalid rows for one shard, or raises an error of the first if no output has them."""
        if self.pack.strict:
            raise _invalid(self.pack.port, invalid)
        shard = self._any_shard
        yield from self._batches((shard, "invalid", encode(piece)) for piece in pieces(invalid.drop(PLACE)))

    def _passed_on(self, envelopes: pl.Series) -> Iterator[pa.RecordBatch]:
        """Collects the reports among envelopes, and yields the others unopened for one shard."""
        shard = self._any_shard
        for envelope in envelopes:
            kind, payload = envelope["kind"], envelope["payload"]
            self.envelopes += 1
            if kind == KIND:
                self.reports = highest_reports(self.reports, json.loads(payload))
            else:
                yield batch([(shard, carried(kind, self.envelopes), payload)])

    @property
    def _any_shard(self) -> int:
        """The shard that gets envelopes of no particular shard. It differs between partitions."""
        return self.pack.shards[self.partition % len(self.pack.shards)]

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yields what is emitted at the end of the partition.

        These are the partials and, for every shard, the marks and the highest event times of inputs. If there
        are no marks and event times, every shard gets a tick. So each shard sees the clocks of every
        micro-batch. A partition without rows and envelopes yields nothing.
        """
        if not self.rows and not self.envelopes:
            return
        if self.partials:
            several = len(self.partials) > 1
            merged = self.plan.combine_again(pl.concat(self.partials)) if several else self.partials[0]
            yield from self._sharded("partials", merged)
        marks = pieces(pl.concat(self.marks).unique(maintain_order=True)) if self.marks else ()
        envelopes = [("marks", encode(piece)) for piece in marks]
        envelopes += [("seen", json.dumps(self.seen, sort_keys=True).encode())] if self.seen else []
        envelopes += [(KIND, json.dumps(self.reports, sort_keys=True).encode())] if self.reports else []
        yield from self._batches(
            (shard, *envelope) for shard in self.pack.shards for envelope in envelopes or [("tick", b"")]
        )

    def _sharded(self, kind: str, frame: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        """Returns the envelopes of a frame that is cut by shard."""
        cut = {self.pack.shards[0]: frame}
        if len(self.pack.shards) > 1:
            sharded = self._with_positions_in_one_shard(
                with_shards(frame, list(self.pack.shard_keys) or self.plan.keys, self.pack.shards)
            )
            cut = {
                int(shard): part
                for (shard,), part in sharded.partition_by(SHARD, as_dict=True, include_key=False).items()
            }
        return self._batches(
            (shard, kind, _encoded(piece)) for shard, part in cut.items() for piece in pieces(part)
        )

    def _batches(self, envelopes: Iterable[tuple[int, str, bytes]]) -> Iterator[pa.RecordBatch]:
        """Returns envelopes of the port as Arrow batches of bounded size."""
        named = ((shard, labelled(kind, self.pack.port), payload) for shard, kind, payload in envelopes)
        return (batch(group) for group in groups(named))

    def _with_positions_in_one_shard(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Moves rows of one source position to the shard of the first of them.

        The others are replays there (semantics 4.2).
        """
        position = self.plan.entry.position
        if position is None:
            return rows
        places = rows.select(*position.columns, SHARD)
        places_with_last = places if self.last is None else pl.concat([self.last, places])
        places_with_last = places_with_last.with_columns(pl.col(SHARD).first().over(position.columns))
        self.last = places_with_last.tail(1)
        return rows.with_columns(places_with_last[SHARD].tail(rows.height))


def with_shards(frame: pl.DataFrame, keys: list[str], shards: list[int]) -> pl.DataFrame:
    """Returns the frame with the shard of each row in ``__shard``.

    A stable hash of the key columns decides it. As it is where the state of the key is stored, it depends
    neither on the version of a library nor on the process.
    """
    numbers = np.asarray(shards, dtype=np.int32)
    return frame.with_columns(pl.Series(SHARD, numbers[shard_places(frame, keys, len(shards))]))


def _invalid(port: str, invalid: pl.DataFrame) -> InputError:
    """Returns the error for invalid rows of a static side."""
    fault = f"{invalid.height} invalid rows of the static {port} side, the first one: {invalid[REASON][0]}"
    rule = "a static side has no output of invalid rows (semantics 36.8)"
    return InputError(fault, rule, "filter them before the join")


def _encoded(rows: pl.DataFrame) -> bytes:
    """Encodes rows as a payload, with the place of the first row only.

    That is enough, because places ascend and only their order matters.
    :mod:`panewise.spark.workers.step` numbers the rows again.
    """
    if PLACE not in rows.columns:
        return encode(rows)
    return encode(rows.drop(PLACE), {PLACE: int(rows[PLACE][0])})


def _typed(chunk: pa.Table, plan: Port) -> pl.DataFrame:
    """Returns the chunk with the types of the plan."""
    frame = pl.DataFrame(chunk.cast(in_utc(chunk.schema)))
    casts = [pl.col(name).cast(dtype) for name, dtype in plan.schema.items() if frame.schema[name] != dtype]
    if NOW in frame.columns:
        casts.append(pl.col(NOW).dt.epoch("us"))
    return frame.with_columns(casts)


@dataclass(frozen=True)
class Control:
    """The function that ``mapInArrow`` calls with control notes (JSON text in one column).

    Every shard gets each note.
    """

    shards: list[int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the envelopes of the notes."""
        settle()
        for arrived in batches:
            for note in arrived.column(0).to_pylist():
                yield batch([(shard, "control", note.encode()) for shard in self.shards])


def note(**values: int | str) -> str:
    """Returns a control note as JSON. With several inputs, a watermark comes with the name of its `input`."""
    return json.dumps(values)
