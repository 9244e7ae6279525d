"""The activity of an operator in a micro-batch: what happened to windows, shards and keys.

Each shard reports a text of its own. They are merged here, and what is beyond the limits is counted.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# The counts of a window: its panes by timing, rows that are not panes, retractions, and of how many keys the
# stored window was changed or deleted.
COUNTS: Final = ("early", "on_time", "late", "rows", "retracted", "changed", "deleted")
EMITTED: Final = COUNTS[:5]  # the counts of emitted rows; the others are of stored windows
CHANGED, DELETED = COUNTS.index("changed"), COUNTS.index("deleted")
OF_A_SHARD: Final = ("rows_in", "panes", "live", "state_bytes", "watermark")
MOST_WINDOWS: Final = 200
MOST_SHARDS: Final = 64
_STRETCHES = 40  # of event time, into which rows without windows are divided at most
# Lengths of stretches in microseconds. Each is a multiple of the one before it.
_WIDTHS: Final = tuple(
    1000 * ms
    for ms in (1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 864_000_000)
)

# The plain fields, and their names in JSON.
_PLAIN: Final = {
    "family": "family",
    "by_row_number": "counted",
    "windows_left_out": "windows_left_out",
    "panes_left_out": "panes_left_out",
    "shards_left_out": "shards_left_out",
}

Bounds = tuple[int | None, int | None]


@dataclass(frozen=True)
class Activity:
    """The activity of an operator in a micro-batch (semantics 15.18, 15.19).

    Attributes:
        family: the name of the operator's family.
        by_row_number: whether the bounds of windows are row numbers, and not microseconds.
        windows: the counts of each window in the order of :data:`COUNTS`, by its bounds.
        stored: for how many keys a window is stored now and was not before, minus those for which it no
            longer is; only where windows may expire early, which their counts do not show.
        windows_left_out: how many windows are not among them.
        panes_left_out: how many panes or rows these have.
        horizon: windows that end at it or before it have expired; None: none has.
        shards: the figures of shards in the order of :data:`OF_A_SHARD`, by the number of the shard.
        shards_left_out: how many shards are not among them.
        keys: the rows of the keys with most rows.
    """

    family: str = ""
    by_row_number: bool = False
    windows: Mapping[Bounds, tuple[int, ...]] | None = None
    stored: Mapping[Bounds, int] | None = None
    windows_left_out: int = 0
    panes_left_out: int = 0
    horizon: int | None = None
    shards: Mapping[int, tuple[int | None, ...]] | None = None
    shards_left_out: int = 0
    keys: Mapping[str, int] | None = None


def merged_activity(texts: Iterable[str]) -> Activity | None:
    """Returns the activity of all shards, given the text of each; None if there is none."""
    documents = [json.loads(text) for text in texts if text]
    if not documents:
        return None
    windows, left, panes = _windows(documents)
    shards = {row[0]: tuple(row[1:]) for document in documents for row in document.get("shards", ())}
    shown = sorted(shards, key=lambda shard: -(shards[shard][OF_A_SHARD.index("state_bytes")] or 0))
    keys = Counter[str]()
    for document in documents:
        keys.update(dict(document.get("keys", ())))
    stored = Counter[Bounds]()
    for start, end, more in (row for document in documents for row in document.get("stored", ())):
        stored[start, end] += more
    horizons = [document.get("horizon") for document in documents]
    return Activity(
        family=documents[0].get("family", ""),
        by_row_number=documents[0].get("counted", False),
        windows=windows,
        stored={bounds: more for bounds, more in stored.items() if bounds in windows},
        windows_left_out=left,
        panes_left_out=panes,
        horizon=None if None in horizons else min(horizons),
        shards={shard: shards[shard] for shard in sorted(shown[:MOST_SHARDS])},
        shards_left_out=max(0, len(shown) - MOST_SHARDS),
        keys=dict(keys.most_common(max(document.get("most_keys", 0) for document in documents))),
    )


def _windows(documents: Iterable[Mapping[str, Any]]) -> tuple[dict[Bounds, tuple[int, ...]], int, int]:
    """Returns the windows with most panes, and how many windows and panes are left out."""
    sums: dict[Bounds, list[int]] = {}
    width, left, panes = max(document.get("width", 0) for document in documents), 0, 0
    for document in documents:
        for start, end, *counts in document.get("windows", ()):
            bounds = (start, end) if not width or start is None else _stretch(start, width)
            known = sums.setdefault(bounds, [0] * len(COUNTS))
            sums[bounds] = [a + b for a, b in zip(known, counts, strict=True)]
        left, panes = (a + b for a, b in zip((left, panes), document.get("left_out", (0, 0)), strict=True))
    ranked = sorted(
        sums, key=lambda bounds: (-emitted_count(sums[bounds]), -sums[bounds][CHANGED], -(bounds[0] or 0))
    )
    panes += sum(emitted_count(sums[bounds]) for bounds in ranked[MOST_WINDOWS:])
    left += max(0, len(ranked) - MOST_WINDOWS)
    return {bounds: tuple(sums[bounds]) for bounds in ranked[:MOST_WINDOWS]}, left, panes


def emitted_count(counts: Sequence[int]) -> int:
    """Returns how many rows were emitted for a window.

    >>> emitted_count((1, 2, 3, 0, 1, 9, 9))
    7
    """
    return sum(counts[: len(EMITTED)])


def fitting_width(first: int, last: int) -> int:
    """Returns the length of stretches that divide a range of time into a few.

    >>> fitting_width(0, 5_000_000), fitting_width(0, 5)
    (1000000, 1000)
    """
    fitting = (width for width in _WIDTHS if last // width - first // width < _STRETCHES)
    width = next(fitting, None)
    if width is not None:
        return width
    width = _WIDTHS[-1]
    while last // width - first // width >= _STRETCHES:
        width *= 10
    return width


def _stretch(start: int, width: int) -> Bounds:
    first = start - start % width
    return first, first + width


def as_json(activity: Activity) -> dict[str, Any]:
    """Returns an activity as JSON values, without what is empty."""
    document = {key: getattr(activity, name) for name, key in _PLAIN.items()} | {
        "windows": [[*bounds, *counts] for bounds, counts in (activity.windows or {}).items()],
        "stored": [[*bounds, more] for bounds, more in (activity.stored or {}).items()],
        "shards": [[shard, *figures] for shard, figures in (activity.shards or {}).items()],
        "keys": [[*pair] for pair in (activity.keys or {}).items()],
    }
    shown = {name: value for name, value in document.items() if value}
    return shown if activity.horizon is None else {**shown, "horizon": activity.horizon}


def from_json(document: Mapping[str, Any]) -> Activity:
    """Returns the activity that :func:`as_json` has written."""
    return Activity(
        **{name: document[key] for name, key in _PLAIN.items() if key in document},
        horizon=document.get("horizon"),
        windows={(start, end): tuple(counts) for start, end, *counts in document.get("windows", ())},
        stored={(start, end): more for start, end, more in document.get("stored", ())},
        shards={shard: tuple(figures) for shard, *figures in document.get("shards", ())},
        keys=dict(document.get("keys", ())),
    )
