"""What the page shows: the queries of a journal, as JSON values whose texts are ready to be shown."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from panewise.observe.activity import OF_A_SHARD
from panewise.observe.entries import Ended, Started
from panewise.observe.journal_reader import JournalReader
from panewise.observe.micro_batch import MicroBatch
from panewise.observe.scene_svg import scene_svg
from panewise.observe.time_axis import instant_text
from panewise.observe.watch.operator_history import OperatorHistory

_MOST_QUERIES = 20
_RATE_BATCHES = 10  # over how many micro-batches rates are computed
_WIDTH = 1080


@dataclass
class QueryHistory:
    """What a query has reported.

    Attributes:
        state: "running", "ended" or "failed".
        error: the error of a failed query.
        last: the last micro-batch.
        at: when the last entry was written, in microseconds; None if that is not known.
        operators: the operators by name.
    """

    state: str = "running"
    error: str | None = None
    last: MicroBatch | None = None
    at: int | None = None
    operators: dict[str, OperatorHistory] = field(default_factory=dict)
    recent: deque[MicroBatch] = field(default_factory=lambda: deque(maxlen=60))

    def add(self, entry: Started | MicroBatch | Ended) -> None:
        """Adds an entry."""
        match entry:
            case Started():
                self.state, self.error, self.at = "running", None, entry.at
            case Ended():
                self.state = "ended" if entry.error is None else "failed"
                self.error, self.at = entry.error, entry.at
            case MicroBatch():
                self.last = entry
                self.recent.append(entry)
                self.at = self.at if entry.began is None else entry.began + int(entry.seconds * 1_000_000)
                for name, figures in entry.operators.items():
                    history = self.operators.setdefault(name, OperatorHistory())
                    history.add(entry.batch, entry.began, figures)


class WatchModel:
    """Reads a journal, and says what the page shows. Several threads may use it."""

    def __init__(self, directory: str | Path) -> None:
        self._reader, self._lock = JournalReader(directory), Lock()
        self._queries: dict[str, QueryHistory] = {}
        self.revision = 0
        self._drawn: tuple[int, dict[str, Any]] | None = None

    def view(self) -> dict[str, Any]:
        """Returns what the page shows now. `revision` changes when the journal does."""
        with self._lock:
            for entry in self._reader.new_entries():
                self._query(entry.query).add(entry)
                self.revision += 1
            if self._drawn is None or self._drawn[0] != self.revision or not self.revision:
                self._drawn = (self.revision, self._view())
            return self._drawn[1]

    def _query(self, name: str) -> QueryHistory:
        """Returns the history of a query. If they are too many, the one that ended first is forgotten."""
        if name not in self._queries and len(self._queries) >= _MOST_QUERIES:
            ended = (name for name, query in self._queries.items() if query.state != "running")
            del self._queries[next(ended, next(iter(self._queries)))]
        return self._queries.setdefault(name, QueryHistory())

    def _view(self) -> dict[str, Any]:
        running_first = sorted(self._queries.items(), key=lambda item: item[1].state != "running")
        return {
            "journal": str(self._reader.directory),
            "exists": self._reader.exists,
            "revision": self.revision,
            "skipped": self._reader.skipped,
            "queries": [_query_view(name, query) for name, query in running_first],
        }


def _query_view(name: str, query: QueryHistory) -> dict[str, Any]:
    last = query.last
    lines = (
        []
        if last is None
        else [f"micro-batch {last.batch:,}", f"{last.seconds:.2f} s", f"{last.rows:,} rows"]
    )
    return {
        "name": name,
        "state": query.state,
        "error": query.error,
        "at": query.at,
        "last": lines,
        "operators": [
            _operator_view(operator, history, query.recent) for operator, history in query.operators.items()
        ],
    }


def _operator_view(name: str, history: OperatorHistory, recent: Iterable[MicroBatch]) -> dict[str, Any]:
    activity, scene = history.activity, history.scene()
    family = activity.family if activity is not None else ""
    counts = [(batch, batch.operators[name].counts) for batch in recent if name in batch.operators]
    return {
        "name": name,
        "family": family,
        "figures": _figures(history, counts),
        "picture": scene_svg(scene, width=_WIDTH, style=False) if scene.arrivals else "",
        "rates": {
            label: [round(rows.get(count, 0) / max(batch.seconds, 0.001), 1) for batch, rows in counts]
            for label, count in (("rows in per s", "rows_in"), ("emitted per s", "panes"))
        },
        "late": history.late.most_common(8),
        "invalid": history.invalid.most_common(8),
        "shards": [] if activity is None else _bars(activity.shards or {}),
        "shards_left_out": 0 if activity is None else activity.shards_left_out,
        "keys": _key_bars(history.keys),
        "notes": _notes(history),
    }


def _figures(
    history: OperatorHistory, counts: list[tuple[MicroBatch, Mapping[str, int]]]
) -> list[tuple[str, str]]:
    """Returns the names and the texts of figures."""
    state, recent = history.state, counts[-_RATE_BATCHES:]
    watermark, delay = state.get("watermark"), state.get("watermark_delay")
    live = history.live_windows
    figures = [
        ("rows in per s", _rate(recent, "rows_in")),
        ("emitted per s", _rate(recent, "panes")),
        ("watermark", "none" if watermark is None else instant_text(watermark)),
        ("behind the clock", "" if delay is None else _duration(delay)),
        ("live windows", "" if live is None else f"{live:,}"),
        ("stored rows", f"{state.get('live') or 0:,}"),
        ("state", _bytes(state.get("state_bytes") or 0)),
        ("late rows", f"{history.counts['late']:,}"),
        ("invalid rows", f"{history.counts['invalid']:,}"),
    ]
    return [(name, text) for name, text in figures if text]


def _rate(recent: list[tuple[MicroBatch, Mapping[str, int]]], count: str) -> str:
    """Returns the rows per second of the last micro-batches, from the first beginning to the last end."""
    if not recent:
        return ""
    first, last = recent[0][0], recent[-1][0]
    seconds = sum(batch.seconds for batch, _ in recent)
    if first.began is not None and last.began is not None:
        seconds = max(seconds, (last.began - first.began) / 1_000_000 + last.seconds)
    rate = sum(counts.get(count, 0) for _, counts in recent) / max(seconds, 0.001)
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:,.1f}"


def _bars(shards: Mapping[int, tuple[int | None, ...]]) -> list[dict[str, Any]]:
    """Returns a bar for each shard: how long it is, from 0 to 1, and its texts."""
    named = {shard: dict(zip(OF_A_SHARD, figures, strict=False)) for shard, figures in shards.items()}
    most = max((figures["state_bytes"] or 0 for figures in named.values()), default=0)
    return [
        {
            "name": str(shard),
            "share": (figures["state_bytes"] or 0) / most if most else 0,
            "texts": [
                _bytes(figures["state_bytes"] or 0),
                f"{figures['live'] or 0:,} stored",
                f"{figures['rows_in'] or 0:,} in",
            ],
        }
        for shard, figures in named.items()
    ]


def _key_bars(keys: Mapping[str, int]) -> list[dict[str, Any]]:
    most = max(keys.values(), default=0)
    return [{"name": key, "share": rows / most, "texts": [f"{rows:,}"]} for key, rows in keys.items()]


def _notes(history: OperatorHistory) -> list[str]:
    """Returns what the picture does not show."""
    if history.activity is None:
        return ["Windows and shards are shown for queries that were started while the journal was written."]
    left_out = history.windows_left_out
    return [f"{left_out:,} windows of the last micro-batch are not shown."] if left_out else []


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} GB"


def _duration(microseconds: int) -> str:
    """Returns a duration in a unit that suits it.

    >>> _duration(1_500_000), _duration(200_000_000), _duration(-90_000_000_000_000)
    ('1.5 s', '3.3 min', '-1,041.7 d')
    """
    seconds = microseconds / 1_000_000
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"
