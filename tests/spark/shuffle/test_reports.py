"""Two operators, one behind the other, without a query: both steps with several shards (semantics 42.6)."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

import panewise as pw
from panewise import functions as F
from panewise.engine.protocol import Operator
from panewise.engine.registry import operator_for
from panewise.families import INPUT
from panewise.oracle import interpreter
from panewise.spark.columns.types import polars_schema, spark_schema
from panewise.spark.dataflow.output_schemas import unpack_of
from panewise.spark.shard_numbers import even_shards
from panewise.spark.shuffle.reports import KIND, PROGRESS, Reports, highest_reports, lowest, report
from panewise.spark.workers.pack import Pack
from panewise.spark.workers.step import ShardBatch, StepOutput, encoded, step
from panewise.spark.workers.unpack import UnpackWithReports
from panewise.spec import Specification
from panewise.testing.compare import same
from panewise.testing.event import Event
from panewise.testing.events import Script, script
from panewise.testing.ingest import FLAGS, frame, schema
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs
from panewise.testing.runtimes import oracle as in_oracle
from panewise.testing.windowed_joins import TRIGGERS
from tests.engine.effort import FEW

SHARDS = even_shards(3)
Envelopes = list[tuple[int, str, bytes]]
Batches = Iterable[pa.RecordBatch]


@dataclass
class Shards:
    """The shards of one operator, and the reports that they have received."""

    spec: Specification
    schemas: dict[str, dict[str, pl.DataType]]
    operators: dict[int, Operator] = field(default_factory=dict)
    reports: Reports = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.operators = {shard: operator_for(self.spec, self.schemas) for shard in SHARDS}

    def packed(self, port: str, batches: Batches, more: tuple[str, ...] = ()) -> Envelopes:
        pack = Pack(self.spec, self.schemas, SHARDS, True, port, more=more)
        found = [row for batch in pack(iter(batches)) for row in batch.to_pylist()]
        return [(row["shard"], row["kind"], row["payload"]) for row in found]

    def ran(self, envelopes: Envelopes, event: Event, *, fed: bool) -> Iterator[tuple[int, StepOutput]]:
        """Runs the micro-batch of an event in all shards."""
        now, to = (event.to, None) if event.op == "clock" else (None, None if fed else event.to)
        for shard, operator in self.operators.items():
            given = ShardBatch.read((kind, payload) for one, kind, payload in envelopes if one == shard)
            moves = {} if to is None else {event.source: to}
            if fed:
                self.reports = highest_reports(
                    self.reports, given.ports[INPUT].reports if given.ports else {}
                )
                mark = lowest(self.reports, tuple(SHARDS))
                moves = {} if mark is None else {None: mark}
            yield shard, StepOutput.concatenated(step(operator, given, now, moves))


@dataclass
class Query:
    """A join and windows over its result, as a query runs them."""

    played: Script
    windows: pw.WindowOperator

    def __post_init__(self) -> None:
        inputs = {side: schema(types) | FLAGS for side, types in self.played.types.items()}
        self.first = Shards(self.played.spec, inputs)
        own = {side: schema(types) for side, types in self.played.types.items()}
        columns: dict[str, StructType] = {side: spark_schema(one) for side, one in own.items()}
        names = {side: {name: name for name in one} for side, one in own.items()}
        panes = self.first.operators[SHARDS[0]].plan.pane_schema
        self.unpack = UnpackWithReports(unpack_of("panes", self.played.spec, panes, columns, names))
        self.second = Shards(self.windows, {INPUT: polars_schema(self.unpack.unpack.target)})

    def after(self, event: Event) -> list[dict[str, Any]]:
        """Returns the panes of the micro-batch of an event."""
        envelopes: Envelopes = []
        for port, rows in event.rows.items():
            table = frame(self.played.ports[port], self.played.types[port], rows).to_arrow()
            envelopes += self.first.packed(port, table.to_batches())
        if event.op == "add" and not envelopes:
            return []  # no shard runs in a micro-batch without rows
        emitted = list[tuple[str, bytes]]()
        for shard, output in self.first.ran(envelopes, event, fed=False):
            emitted += encoded(
                (kind, table) for kind, table in output.tables(shard, 0, None) if kind == "panes"
            )
            mark = self.first.operators[shard].output_watermark()
            emitted += [] if mark is None else [(KIND, report(shard, mark))]
        kinds, payloads = zip(*emitted, strict=True) if emitted else ((), ())
        both = pa.table({"kind": pa.array(kinds, pa.string()), "payload": pa.array(payloads, pa.binary())})
        rows_and_reports = self.unpack(iter(both.to_batches()))
        packed = self.second.packed(INPUT, rows_and_reports, (PROGRESS,))
        ran = self.second.ran(packed, event, fed=True)
        return [pane for _, output in ran for pane in output.panes.to_dicts()]


def wanted(played: Script, windows: pw.WindowOperator) -> Iterator[list[dict[str, Any]]]:
    """Yields the panes after each event, by the interpreters of both operators."""
    first, second, before = interpreter(played.spec, played.types), interpreter(windows), None
    for event in played.events:
        rows = in_oracle._step(first, event, played)["panes"]
        panes = second.clock(event.to)["panes"] if event.op == "clock" else []
        panes += second.add(rows)["panes"] if rows else []
        mark = first.output_watermark()
        if mark is not None and mark != before:
            before = mark
            panes += second.watermark(mark)["panes"]
        yield panes


def in_order(panes: list[dict[str, Any]]) -> list[list[Any]]:
    """Returns the values of panes, whichever shard emitted them, and instants as microseconds."""
    names = ("join_time", "missing", "window_start", "window_end", "rows", "timing", "index", "op")
    rows = [[pane[name] for name in names if name in pane] for pane in panes]
    return sorted(rows, key=str)


@FEW
@given(data=st.data())
def test_two_operators_are_two_interpreters(data: st.DataObject) -> None:
    """The shards of both operators emit what the interpreters do, one after the other (semantics 42.6)."""
    join = data.draw(join_specs(evaluate="batch"), label="join")
    assume(join.has_event_times and join.unmatched != "early")
    assume(all(side.max_future_skew is None for side in join.sides.values()))
    events = data.draw(join_events(join), label="events")
    ends = [number for number, event in enumerate(events) if event["op"] == "finish"]
    events = [event for event in events[: ends[0] if ends else None] if event["op"] != "restart"]
    windows = pw.WindowOperator(
        keys=["missing"] if "missing" in join.added_columns else [],
        event_time="join_time",
        window=data.draw(st.sampled_from([pw.Tumbling(5), pw.Hopping(6, 2), pw.Session(3)])),
        trigger=data.draw(st.sampled_from([pw.AfterWatermark(late=pw.Always()), *TRIGGERS])),
        aggregates=[F.count().alias("rows")],
    )
    played = script(join, events, join_types(join))
    query = Query(played, windows)
    for number, (event, panes) in enumerate(zip(played.events, wanted(played, windows), strict=True)):
        found = query.after(event)
        assert same(in_order(found), in_order(panes)), f"events[{number}], {event}\n{found}\n{panes}"


def test_reports() -> None:
    """Each shard counts with the last watermark that it has reported (semantics 42.6)."""
    found: Reports = {}
    for one in (report(0, 5), report(2, 7), report(0, 4)):
        found = highest_reports(found, json.loads(one))
    assert found == {"0": 5, "2": 7}
    assert lowest(found, (0, 2)) == 5
    assert lowest(found, (0, 2, 3)) is None
    assert lowest(highest_reports(found, {"0": 9, "3": -1}), (0, 2, 3)) == -1
