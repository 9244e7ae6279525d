"""The output of a step."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import polars as pl

from panewise.engine.kernels.column_types import Dtypes
from panewise.families import INPUT


@dataclass(frozen=True)
class Counts:
    """Counts of rows: rows_in = applied + replays + late + invalid (semantics 15.1).

    Partially late rows are counted among the applied rows.
    """

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
    """The panes, late rows and invalid rows of one step in the order of semantics 23, and the counts.

    Late rows, invalid rows and counts are those of the input `port`. `combined_late` has the numbers of late
    rows by reason that were pre-aggregated, and so are not among the late rows.
    """

    panes: pl.DataFrame
    late: pl.DataFrame
    invalid: pl.DataFrame
    counts: Counts
    port: str = INPUT
    combined_late: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def nothing(cls, panes: Dtypes, late: Dtypes, invalid: Dtypes) -> "Output":
        """Returns an empty output with these columns."""
        return cls(
            pl.DataFrame(schema=panes), pl.DataFrame(schema=late), pl.DataFrame(schema=invalid), Counts()
        )

    @classmethod
    def merged(cls, outputs: Sequence["Output"]) -> "Output":
        """Returns the rows of all outputs of one port as one output, in their order, with summed counts."""
        if len(outputs) == 1:
            return outputs[0]
        return cls(
            pl.concat([o.panes for o in outputs]),
            pl.concat([o.late for o in outputs]),
            pl.concat([o.invalid for o in outputs]),
            sum((o.counts for o in outputs), Counts()),
            outputs[0].port,
            sum((Counter(o.combined_late) for o in outputs), Counter()),
        )
