"""What a step gives."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import polars as pl


@dataclass(frozen=True)
class Counts:
    """What became of the rows: rows_in = applied + replays + late + invalid (semantics 15.1). Partially late rows are among the applied."""

    rows_in: int = 0
    applied: int = 0
    replays: int = 0
    late: int = 0
    invalid: int = 0
    partially_late: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Counts)))


@dataclass(frozen=True)
class Output:
    """Panes, late rows and invalid rows of one step, in the order of semantics 23."""

    panes: pl.DataFrame
    late: pl.DataFrame
    invalid: pl.DataFrame
    counts: Counts

    @classmethod
    def joined(cls, outputs: Sequence["Output"]) -> "Output":
        """Several outputs, one after the other."""
        if len(outputs) == 1:
            return outputs[0]
        frames = (pl.concat([getattr(o, name) for o in outputs]) for name in ("panes", "late", "invalid"))
        return cls(*frames, sum((o.counts for o in outputs), Counts()))
