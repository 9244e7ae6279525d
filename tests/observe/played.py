"""Plays micro-batches on an operator whose state is stored, and records what a query would report."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from panewise.engine.checkpoint import StoredOperator
from panewise.engine.registry import by_port
from panewise.engine.run_library import Cache, RunLibrary
from panewise.families import INPUT
from panewise.observe.activity import merged_activity
from panewise.observe.micro_batch import TIMINGS, BatchFigures, MicroBatch
from panewise.spark.activity import ActivitySettings, StepActivity
from panewise.spark.metrics import REASONS, Tally, figures_of
from panewise.spark.workers.step import PortBatch, ShardBatch, StepOutput, step
from panewise.spec import Specification
from panewise.state import MemoryRunStore

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SCHEMA = {"ts": pl.Datetime("us", "UTC"), "k": pl.String(), "v": pl.Int64()}


def micros(seconds: float) -> int:
    """Returns an instant so many seconds after noon."""
    return int((NOON + timedelta(seconds=seconds)).timestamp() * 1_000_000)


def frame(rows: Iterable[tuple[float, str, int]]) -> pl.DataFrame:
    """Returns rows of (seconds after noon, key, value)."""
    at = [(NOON + timedelta(seconds=seconds), key, value) for seconds, key, value in rows]
    return pl.DataFrame(at, schema=SCHEMA, orient="row")


class Played:
    """One shard of an operator."""

    def __init__(
        self,
        spec: Specification,
        schema: Any = SCHEMA,
        *,
        keys: int = 0,
        name: str = "panewise",
        shard: int = 0,
    ) -> None:
        self.spec, self.schemas, self.shard, self.name = spec, by_port(spec, schema), shard, name
        self.store, self.cache, self.keys, self.batch = MemoryRunStore(), Cache(), keys, -1

    def stored(self) -> StoredOperator:
        """Returns the operator with the state after the last micro-batch."""
        return StoredOperator.load(self.spec, self.schemas, RunLibrary(self.store, self.cache))

    def activity(self, operator: Any) -> StepActivity:
        """Returns an activity to which nothing was added."""
        return StepActivity.at_start(
            ActivitySettings.for_spec(self.spec, self.keys, 1, operator.plan.pane_schema), operator
        )

    def text(
        self, rows: Any, watermark: float | None, now: int = 0
    ) -> tuple[str, Tally, StepOutput, dict[str, Any]]:
        """Plays a micro-batch: rows by port, or of the only one, then the watermark in seconds after noon."""
        stored = self.stored()
        operator = stored.operator
        by_input: Mapping[str, Any] = rows if isinstance(rows, Mapping) else {INPUT: rows}
        shard_batch = ShardBatch({port: self._batch(operator, port, of) for port, of in by_input.items()})
        activity = self.activity(operator)
        activity.add_rows(operator, shard_batch.ports)
        moves = {} if watermark is None else {None: micros(watermark)}
        output = StepOutput.concatenated(step(operator, shard_batch, now, moves))
        tally = Tally(activity=activity)
        tally.add_panes(output.panes)
        tally.add_ports(output.ports)
        activity.add_state(operator)
        stored.commit()
        state = figures_of(stored, {})
        figures = {**vars(output.counts), "panes": tally.panes, "shards": 1, **state}
        return activity.text(self.shard, figures), tally, output, figures

    def _batch(self, operator: Any, port: str, rows: Iterable[Any]) -> PortBatch:
        table = rows if isinstance(rows, pl.DataFrame) else frame(rows)
        validated = operator.plan.ports[port].validate(table, 0)
        invalid = [validated.invalid] if validated.invalid.height else []
        return PortBatch(rows=[validated.valid] if validated.valid.height else [], invalid=invalid)

    def micro_batch(self, rows: Any, watermark: float | None, query: str = "played") -> MicroBatch:
        """Plays a micro-batch; returns its report."""
        self.batch += 1
        began = micros(10 * self.batch)
        text, tally, output, figures = self.text(rows, watermark, began)
        late, invalid = (dict(tally.reasons[name]) for name in REASONS)
        report = BatchFigures(
            {name: figures[name] for name in ("rows_in", "applied", "replays", "late", "invalid", "panes")},
            timings={timing: tally.timings[timing] for timing in TIMINGS},
            late=late,
            invalid=invalid,
            state={
                name: figures[name]
                for name in ("shards", "live", "state_bytes", "watermark", "watermark_delay")
            },
            activity=merged_activity([text]),
        )
        return MicroBatch(query, self.batch, output.counts.rows_in, 0.5, {self.name: report}, began)


def played(
    spec: Specification, batches: Sequence[tuple[Any, float | None]], **options: Any
) -> list[MicroBatch]:
    """Returns the reports of micro-batches, each with its rows and its watermark."""
    operator = Played(spec, **options)
    return [operator.micro_batch(rows, watermark) for rows, watermark in batches]
