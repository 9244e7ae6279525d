"""Plan, operator and state: :class:`panewise.engine.family_parts.EngineParts`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, REASON, TIME, TOMBSTONE
from panewise.engine.family_parts import EngineParts, Inspection, TableReader
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.input_state import UncombinedOperator
from panewise.engine.ingest.late_output import NO_WINDOWS, late_columns, late_schema
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import UncombinedPort, ValidationResult, validate
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import InputWatermark, InputWatermarks
from panewise.engine.protocol import Schemas
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec import Inputs
from panewise.state.manifest import checked
from tests.families.pairs.spec import LEFT, RIGHT, Pairs, Side

KEY = "key"
BOTH = Inputs([LEFT, RIGHT])


class SidePort(UncombinedPort):
    """One input."""

    row_driven_inputs = None
    ties_matter = needs_clock = False

    def __init__(self, side: Side, schema: Mapping[str, pl.DataType]) -> None:
        self.entry, self.schema, self.keys = side, dict(schema), [side.key]
        self.late_schema, self.invalid_schema = late_schema(self.schema), {**self.schema, REASON: pl.String()}
        self.queue = Shape({KEY: schema[side.key], END: pl.Int64()}, [END], [])

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        return validate(self.entry, self.schema, rows, processing_time)


class PairsPlan:
    """The ports, and the columns of the emitted rows and of the table of counts."""

    def __init__(self, spec: Pairs, schemas: Schemas) -> None:
        self.spec = spec
        self.ports = {name: SidePort(side, schemas[name]) for name, side in spec.ports.items()}
        self.key = schemas[LEFT][spec.left.key]
        counts = {LEFT: pl.Int64(), RIGHT: pl.Int64()}
        self.pane_schema = {KEY: self.key, **counts, "passed": pl.Int64()}
        self.counts = Shape({KEY: self.key, END: pl.Int64(), **counts}, [KEY], [KEY])


@dataclass(frozen=True)
class PairsState:
    """The counts of each key, and the rows of each input that the watermark has not passed."""

    counts: StoredTable
    waiting: Mapping[str, TimeQueue]
    clocks: Clocks = field(default_factory=Clocks)
    ended: frozenset[str] = frozenset()
    copies: ClassVar[frozenset[str]] = frozenset()

    @property
    def tables(self) -> dict[str, StoredTable]:
        return {"counts": self.counts, **self.waiting}

    def has_ended(self, port: str) -> bool:
        return port in self.ended

    def with_tables(self, tables: Mapping[str, Any]) -> Self:
        waiting = {name: tables[name] for name in self.waiting}
        return replace(self, counts=tables["counts"], waiting=waiting)


class PairsOperator(UncombinedOperator):
    """Rows wait until the watermarks of both inputs have passed their time. Then they are counted."""

    clocks_are_own = False
    partitions = None

    def __init__(self, spec: Pairs, schemas: Schemas) -> None:
        self.spec, self.plan, self.changed = spec, PairsPlan(spec, schemas), False
        waiting = {name: TimeQueue.nothing(port.queue) for name, port in self.plan.ports.items()}
        self.state = PairsState(StoredTable.nothing(self.plan.counts), waiting)

    def replace_state(self, state: object) -> None:
        assert isinstance(state, PairsState)
        self.state = state

    def header(self) -> dict[str, Any]:
        clocks, ended = self.state.clocks, sorted(self.state.ended)
        reported = {name: [one.watermark, one.reported_at] for name, one in clocks.inputs.reports}
        return {
            "processing_time": clocks.processing_time,
            "watermark": clocks.watermark,
            "finished": clocks.finished,
            "inputs": {"since": clocks.inputs.since, "told": reported},
            "marks": [],
            "ended": ended,
        }

    def with_header(self, header: Mapping[str, Any]) -> PairsState:
        if not checked(header):
            return self.state
        known = header["inputs"]
        reported = tuple((name, InputWatermark(*one)) for name, one in known["told"].items())
        inputs = InputWatermarks(reported, known["since"])
        clocks = Clocks(header["processing_time"], header["watermark"], header["finished"], inputs)
        return replace(self.state, clocks=clocks, ended=frozenset(header["ended"]))

    def horizons(self, clocks: Clocks) -> dict[str, int | None]:
        passed = _passed_until(clocks)
        return {"counts": None, **dict.fromkeys(self.state.waiting, passed)}

    def next_due(self) -> int | None:
        firsts = [queue.next_end(queue.horizon) for queue in self.state.waiting.values()]
        return min((first + 1 for first in firsts if first is not None), default=None)

    def output_watermark(self) -> int | None:
        return self.state.clocks.watermark

    def live(self) -> pl.DataFrame:
        rows = pl.concat([queue.all().select(KEY, END) for queue in self.state.waiting.values()])
        start = pl.col(END).alias("window_start")
        pending = pl.lit(1, dtype=pl.Int64).alias("pending")
        shown = rows.select(KEY, start, (pl.col(END) + 1).alias("window_end"), pending, closed=pl.lit(False))
        return shown.sort("window_end", "window_start", KEY)

    def marks(self, port: str = LEFT) -> Marks:
        return Marks()

    def raise_marks(self, marks: Marks, port: str = LEFT) -> None:
        """Does nothing: there are no source positions."""

    def advance_inputs(self, latest: Mapping[str, int], port: str = LEFT) -> Output:
        return self._nothing(port)

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        clocks = self.state.clocks
        now = max(
            clocks.processing_time, clocks.processing_time if processing_time is None else processing_time
        )
        inputs = clocks.inputs
        for name in self.plan.ports if source is None else (source,):
            inputs = inputs.reported(name, watermark, now)
        return self._moved(replace(clocks, processing_time=now, inputs=inputs))

    def finish(self, port: str | None = None) -> Output:
        ended = self.state.ended | (set(self.plan.ports) if port is None else {port})
        self.state, clocks = replace(self.state, ended=ended), self.state.clocks
        inputs = clocks.inputs
        for name in ended:
            inputs = inputs.reported(name, MAX_INSTANT, clocks.processing_time)
        return self._moved(replace(clocks, inputs=inputs, finished=len(ended) == len(self.plan.ports)))

    def add(self, rows: pl.DataFrame, port: str = LEFT) -> Output:
        validated = self.plan.ports[port].validate(rows, self.state.clocks.processing_time)
        output, refused = self.add_valid(validated.valid, port), validated.invalid.height
        invalid = validated.invalid.select(*self.plan.ports[port].invalid_schema)
        counts = output.counts + Counts(rows_in=refused, invalid=refused)
        return replace(output, invalid=invalid, counts=counts)

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        return [self.add(rows[port], port) for port in rows]

    def add_valid(self, valid: pl.DataFrame, port: str = LEFT) -> Output:
        side, mark = self.plan.ports[port], self.state.clocks.watermark
        behind = pl.lit(False) if mark is None else pl.col(TIME) < mark
        late, fresh = valid.filter(behind), valid.filter(~behind)
        made = {REASON: pl.lit("behind"), **NO_WINDOWS}
        ordered = late.sort(TIME, maintain_order=True)
        queued = fresh.select(pl.col(side.entry.key).alias(KEY), pl.col(TIME).alias(END))
        if queued.height:
            waiting = {**self.state.waiting, port: self.state.waiting[port].put(queued)}
            self.state, self.changed = replace(self.state, waiting=waiting), True
        counts = Counts(valid.height, applied=fresh.height, late=late.height)
        columns = late_columns(side.late_schema, made, self.state.clocks)
        return replace(self._nothing(port), late=ordered.select(columns), counts=counts)

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> list[Output]:
        return [self.add_valid(rows, port) for port, rows in valid.items()]

    def _nothing(self, port: str = LEFT) -> Output:
        side = self.plan.ports[port]
        nothing = Output.nothing(self.plan.pane_schema, side.late_schema, side.invalid_schema)
        return replace(nothing, port=port)

    def _moved(self, clocks: Clocks) -> Output:
        """Counts the rows that the watermark has passed; returns the keys whose counts changed."""
        least = clocks.inputs.least(BOTH, clocks.processing_time)
        mark = max((one for one in (self.state.clocks.watermark, least) if one is not None), default=None)
        before, clocks = _passed_until(self.state.clocks), replace(clocks, watermark=mark)
        now, waiting = _passed_until(clocks), dict[str, TimeQueue]()
        found = []
        for name, queue in self.state.waiting.items():
            due = queue.between(before, now) if now is not None and now != before else queue.between(0, 0)
            ones = (pl.lit(int(name == one), dtype=pl.Int64).alias(one) for one in (LEFT, RIGHT))
            found.append(due.select(KEY, *ones))
            waiting[name] = queue.expired(now)
        self.state = replace(self.state, waiting=waiting, clocks=clocks)
        passed = pl.concat(found).group_by(KEY).agg(pl.col(LEFT, RIGHT).sum())
        return self._counted(passed.sort(KEY), now)

    def _counted(self, passed: pl.DataFrame, now: int | None) -> Output:
        if passed.is_empty():
            return self._nothing()
        stored = self.state.counts.find(passed.select(KEY)).select(KEY, LEFT, RIGHT)
        both = pl.concat([stored, passed.select(stored.columns)]).group_by(KEY).agg(pl.col(LEFT, RIGHT).sum())
        rows = both.sort(KEY).with_columns(pl.lit(MAX_INSTANT).alias(END)).select(*self.plan.counts.schema)
        none = self.state.counts.newest.clear().drop(TOMBSTONE)
        self.state, self.changed = replace(self.state, counts=self.state.counts.changed(rows, none)), True
        panes = rows.select(KEY, LEFT, RIGHT, pl.lit(now, dtype=pl.Int64).alias("passed"))
        return replace(self._nothing(), panes=panes)


def _passed_until(clocks: Clocks) -> int | None:
    return None if clocks.watermark is None else max(MIN_INSTANT, clocks.watermark - 1)


def compile(spec: Pairs, schemas: Schemas) -> PairsPlan:  # noqa: A001 - the name of the part
    return PairsPlan(spec, schemas)


def operator(spec: Pairs, schemas: Schemas) -> PairsOperator:
    return PairsOperator(spec, schemas)


def inspect(spec: Pairs, header: Mapping[str, Any], read: TableReader) -> Inspection:
    checked(header)
    clocks = (
        Clocks(header["processing_time"], header["watermark"], header["finished"]) if header else Clocks()
    )
    horizon = _passed_until(clocks)
    tables = [read(name, [KEY, END], [], horizon, [KEY]) for name in (LEFT, RIGHT)]
    rows = [table for table in tables if table.width]
    return Inspection(clocks, pl.concat(rows) if rows else pl.DataFrame(), [KEY])


PARTS = EngineParts(
    compile=compile, operator=operator, tables=lambda spec: ("counts", LEFT, RIGHT), inspect=inspect
)
