"""The figures of the queries of a script while they run, summed over micro-batches (semantics 46.47)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from panewise.spark.metrics import by_name
from panewise.spark.queries.query import WindowQuery

_SUMS = ("rows_in", "late", "invalid", "panes")
HEADER: Final = ("table", "state", "batch", "rows in", "late", "invalid", "panes", "watermark")  # of `cells`


@dataclass
class QueryFigures:
    """The figures of a query.

    Attributes:
        name: its table.
        batch: the number of its last micro-batch, None before the first one.
        rows_in: the rows that its first operator has read, or Spark if it has none.
        late: the late rows of all its operators.
        invalid: their invalid rows.
        panes: the rows that its last operator has emitted.
        watermark: the last watermark as text, "-" without one.
        state: "running", "ended" or "failed".
    """

    name: str
    batch: int | None = None
    rows_in: int = 0
    late: int = 0
    invalid: int = 0
    panes: int = 0
    watermark: str = "-"
    state: str = "running"
    _seen: set[tuple[str, int]] = field(default_factory=set)
    _runs: list[Any] = field(default_factory=list)  # the last one may end the input of the first one

    def update(self, query: WindowQuery) -> bool:
        """Reads the reports that are new; returns whether there are any, or the state has changed."""
        if not any(run is query.query for run in self._runs):
            self._runs.append(query.query)
        new = [self._add(report) for run in self._runs for report in run.recentProgress]
        before = self.state
        self.state = "running" if query.isActive else "ended" if query.exception() is None else "failed"
        return any(new) or self.state != before

    def _add(self, report: Any) -> bool:
        key = str(report["runId"]), int(report["batchId"])
        if key in self._seen:
            return False
        self._seen.add(key)
        self.batch = key[1]
        operators = [_figures(row) for row in (report["observedMetrics"] or {}).values()]
        if operators:
            self.rows_in += operators[0]["rows_in"]
            self.late += sum(operator["late"] for operator in operators)
            self.invalid += sum(operator["invalid"] for operator in operators)
            self.panes += operators[-1]["panes"]
        else:
            self.rows_in += report["numInputRows"]
        self.watermark = _watermark(report, operators) or self.watermark
        return True


def _figures(row: Any) -> dict[str, Any]:
    """Returns the metrics of an operator, with 0 for a sum without rows."""
    values = by_name(row)
    return {**values, **{name: values.get(name) or 0 for name in _SUMS}}


def _watermark(report: Any, operators: Iterable[Mapping[str, Any]]) -> str | None:
    """Returns the watermark of a micro-batch: that of the last operator that has one, else Spark's."""
    known = [operator["watermark"] for operator in operators if operator.get("watermark") is not None]
    if known:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=known[-1])
        return f"{instant:%Y-%m-%d %H:%M:%S}Z"
    text = (report["eventTime"] or {}).get("watermark")
    return (
        None if text is None or text.startswith("1970-01-01T00:00:00") else text[:19].replace("T", " ") + "Z"
    )


def cells(figures: QueryFigures) -> tuple[str, ...]:
    """Returns the figures of a query as texts."""
    numbers = (figures.rows_in, figures.late, figures.invalid, figures.panes)
    batch = "-" if figures.batch is None else str(figures.batch)
    return (figures.name, figures.state, batch, *(f"{number:,}" for number in numbers), figures.watermark)
