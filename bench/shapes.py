"""The shapes: what each benchmark computes, whoever computes it.

They count rows, sum v and take the largest v per key and window, or, the full ones, need all values: their median, or
the list of them. Every runner gives the columns k, start, end and those of the measures, or, ours, the same under its own names.
Of windows of rows, start and end are numbers of rows.
"""

from dataclasses import dataclass
from typing import Literal

WATERMARK_DELAY = "10 seconds"
KEYS = 10_000
_MINUTE_US = 60_000_000

Measure = Literal["totals", "median", "list"]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one length, one every `hop_us`; `final`: sent once, when complete, not with every batch that changes them."""

    name: str
    size_us: int
    hop_us: int
    final: bool = False
    measure: Measure = "totals"


@dataclass(frozen=True, slots=True)
class Sessions:
    """Windows that end where a key is silent for the gap; sent when complete."""

    name: str
    gap_us: int
    final: Literal[True] = True
    measure: Measure = "totals"


@dataclass(frozen=True, slots=True)
class Counted:
    """Windows of so many rows of a key, in the order in which they come; sent when complete. Spark itself has no such windows."""

    name: str
    rows: int
    final: Literal[True] = True
    measure: Measure = "totals"


Shape = Windows | Sessions | Counted

_SHAPES: tuple[Shape, ...] = (
    Windows("tumbling", _MINUTE_US, _MINUTE_US),
    Windows("tumbling_final", _MINUTE_US, _MINUTE_US, final=True),
    Windows("hopping", _MINUTE_US, 10_000_000),
    Sessions("session", 2_000_000),
    Windows("median", _MINUTE_US, _MINUTE_US, final=True, measure="median"),
    Windows("collect_list", _MINUTE_US, _MINUTE_US, final=True, measure="list"),
    Counted("rows", 100),
)
SHAPES = {shape.name: shape for shape in _SHAPES}


def output_mode(shape: Shape) -> Literal["append", "update"]:
    """Spark's name for when a shape's windows are sent."""
    return "append" if shape.final else "update"
