"""Results: one JSON line each in a file, and a table to read."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.measure import WARM_UP_BATCHES

RESULTS = Path(__file__).parent / "results.jsonl"

_HEADINGS = ("shape", "peer", "rows", "batch_rows", "ours_s", "peer_s", "ours rows/s", "peer rows/s", "ratio")
_LEGEND = f"""\
*_s: median seconds per micro-batch (triggerExecution) of the batches with data, without
    the first {WARM_UP_BATCHES} of each run (warm-up)
polars: seconds of one query over all files, divided by their number
rows: read by each run of ours; the peer alternates with it over the same files, or (per_key)
    over files of the same size
ratio: peer_s / ours_s; above 1, ours is faster"""


@dataclass(frozen=True, slots=True)
class Result:
    """One shape, ours and one peer: median seconds per micro-batch, over batches of the same size."""

    shape: str
    peer: str
    rows: int
    batch_rows: int
    ratio: float
    ours_s: float
    peer_s: float


def append(result: Result, path: Path = RESULTS) -> None:
    """Adds a line to the results."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def table(results: Sequence[Result]) -> str:
    """Returns a table of the results, with a legend below."""
    rows = [_HEADINGS, *(_cells(result) for result in results)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(_aligned(at, cell, width) for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return "\n".join([*lines, "", _LEGEND])


def _aligned(at: int, cell: str, width: int) -> str:
    return cell.ljust(width) if at < 2 else cell.rjust(width)  # names, then numbers


def _cells(result: Result) -> tuple[str, ...]:
    numbers = (f"{result.rows:,}", f"{result.batch_rows:,}", f"{result.ours_s:.3f}", f"{result.peer_s:.3f}")
    rates = (f"{result.batch_rows / seconds:,.0f}" for seconds in (result.ours_s, result.peer_s))
    return (result.shape, result.peer, *numbers, *rates, f"{result.ratio:.2f}")
