"""Observed metrics: the figures of each micro-batch, in Spark's progress report of every streaming query.

The step emits its figures as JSON text in a column of their own, in one row for each shard. An observe node
after the step combines them, before the rows of other kinds are filtered out. So they reach the progress
report whichever output the query has (semantics 15.5 to 15.7).
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from panewise.engine.columns import PARTIAL, REASON
from panewise.engine.ingest.output import Counts, Output

if TYPE_CHECKING:
    from panewise.engine.checkpoint import StoredOperator
    from panewise.spark.activity import StepActivity

COLUMN: Final = "__metrics"
NAMES: Final = ("rows_in", "applied", "replays", "late", "invalid", "panes")  # of every micro-batch
PANES_BY_TIMING: Final = {"EARLY": "panes_early", "ON_TIME": "panes_on_time", "LATE": "panes_late"}
REASONS: Final = ("late_by_reason", "invalid_by_reason")
_SUMS: Final = (*NAMES, *PANES_BY_TIMING.values(), "shards", "live", "state_bytes")
_LEAST: Final = ("oldest_end", "watermark")
_HIGHEST: Final = ("watermark_delay",)
METRICS: Final = (*_SUMS, *_LEAST, *_HIGHEST, *REASONS)
ACTIVITY: Final = "activity"  # with a journal, the activity of each shard; the last of the metrics
STATE: Final = ("shards", "live", "state_bytes", *_LEAST, *_HIGHEST)  # figures of the state
_TYPES: Final = ", ".join(
    f"{name} {'MAP<STRING, BIGINT>' if name in REASONS else 'BIGINT'}" for name in METRICS
)
# The counts of two maps, added by key.
_ADDED: Final = "map_zip_with(counts, other, (reason, a, b) -> coalesce(a, 0L) + coalesce(b, 0L))"


def _combined(metric: str) -> str:
    """Returns a metric of all shards, as a text of SQL. Those of instants are null if no shard has one.

    Texts, because PySpark calls the JVM several times for each part of a Column.
    """
    value = f"{COLUMN}.{metric}"
    if metric in _SUMS:
        return f"coalesce(sum({value}), 0) AS {metric}"
    if metric in REASONS:
        lists = f"collect_list({value}), CAST(map() AS MAP<STRING, BIGINT>)"
        return f"aggregate({lists}, (counts, other) -> {_ADDED}) AS {metric}"
    return f"{'min' if metric in _LEAST else 'max'}({value}) AS {metric}"


_COMBINED: Final = tuple(map(_combined, METRICS))
_COLLECTED: Final = f"collect_list({COLUMN}.{ACTIVITY}) AS {ACTIVITY}"


@dataclass
class Tally:
    """Counts what a step emits, as it is emitted.

    Attributes:
        timed: whether the operator emits panes, which have a timing.
        timings: the numbers of panes by timing. Outputs without this column have none.
        activity: what the step does to windows and keys; None without a journal.
    """

    timed: bool = True
    panes: int = 0
    timings: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in REASONS})
    activity: "StepActivity | None" = None

    def add_panes(self, panes: pl.DataFrame) -> None:
        """Counts panes."""
        self.panes += panes.height
        if self.activity is not None:
            self.activity.add_panes(panes)
        if self.timed and panes.schema.get("timing") == pl.String:
            # Comparisons, because grouping a million texts takes ten times as long.
            counts = panes.select_seq(
                (pl.col("timing") == timing).sum().alias(timing) for timing in PANES_BY_TIMING
            )
            self.timings.update(counts.row(0, named=True))

    def add_ports(self, ports: Iterable[Output]) -> None:
        """Counts late and invalid rows by reason.

        A late row that was pre-aggregated is not in the late rows. :attr:`Output.combined_late` counts such
        rows by reason.
        """
        late, invalid = (self.reasons[name] for name in REASONS)
        for output in ports:
            wholly = output.late.filter(~pl.col(PARTIAL)) if output.late.height else output.late
            late.update(_counted(wholly[REASON]) if wholly.height else {})
            late.update(output.combined_late)
            invalid.update(_counted(output.invalid[REASON]) if output.invalid.height else {})


def _counted(values: pl.Series) -> dict[str, int]:
    counts = values.drop_nulls().value_counts(name="n")
    return dict(zip(counts[values.name], counts["n"], strict=True))


def metrics_of(counts: Counts, tally: Tally, state: Mapping[str, int | None], shard: int) -> str:
    """Returns the metrics of one step as text. `state` has those of the state that it leaves."""
    figures: dict[str, Any] = {name: getattr(counts, name) for name in NAMES if name != "panes"}
    figures |= {"panes": tally.panes, "shards": 1, **state, **tally.reasons}
    figures |= {name: tally.timings[timing] for timing, name in PANES_BY_TIMING.items()}
    if tally.activity is not None:
        figures[ACTIVITY] = tally.activity.text(shard, figures)
    return json.dumps({name: value for name, value in figures.items() if value not in (None, 0, {})})


def with_metrics(schema: StructType) -> StructType:
    """Returns the schema of the step's output with the metrics column."""
    return StructType([*schema.fields, StructField(COLUMN, StringType())])


def with_metrics_row(table: pa.Table, metrics: str | None) -> pa.Table:
    """Returns the rows with the metrics column, which is null in all of them.

    If there are metrics, a further row contains them and nothing else.
    """
    rows = table.append_column(COLUMN, pa.nulls(table.num_rows, pa.string()))
    if metrics is None:
        return rows
    further = [pa.nulls(1, field.type) for field in table.schema]
    return pa.concat_tables(
        [rows, pa.table([*further, pa.array([metrics])], schema=rows.schema)]
    ).combine_chunks()


def observed(stepped: DataFrame, name: str, *, activity: bool = False) -> DataFrame:
    """Returns the output of the step, whose metrics are combined under the name in the progress report.

    With an empty name nothing is observed. `activity` says whether the steps report theirs.
    """
    if not name:
        return stepped
    # The text is read once for each row that has any, not once for each metric.
    types = f"{_TYPES}, {ACTIVITY} STRING" if activity else _TYPES
    read = stepped.withColumn(COLUMN, F.from_json(COLUMN, types))
    further = [F.expr(_COLLECTED)] if activity else []
    return read.observe(name, *_columns(stepped.sparkSession), *further)


_COLUMNS: WeakKeyDictionary[SparkSession, tuple[Column, ...]] = WeakKeyDictionary()


def _columns(session: SparkSession) -> tuple[Column, ...]:
    """Returns the metrics of all shards. They are made once for each session."""
    columns = _COLUMNS.get(session)
    if columns is None:
        columns = _COLUMNS[session] = tuple(map(F.expr, _COMBINED))
    return columns


def by_name(row: Any) -> dict[str, Any]:
    """Returns an entry of `observedMetrics` by name. PySpark's client may give the values as a list."""
    entry = row.asDict() if hasattr(row, "asDict") else dict(row)
    return dict(zip((*METRICS, ACTIVITY), entry["values"], strict=False)) if "values" in entry else entry


def without_metrics(stepped: DataFrame, *, drop: bool = True) -> DataFrame:
    """Returns the output without the rows and, unless a selection follows, the column of the metrics."""
    rows = stepped.where(f"{COLUMN} IS NULL")
    return rows.drop(COLUMN) if drop else rows


LENGTHS: Final = "lengths"  # the field of the header that has the stored length of each run, by name


def figures_of(stored: "StoredOperator", lengths: Mapping[str, int]) -> dict[str, int | None]:
    """Returns the figures of a shard after a step, for :func:`panewise.spark.metrics.metrics_of`.

    - `live` is the number of rows in runs that have not expired as a whole. A window that several runs have
      counts once for each of them until they are merged. So does a row of each table.
    - `state_bytes` is the stored length of these runs.
    - `oldest_end` is a lower bound of the ends in the first table, None without rows or
      without a watermark that is an instant.
    - `watermark` is an instant or None, and `watermark_delay` how far it is behind the processing time.
    """
    operator, state = stored.operator, stored.operator.state
    horizons, clocks = operator.horizons(state.clocks), state.clocks
    rows, size, ends = 0, 0, list[int]()
    for number, (name, table) in enumerate(state.tables.items()):
        horizon = horizons[name]
        runs = [run for run in table.runs if not clocks.finished and (horizon is None or run.high > horizon)]
        rows += sum(run.rows for run in runs)
        size += sum(lengths.get(run.name, 0) for run in runs)
        if not number and clocks.instant_watermark is not None:
            ends = [run.low if horizon is None else max(run.low, horizon + 1) for run in runs]
    watermark = clocks.instant_watermark
    return {
        "live": rows,
        "state_bytes": size,
        "oldest_end": min(ends, default=None),
        "watermark": watermark,
        "watermark_delay": None if watermark is None else clocks.processing_time - watermark,
    }
