"""The step of one shard in one micro-batch: decodes its envelopes, runs the operator, encodes the output.

Spark delivers the envelopes of a micro-batch in any order. Invariant: the panes do not depend on it. Where
the order of rows matters, each envelope has a place, by which the envelopes are sorted. The rows of all
envelopes of a port are in memory together. Panes are passed on as soon as there are many.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add, itemgetter
from typing import Any

import polars as pl

from panewise.engine.columns import PLACE
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import Port, with_time
from panewise.engine.progress.multi_input import later
from panewise.engine.protocol import Operator
from panewise.spark.shuffle.envelope import (
    CARRIED,
    decode,
    encode,
    kind_of,
    labelled,
    order_and_kind,
    pieces,
    port_of,
)
from panewise.spark.shuffle.reports import KIND, Reports, highest_reports

MANY = 1 << 17  # panes of a step are passed on when there are so many


@dataclass
class PortBatch:
    """The envelopes of one input port, opened and sorted by kind."""

    rows: list[pl.DataFrame] = field(default_factory=list)
    partials: list[pl.DataFrame] = field(default_factory=list)
    invalid: list[pl.DataFrame] = field(default_factory=list)
    marks: list[pl.DataFrame] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    reports: Reports = field(default_factory=dict)

    def add(self, kind: str, payload: bytes) -> None:
        """Opens an envelope. A tick has no content."""
        if kind == "seen":
            self.seen = later(self.seen, json.loads(payload))
        elif kind == KIND:
            self.reports = highest_reports(self.reports, json.loads(payload))
        elif kind != "tick":
            getattr(self, kind).append(decode(payload))


@dataclass
class ShardBatch:
    """The shard batch: the envelopes that a shard receives in one micro-batch, by input port."""

    ports: dict[str, PortBatch] = field(default_factory=dict)
    control: dict[str, Any] = field(default_factory=dict)
    carried: list[tuple[str, bytes]] = field(default_factory=list)  # outputs of earlier operators, in order

    @classmethod
    def read(cls, envelopes: Iterable[tuple[str, bytes]]) -> "ShardBatch":
        """Opens the envelopes."""
        shard_batch, carried = cls(), list[tuple[int, str, bytes]]()
        for label, payload in envelopes:
            if label.startswith(CARRIED):
                carried.append((*order_and_kind(label), payload))
                continue
            kind = kind_of(label)
            if kind == "control":
                shard_batch.control.update(json.loads(payload))
                continue
            shard_batch.ports.setdefault(port_of(label), PortBatch()).add(kind, payload)
        # A shuffle may change the order of the envelopes of a task, and so of the panes of a key.
        shard_batch.carried += ((kind, payload) for _, kind, payload in sorted(carried, key=itemgetter(0)))
        return shard_batch


def step(
    operator: Operator,
    shard_batch: ShardBatch,
    processing_time: int | None,
    watermarks: Mapping[str | None, int] | None = None,
) -> Iterator[Output]:
    """Runs one micro-batch (semantics 18.3), and yields the output of each part.

    First the clock moves, and then the rows of all ports arrive as one batch. They are late by the watermark
    of the micro-batch before. If rows drive the watermarks of inputs, these move next (semantics 12.9). Then
    the other `watermarks` move, by port; that of None is of all ports. Last, the input ends if a control note
    says so.
    """
    before = {port: operator.marks(port) for port in operator.plan.ports}
    if processing_time is not None and any(batch.seen for batch in shard_batch.ports.values()):
        operator.note_rows(processing_time)
    yield operator.advance(processing_time)
    ports = operator.plan.ports
    batches = {name: shard_batch.ports.get(name, PortBatch()) for name in ports}
    for name, batch in batches.items():
        yield from _port_by_port(operator, name, ports[name], batch)
    validated = (name for name, batch in batches.items() if batch.rows and not ports[name].needs_clock)
    yield from operator.add_together(
        {name: _valid(operator, name, batches[name]) for name in validated},
        {name: batch.seen for name, batch in batches.items() if batch.seen},
    )
    for name, port in ports.items():
        marks = batches[name].marks
        if marks:
            # Every shard has the marks of the rows of all shards. So a replay is found even if another shard
            # received the row that raised the mark.
            assert port.entry.position is not None, "only rows with a source position have marks"
            operator.raise_marks(before[name].advanced_by(port.entry.position, pl.concat(marks)), name)
    for source, to in (watermarks or {}).items():
        yield operator.advance(watermark=to, source=source)
    ends = shard_batch.control.get("finish")
    if ends:
        yield operator.finish(ends if isinstance(ends, str) else None)


def _port_by_port(operator: Operator, name: str, port: Port, batch: PortBatch) -> Iterator[Output]:
    """Yields the outputs of what is processed port by port: invalid rows and partials of a port.

    Rows are, too, if the operator validates them again, because their windows depend on its clock.
    """
    if batch.invalid:
        yield _only_invalid(operator, name, pl.concat(batch.invalid))
    if batch.rows and port.needs_clock:
        yield operator.add(_concatenated(batch.rows), name)
    if batch.partials:
        several = len(batch.partials) > 1
        merged = port.combine_again(pl.concat(batch.partials)) if several else batch.partials[0]
        assert operator.combined_input is not None, "a port combines rows only for such an operator"
        yield operator.combined_input.add_combined(merged, name)


def _concatenated(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Returns the rows of all envelopes.

    If places matter, each envelope has the place of its first row. The envelopes are sorted by it, and the
    rows get new places. Columns are rechunked, because gathering rows from several chunks takes four times as
    long.
    """
    if PLACE not in frames[0].columns:
        return pl.concat(frames, rechunk=True)
    rows = pl.concat(sorted(frames, key=lambda frame: int(frame[PLACE][0])), rechunk=True)
    return rows.with_columns(pl.int_range(rows.height, dtype=pl.Int64, eager=True).alias(PLACE))


def _valid(operator: Operator, name: str, batch: PortBatch) -> pl.DataFrame:
    """Returns the rows of a port, which were validated where they were read, with their event times."""
    rows, entry = _concatenated(batch.rows), operator.plan.ports[name].entry
    return with_time(entry, rows, operator.state.clocks.processing_time)


def _only_invalid(operator: Operator, name: str, invalid: pl.DataFrame) -> Output:
    port, count = operator.plan.ports[name], invalid.height
    nothing = Output.nothing(operator.plan.pane_schema, port.late_schema, port.invalid_schema)
    return replace(nothing, invalid=invalid, counts=Counts(rows_in=count, invalid=count), port=name)


@dataclass
class OutputBuffer:
    """The outputs of a step, as they come. Many panes are not all in memory together."""

    _outputs: list[Output] = field(default_factory=list)

    def many_panes(self, outputs: Iterable[Output]) -> Iterator[pl.DataFrame]:
        """Takes all outputs. Each time that there are many panes, yields them."""
        count = 0
        for output in outputs:
            self._outputs.append(output)
            count += output.panes.height
            del output
            if count >= MANY:
                panes = StepOutput.concatenated(self._outputs).panes
                self._outputs = [replace(output, panes=output.panes.clear()) for output in self._outputs]
                count = 0
                yield panes
                del panes

    def rest(self) -> "StepOutput":
        """Returns the outputs without the panes that were yielded."""
        return StepOutput.concatenated(self._outputs)


@dataclass(frozen=True)
class StepOutput:
    """The outputs of a step, concatenated.

    Attributes:
        ports: late rows, invalid rows and counts, as one output for each port that has any.
    """

    panes: pl.DataFrame
    ports: tuple[Output, ...]

    @classmethod
    def concatenated(cls, outputs: Iterable[Output]) -> "StepOutput":
        """Returns the outputs of a step; most of them are empty and are left out."""
        taken = list(outputs)
        panes = [output.panes for output in taken if output.panes.height]
        by_port: dict[str, list[Output]] = {}
        for output in taken:
            if output.late.height or output.invalid.height or output.counts != Counts():
                by_port.setdefault(output.port, []).append(output)
        merged = (of_port[0] if len(of_port) == 1 else Output.merged(of_port) for of_port in by_port.values())
        return cls(pl.concat(panes) if panes else taken[0].panes, tuple(merged))

    @property
    def counts(self) -> Counts:
        """The sums of the counts of all ports."""
        return reduce(add, (output.counts for output in self.ports)) if self.ports else Counts()

    def tables(
        self, shard: int, processing_time: int, watermark: int | None
    ) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yields the table of each kind of output, without the empty ones."""
        if self.panes.height:
            yield "panes", self.panes
        for output in self.ports:
            rejected = {"late": output.late, "invalid": output.invalid}
            yield from (
                (labelled(kind, output.port), table) for kind, table in rejected.items() if table.height
            )
            if output.counts != Counts():
                clocks = {"watermark": watermark, "processing_time": processing_time}
                line = {"shard": shard, **vars(output.counts), **clocks}
                yield labelled("counts", output.port), pl.DataFrame([line], schema=COUNTS)


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
