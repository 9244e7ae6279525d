"""Small stores of retained windows, and the command that writes them to files.

``python -m tests.standalone.retained.make_golden`` writes those of the current format. The files are never
rewritten: they are what operators of a release left behind. A new format adds new files beside them.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from panewise import functions as F
from panewise.standalone import (
    AggregatorSettings,
    JoinWindowOperator,
    JoinWindowSettings,
    WindowedAggregator,
)
from panewise.stores import DurableMap

FOLDER = Path(__file__).parent / "golden"
FORMAT = 1
TYPES = {"event_time": "bigint", "v": "bigint", "k": "string"}
GIVEN: dict[str, Any] = {"size": 10, "retention_size": 100, "retention_time": 1000, "late": 5}
MAPS = ("metadata", "messages")

Opened = WindowedAggregator | JoinWindowOperator


def sums(store: Path) -> Opened:
    """Sums in windows of time: partials in the metadata."""
    settings = AggregatorSettings(measure="time", advance=5, **GIVEN)
    return WindowedAggregator(settings, [F.sum("v").alias("total")], TYPES, store=store)


def medians(store: Path) -> Opened:
    """Medians in sessions: stored messages, and what was emitted."""
    settings = AggregatorSettings(measure="time", session_key="k", **GIVEN)
    return WindowedAggregator(settings, [F.median("v").alias("middle")], TYPES, store=store)


def orders(store: Path, early: Any = 7) -> Opened:
    """The messages of windows of messages, by equal fields."""
    settings = JoinWindowSettings(
        measure="tuple",
        advance=10,
        keyed_message_store=("k",),
        early=early,
        **{**GIVEN, "retention_time": 10**6},
    )
    return JoinWindowOperator(settings, TYPES, store=store)


CASES: Mapping[str, Callable[[Path], Opened]] = {"sums": sums, "medians": medians, "orders": orders}


def fill(operator: Opened, last: int = 3) -> None:
    """Adds messages, the last one of them late and not emitted yet, and flushes.

    Those that were added before are replays.
    """
    for offset, (time, v, k) in enumerate(((1, 4, "a"), (3, 6, "b"), (40, 9, "a"), (2, 1, "a"))):
        if offset > last:
            break
        operator.add_message({"event_time": time, "v": v, "k": k}, 10 * offset, now=offset)
    operator.flush()


def entries(directory: Path) -> list[tuple[str, str]]:
    """Returns the entries of a durable map as hexadecimal texts."""
    opened = DurableMap(directory)
    with opened.scan() as found:
        made = [(key.hex(), value.hex()) for key, value in found]
    opened.close()
    return made


def write(name: str) -> None:
    """Writes the store of a case in the current format, unless it was written before."""
    path = FOLDER / f"{name}-format-{FORMAT}.json"
    if path.exists():
        return
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory)
        with CASES[name](store) as operator:
            fill(operator)
        made = {part: entries(store / part) for part in MAPS if (store / part).exists()}
    path.write_text(json.dumps(made, indent=1) + "\n")


def restore(name: str, number: int, store: Path) -> None:
    """Makes the store of a case in a format."""
    for part, found in json.loads((FOLDER / f"{name}-format-{number}.json").read_text()).items():
        made = DurableMap(store / part)
        for key, value in found:
            made.put(bytes.fromhex(key), bytes.fromhex(value))
        made.close()


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        write(case)
