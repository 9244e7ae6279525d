"""Applied rows, pairs of them, and the output of an event while it is made."""

from dataclasses import dataclass, field
from typing import Any

from panewise.oracle.outputs import COUNTS, Output
from panewise.oracle.rows import Row
from panewise.spec.operators.join.columns import LEFT, RIGHT


@dataclass
class Applied:
    """An applied row.

    Attributes:
        side: its side.
        row: its values.
        place: its place in the arrival order of all applied rows of both sides.
        has_partner: whether a partner has arrived.
        emitted_alone: whether it was emitted as a row without a partner, and not retracted.
        emitted_once: whether `semi` has emitted it.
    """

    side: str
    row: Row
    place: int
    has_partner: bool = False
    emitted_alone: bool = False
    emitted_once: bool = False

    @property
    def order(self) -> tuple[int, bool, int]:
        """The place of a row that is emitted alone: by time, then left before right, then by arrival."""
        return self.row.time, self.side == RIGHT, self.place


@dataclass(frozen=True)
class Pair:
    """Partners: the row that arrived later, and the other one."""

    later: Applied
    earlier: Applied

    @property
    def order(self) -> tuple[int, int, int]:
        """The place of the pair among those of an evaluation (semantics 40.3)."""
        return self.later.place, self.earlier.row.time, self.earlier.place

    def row_of(self, side: str) -> Applied:
        """Returns the row of a side."""
        return self.later if self.later.side == side else self.earlier


@dataclass
class CollectedOutput:
    """The output of an event while it is made."""

    panes: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    invalid: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, side: str, name: str) -> None:
        """Counts a row of a side."""
        self.counts.setdefault(side, dict.fromkeys(COUNTS, 0))[name] += 1

    def as_output(self) -> Output:
        """Returns the output; late and invalid rows of the left side come before those of the right one."""

        def of_sides(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return sorted(entries, key=lambda entry: entry["input"] != LEFT)  # stable

        rejected = {"late": of_sides(self.late), "invalid": of_sides(self.invalid)}
        return {"panes": self.panes, **rejected, "counts": self.counts}
