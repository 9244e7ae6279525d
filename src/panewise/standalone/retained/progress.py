"""How far an operator has come: what it stores besides windows."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from panewise.chrono import MIN_INSTANT
from panewise.engine.ingest.output import Counts


@dataclass
class Progress:
    """The state of an operator besides its windows.

    Attributes:
        mark: the highest offset of an applied message; None: there is none yet.
        watermark: the highest event time of an applied message; None: there is none yet.
        floor: windows of time that end at or before it have expired by number, or were removed.
        sequence: the number of the last output.
        restore_until: messages up to this offset are being restored; None: all messages are stored.
    """

    mark: int | None = None
    received: int = 0
    watermark: int | None = None
    clock: int = 0
    floor: int = MIN_INSTANT
    sequence: int = 0
    restore_until: int | None = None
    counts: Counts = field(default_factory=Counts)

    def apply(self, offset: int, time: int) -> None:
        """Counts a message as applied, and moves the mark and the watermark."""
        self.mark, self.received = offset, self.received + 1
        self.watermark = time if self.watermark is None else max(self.watermark, time)
        self.count("applied")

    def note_output(self, sequence: int) -> None:
        """Notes the number of the last output."""
        self.sequence = sequence

    def end_restore(self) -> None:
        """Ends the restoring of messages."""
        self.restore_until = None

    def raise_floor(self, ends: Iterable[int]) -> None:
        """Marks windows of time with these ends, and all before them, as expired."""
        self.floor = max([self.floor, *ends])

    def read_clock(self, now: int | None) -> None:
        """Moves the clock, unless the reading is an earlier one or None."""
        if now is not None:
            self.clock = max(self.clock, now)

    def count(self, kind: str) -> None:
        """Counts a message that was added, and what became of it."""
        self.counts += Counts(rows_in=1, **{kind: 1})

    def following(self, other: "Progress") -> "Progress":
        """Returns this progress with the clock, the counts and the numbers of outputs of a later one.

        After a restart that one may have the lower number: then outputs with numbers up to this one's have
        been emitted.
        """
        sequence, clock = max(self.sequence, other.sequence), max(self.clock, other.clock)
        return replace(self, sequence=sequence, clock=clock, counts=other.counts)

    def to_json(self) -> dict[str, Any]:
        """Returns the state as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Progress":
        """Returns the state of JSON values."""
        return cls(**{**stored, "counts": Counts(**stored["counts"])}) if stored else cls()
