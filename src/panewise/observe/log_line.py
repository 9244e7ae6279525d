"""The log line of a micro-batch with late or invalid rows."""

from collections import Counter
from collections.abc import Mapping

from panewise.observe.micro_batch import MicroBatch


def log_line(report: MicroBatch) -> str | None:
    """Returns the line of a micro-batch, None if no row was late or invalid (semantics 15.8).

    Rows that an operator before another one has made late are counted once: each operator counts its own.

    >>> from panewise.observe.micro_batch import BatchFigures
    >>> figures = BatchFigures({"rows_in": 5, "late": 2}, late={"expired": 2})
    >>> log_line(MicroBatch("orders", 7, 5, 0.2, {"panewise": figures}))
    'query orders, micro-batch 7: 2 of 5 rows late (expired 2)'
    """
    parts = []
    for name in ("late", "invalid"):
        number = sum(figures.counts.get(name, 0) for figures in report.operators.values())
        if number:
            reasons = Counter[str]()
            for figures in report.operators.values():
                reasons.update(figures.late if name == "late" else figures.invalid)
            parts.append(f"{number:,} of {_rows(report):,} rows {name}{_in_brackets(reasons)}")
    return f"query {report.query}, micro-batch {report.batch}: {', '.join(parts)}" if parts else None


def _rows(report: MicroBatch) -> int:
    return sum(figures.counts.get("rows_in", 0) for figures in report.operators.values())


def _in_brackets(reasons: Mapping[str, int]) -> str:
    shown = ", ".join(f"{reason} {number:,}" for reason, number in sorted(reasons.items()))
    return f" ({shown})" if shown else ""
