"""The interpreter, one row at a time."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.families.pairs.spec import Pairs

COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")


class PairsInterpreter:
    """Counts the rows of two inputs by key."""

    def __init__(self, spec: Pairs, types: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.spec = spec
        self.marks: dict[str, float] = {}
        self.passed: float | None = None
        self.waiting: list[tuple[int, Any, str]] = []
        self.counts: dict[Any, dict[str, int]] = {}

    def add(self, rows: Iterable[dict[str, Any]], port: str) -> dict[str, Any]:
        side, late, invalid = self.spec.ports[port], [], []
        counts = dict.fromkeys(COUNTS, 0)
        for row in sorted(rows, key=lambda row: (row[side.event_time] is not None, row[side.event_time])):
            time, key = row[side.event_time], row[side.key]
            if time is None or key is None:
                null = "event time is null" if time is None else f"key {side.key} is null (null_keys=False)"
                invalid.append({"row": row, "reason": null, "input": port})
            elif self.passed is not None and time < self.passed:
                ahead = None if self.passed == float("inf") else int(self.passed - time)
                entry = {"row": row, "reason": "behind", "windows": [], "late_by": ahead, "partial": False}
                late.append(entry | {"input": port})
            else:
                self.waiting.append((time, key, port))
                counts["applied"] += 1
            counts["rows_in"] += 1
        counts |= {"late": len(late), "invalid": len(invalid)}
        return {"panes": [], "late": late, "invalid": invalid, "counts": {port: counts}}

    def add_batch(self, rows: Mapping[str, Iterable[dict[str, Any]]]) -> dict[str, Any]:
        outputs = [self.add(rows[port], port) for port in rows]
        both: dict[str, Any] = {
            kind: [entry for output in outputs for entry in output[kind]]
            for kind in ("panes", "late", "invalid")
        }
        return both | {"counts": {port: count for one in outputs for port, count in one["counts"].items()}}

    def clock(self, to: int) -> dict[str, Any]:
        return _nothing()

    def watermark(self, to: float, source: str | None = None) -> dict[str, Any]:
        for port in self.spec.ports if source is None else (source,):
            self.marks[port] = max(self.marks.get(port, to), to)
        if len(self.marks) < len(self.spec.ports):
            return _nothing()
        self.passed = min(self.marks.values())
        due = [row for row in self.waiting if row[0] < self.passed]
        self.waiting = [row for row in self.waiting if row[0] >= self.passed]
        for _, key, port in due:
            self.counts.setdefault(key, dict.fromkeys(self.spec.ports, 0))[port] += 1
        until = 2**63 - 2 if self.passed == float("inf") else int(self.passed) - 1
        panes = [
            {"key": key, **self.counts[key], "passed": until} for key in sorted({key for _, key, _ in due})
        ]
        return _nothing() | {"panes": panes}

    def finish(self, port: str | None = None) -> dict[str, Any]:
        return self.watermark(float("inf"), port)

    def windows(self) -> list[dict[str, Any]]:
        return [
            {"key": key, "window_start": time, "window_end": time + 1, "pending": 1, "closed": False}
            for time, key, _ in sorted(self.waiting)
        ]


def _nothing() -> dict[str, Any]:
    return {"panes": [], "late": [], "invalid": [], "counts": {}}
