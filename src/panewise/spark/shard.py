"""What one shard does in one micro-batch: the envelopes of a batch through the engine, and out again as envelopes."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from panewise.engine.chain.operator import AnyOperator
from panewise.engine.columns import PLACE
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import with_time
from panewise.engine.progress.multi_input import later
from panewise.engine.windowing.preaggregate import combine_again
from panewise.engine.windows.operator import Operator
from panewise.spark.envelope import decode, encode, pieces


@dataclass
class Mail:
    """The envelopes that a shard received in one micro-batch, by kind."""

    rows: list[pl.DataFrame] = field(default_factory=list)
    partials: list[pl.DataFrame] = field(default_factory=list)
    invalid: list[pl.DataFrame] = field(default_factory=list)
    marks: list[pl.DataFrame] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    control: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, envelopes: Iterable[tuple[str, bytes]]) -> "Mail":
        """Opens the envelopes."""
        mail = cls()
        for kind, payload in envelopes:
            if kind == "control":
                mail.control.update(json.loads(payload))
            elif kind == "seen":
                mail.seen = later(mail.seen, json.loads(payload))
            elif kind != "tick":
                getattr(mail, kind).append(decode(payload))
        return mail


def step(operator: AnyOperator, mail: Mail, processing_time: int | None, watermark: int | None) -> Iterator[Output]:
    """One micro-batch (semantics 18): the clocks move together, the rows arrive, their inputs tell, and input may end."""
    before = operator.state.marks
    yield operator.advance(processing_time, watermark, mail.control.get("input"))
    if mail.invalid:
        refused = pl.concat(mail.invalid)
        yield _only_invalid(operator, refused)
    if mail.rows:
        yield _taken(operator, _together(mail.rows))
    if mail.partials and isinstance(operator, Operator):
        one = mail.partials[0] if len(mail.partials) == 1 else combine_again(operator.plan, pl.concat(mail.partials))
        yield operator.add_combined(one)
    if mail.seen and not operator.plan.each_tells:
        yield operator.tell(mail.seen)
    if mail.marks:
        # Those of all shards' rows, so that a replay is one wherever the row that raised the mark went; in every shard the same.
        operator.raise_marks(before.raised(operator.plan.spec, pl.concat(mail.marks)))
    if mail.control.get("finish"):
        yield operator.finish()


def _together(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """The rows of all envelopes. Where places matter, each envelope has that of its first row, and rows get theirs anew.

    Columns are in one piece each: gathering rows from several takes four times as long.
    """
    if PLACE not in frames[0].columns:
        return pl.concat(frames, rechunk=True)
    rows = pl.concat(sorted(frames, key=lambda frame: int(frame[PLACE][0])), rechunk=True)
    return rows.with_columns(pl.int_range(rows.height, dtype=pl.Int64, eager=True).alias(PLACE))


def _taken(operator: AnyOperator, rows: pl.DataFrame) -> Output:
    """The rows that were judged where they were read; those whose time is that of their arrival are asked for their windows only here."""
    spec, now = operator.plan.spec, operator.state.clocks.processing_time
    judged_here = spec.time == "processing" and isinstance(operator, Operator)
    return operator.add(rows) if judged_here else operator.add_valid(with_time(spec, rows, now))


def _only_invalid(operator: AnyOperator, refused: pl.DataFrame) -> Output:
    plan, count = operator.plan, refused.height
    nothing = Output.nothing(operator.pane_schema, plan.late_schema, plan.invalid_schema)
    return replace(nothing, invalid=refused, counts=Counts(rows_in=count, invalid=count))


def telling(outputs: Iterable[Output]) -> Output:
    """The outputs of a step as one; most have nothing to tell."""
    given = list(outputs)
    return Output.joined([output for output in given if any(_frames(output)) or output.counts != Counts()] or given[:1])


def tables(output: Output, shard: int, processing_time: int, watermark: int | None) -> Iterator[tuple[str, pl.DataFrame]]:
    """An output as a table for each kind; not those that are empty."""
    yield from _frames(output)
    if output.counts != Counts():
        line = {"shard": shard, **vars(output.counts), "watermark": watermark, "processing_time": processing_time}
        yield "counts", pl.DataFrame([line], schema=COUNTS)


def _frames(output: Output) -> Iterator[tuple[str, pl.DataFrame]]:
    for kind in ("panes", "late", "invalid"):
        frame: pl.DataFrame = getattr(output, kind)
        if not frame.is_empty():
            yield kind, frame


def envelopes(output: Output, shard: int, processing_time: int, watermark: int | None) -> Iterator[tuple[str, bytes]]:
    """An output as envelopes, each of which is encoded when it is asked for."""
    return encoded(tables(output, shard, processing_time, watermark))


def encoded(emitted: Iterable[tuple[str, pl.DataFrame]]) -> Iterator[tuple[str, bytes]]:
    """Tables as envelopes of bounded size, each of which is encoded when it is asked for."""
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
