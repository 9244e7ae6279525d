"""The shapes: what each benchmark computes, with every runner.

Most shapes count rows, sum v and take the largest v per key and window. Those that need all values compute
their median, or a list of them. Every runner returns the columns k, start, end and those of the measures;
ours has names of its own for start and end. For windows of rows, start and end are row numbers.
"""

from dataclasses import dataclass
from typing import Literal

WATERMARK_DELAY = "10 seconds"
KEYS = 10_000
_MINUTE_US = 60_000_000

Measure = Literal["totals", "median", "list"]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of one length, one every `hop_us`.

    If `final`, they are emitted once, when complete; otherwise with every batch that changes them.
    """

    name: str
    size_us: int
    hop_us: int
    final: bool = False
    measure: Measure = "totals"


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions of a key, separated by a gap without rows; emitted when complete."""

    name: str
    gap_us: int
    final: Literal[True] = True
    measure: Measure = "totals"


@dataclass(frozen=True, slots=True)
class Counted:
    """Windows of `rows` rows of a key in arrival order, emitted when complete. Spark has no such windows."""

    name: str
    rows: int
    final: Literal[True] = True
    measure: Measure = "totals"


@dataclass(frozen=True, slots=True)
class Slides:
    """A window that ends at each different event time of a key, closed at both ends; emitted when complete.

    Spark has no such windows. Keys are taken modulo `keys`, so that a window of a minute contains about a
    thousand rows.
    """

    name: str
    size_us: int
    keys: int
    final: Literal[True] = True
    measure: Measure = "totals"


@dataclass(frozen=True, slots=True)
class Framed:
    """Every row with the sum of v over itself and the `preceding` rows of its key before it.

    Rows are taken as they arrive, or in order of event time if `by_time`.
    """

    name: str
    preceding: int
    by_time: bool = False
    final: Literal[True] = True


Shape = Windows | Sessions | Counted | Slides | Framed

_SHAPES: tuple[Shape, ...] = (
    Windows("tumbling", _MINUTE_US, _MINUTE_US),
    Windows("tumbling_final", _MINUTE_US, _MINUTE_US, final=True),
    Windows("hopping", _MINUTE_US, 10_000_000),
    Sessions("session", 2_000_000),
    Windows("median", _MINUTE_US, _MINUTE_US, final=True, measure="median"),
    Windows("collect_list", _MINUTE_US, _MINUTE_US, final=True, measure="list"),
    Counted("rows", 100),
    Slides("sliding", _MINUTE_US, 1_000),
    Framed("over", preceding=2),
    Framed("over_time", preceding=2, by_time=True),
)
SHAPES = {shape.name: shape for shape in _SHAPES}


def output_mode(shape: Shape) -> Literal["append", "update"]:
    """Returns Spark's output mode for a shape."""
    return "append" if shape.final else "update"
