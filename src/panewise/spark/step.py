"""The step of one shard in one micro-batch: decodes its envelopes, runs the operator, encodes the output."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from panewise.engine.columns import PLACE
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import with_time
from panewise.engine.progress.multi_input import later
from panewise.engine.registry import AnyOperator
from panewise.engine.windowing.preaggregate import combine_again
from panewise.engine.windows.operator import Operator
from panewise.spark.envelope import decode, encode, pieces


@dataclass
class ShardBatch:
    """The shard batch: the envelopes that a shard receives in one micro-batch, opened and sorted by kind."""

    rows: list[pl.DataFrame] = field(default_factory=list)
    partials: list[pl.DataFrame] = field(default_factory=list)
    invalid: list[pl.DataFrame] = field(default_factory=list)
    marks: list[pl.DataFrame] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    control: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, envelopes: Iterable[tuple[str, bytes]]) -> "ShardBatch":
        """Opens the envelopes."""
        shard_batch = cls()
        for kind, payload in envelopes:
            if kind == "control":
                shard_batch.control.update(json.loads(payload))
            elif kind == "seen":
                shard_batch.seen = later(shard_batch.seen, json.loads(payload))
            elif kind != "tick":
                getattr(shard_batch, kind).append(decode(payload))
        return shard_batch


def step(
    operator: AnyOperator, shard_batch: ShardBatch, processing_time: int | None, watermark: int | None
) -> Iterator[Output]:
    """Runs one micro-batch (semantics 18), and yields the output of each part.

    First the clocks move together, and then the rows arrive. If rows drive the watermarks of inputs, these
    move next (semantics 12.9). Last, the input ends if a control note says so.
    """
    before = operator.state.marks
    yield operator.advance(processing_time, watermark, shard_batch.control.get("input"))
    if shard_batch.invalid:
        refused = pl.concat(shard_batch.invalid)
        yield _only_invalid(operator, refused)
    if shard_batch.rows:
        yield _taken(operator, _together(shard_batch.rows))
    if shard_batch.partials and isinstance(operator, Operator):
        one = (
            shard_batch.partials[0]
            if len(shard_batch.partials) == 1
            else combine_again(operator.plan, pl.concat(shard_batch.partials))
        )
        yield operator.add_combined(one)
    if shard_batch.seen and not operator.plan.advances_per_row:
        yield operator.tell(shard_batch.seen)
    if shard_batch.marks:
        # Every shard has the marks of the rows of all shards. So a replay is found even if another shard
        # received the row that raised the mark.
        operator.raise_marks(before.raised(operator.plan.spec, pl.concat(shard_batch.marks)))
    if shard_batch.control.get("finish"):
        yield operator.finish()


def _together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Returns the rows of all envelopes.

    If places matter, each envelope has the place of its first row. The envelopes are sorted by it, and the
    rows get new places. Columns are rechunked, because gathering rows from several chunks takes four times as
    long.
    """
    if PLACE not in frames[0].columns:
        return pl.concat(frames, rechunk=True)
    rows = pl.concat(sorted(frames, key=lambda frame: int(frame[PLACE][0])), rechunk=True)
    return rows.with_columns(pl.int_range(rows.height, dtype=pl.Int64, eager=True).alias(PLACE))


def _taken(operator: AnyOperator, rows: pl.DataFrame) -> Output:
    """Adds rows that were validated where they were read.

    Windows of processing time are assigned only here, because they depend on the clock of the operator.
    """
    spec, now = operator.plan.spec, operator.state.clocks.processing_time
    validate_here = spec.time == "processing" and isinstance(operator, Operator)
    return operator.add(rows) if validate_here else operator.add_valid(with_time(spec, rows, now))


def _only_invalid(operator: AnyOperator, refused: pl.DataFrame) -> Output:
    plan, count = operator.plan, refused.height
    nothing = Output.nothing(operator.pane_schema, plan.late_schema, plan.invalid_schema)
    return replace(nothing, invalid=refused, counts=Counts(rows_in=count, invalid=count))


def telling(outputs: Iterable[Output]) -> Output:
    """Concatenates the outputs of a step, without the empty ones, which are most of them."""
    given = list(outputs)
    return Output.joined(
        [output for output in given if any(_frames(output)) or output.counts != Counts()] or given[:1]
    )


def tables(
    output: Output, shard: int, processing_time: int, watermark: int | None
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yields the table of each kind of output, without the empty ones."""
    yield from _frames(output)
    if output.counts != Counts():
        line = {
            "shard": shard,
            **vars(output.counts),
            "watermark": watermark,
            "processing_time": processing_time,
        }
        yield "counts", pl.DataFrame([line], schema=COUNTS)


def _frames(output: Output) -> Iterator[tuple[str, pl.DataFrame]]:
    for kind in ("panes", "late", "invalid"):
        frame: pl.DataFrame = getattr(output, kind)
        if not frame.is_empty():
            yield kind, frame


def envelopes(
    output: Output, shard: int, processing_time: int, watermark: int | None
) -> Iterator[tuple[str, bytes]]:
    """Returns an output as envelopes, each of which is encoded when it is requested."""
    return encoded(tables(output, shard, processing_time, watermark))


def encoded(emitted: Iterable[tuple[str, pl.DataFrame]]) -> Iterator[tuple[str, bytes]]:
    """Returns tables as envelopes of bounded size, each of which is encoded when it is requested."""
    return ((kind, encode(piece)) for kind, table in emitted for piece in pieces(table))


COUNTS: dict[str, pl.DataType] = {
    "shard": pl.Int32(),
    "rows_in": pl.Int64(),
    "applied": pl.Int64(),
    "replays": pl.Int64(),
    "late": pl.Int64(),
    "invalid": pl.Int64(),
    "partially_late": pl.Int64(),
    "watermark": pl.Int64(),
    "processing_time": pl.Int64(),
}
