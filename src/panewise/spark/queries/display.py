"""Results and queries as HTML, for notebooks."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from panewise.spark.metrics import by_name
from panewise.spec import Specification
from panewise.spec.display import html_of


def result_html(spec: Specification, outputs: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """Returns a specification and the columns of its outputs as HTML. Columns are names and types."""
    rows = [
        (name, ", ".join(f"{column} {kind}" for column, kind in columns)) for name, columns in outputs.items()
    ]
    return f"{html_of(spec)}{_table([('output', 'columns'), *rows])}"


def query_html(query: Any) -> str:
    """Returns name, id, status and the figures of the last micro-batch with rows as HTML."""
    rows = [("query", query.name or "without a name"), ("id", query.id), ("run", query.runId)]
    rows.append(("status", query.status.get("message", "")))
    rows.append(("active", query.isActive))
    # In a micro-batch without rows it can be that no shard runs.
    with_rows = [report for report in query.recentProgress if report["numInputRows"]]
    progress = with_rows[-1] if with_rows else query.lastProgress
    if progress is not None:
        rows += [("micro-batch", progress["batchId"]), ("input rows", progress["numInputRows"])]
        for operator, figures in (progress["observedMetrics"] or {}).items():
            present = {name: value for name, value in by_name(figures).items() if value not in (None, 0, {})}
            rows += [(f"{operator}: {figure}", value) for figure, value in present.items()]
    return f"<div>{_table(rows)}</div>"


def _table(rows: Iterable[tuple[object, object]]) -> str:
    lines = (f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{''.join(lines)}</table>"
