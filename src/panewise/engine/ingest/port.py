"""Input ports: what an operator reads of the rows of an input, and their validation."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, Self

import polars as pl

from panewise.engine.columns import REASON, key_columns
from panewise.engine.ingest.late_output import late_schema
from panewise.engine.ingest.validate import Assign, ValidationResult, check_columns, validate
from panewise.families import INPUT
from panewise.spec import Entry, RowInputs, row_driven

NEVER: Final = "rows of this operator are never pre-aggregated"


class Port(Protocol):
    """A compiled input port: validates and pre-aggregates rows where they are read. It has no state."""

    @property
    def entry(self) -> Entry:
        """The specification of the port."""
        ...

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of the input."""
        ...

    @property
    def keys(self) -> list[str]:
        """The columns of the key; without keys a constant column."""
        ...

    @property
    def late_schema(self) -> dict[str, pl.DataType]:
        """The columns of late rows."""
        ...

    @property
    def invalid_schema(self) -> dict[str, pl.DataType]:
        """The columns of invalid rows."""
        ...

    @property
    def row_driven_inputs(self) -> RowInputs | None:
        """The inputs of `Inputs` or `StreamTime`, if rows drive their watermarks; else None."""
        ...

    @property
    def ties_matter(self) -> bool:
        """Whether rows of equal event time must keep their order even if the late output is not used."""
        ...

    @property
    def can_combine(self) -> bool:
        """Whether rows may be pre-aggregated before they reach the state, if the late output is not used."""
        ...

    @property
    def needs_clock(self) -> bool:
        """Whether the operator validates rows again, because their windows depend on its clock."""
        ...

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid and the invalid rows of a batch.

        Without `windows`, rows are not assigned to windows yet.
        """
        ...

    def combine(self, valid: pl.DataFrame, /) -> pl.DataFrame:
        """Returns the partials of valid rows; only if :attr:`can_combine`."""
        ...

    def combine_again(self, partials: pl.DataFrame, /) -> pl.DataFrame:
        """Merges the partials of several readers."""
        ...


class UncombinedPort:
    """A port that combines no rows, as the operator needs each of them, in their order."""

    can_combine = False
    ties_matter = True
    needs_clock = False

    def combine(self, valid: pl.DataFrame) -> pl.DataFrame:
        """Raises AssertionError. It is never called, because `can_combine` is False."""
        raise AssertionError(NEVER)

    combine_again = combine


class EntryPort:
    """An input port that validates rows by the specification of the input.

    Attributes:
        assign: assigns valid rows to their windows; None if rows have none.
        compared: the columns of deltas, in which each row has a value (semantics 10.4).

    Raises:
        SpecError: if a column is missing.
    """

    assign: Assign | None = None
    compared: Sequence[str] = ()

    def __init__(self, entry: Entry, schema: Mapping[str, pl.DataType]) -> None:
        check_columns(entry, schema)
        self.entry, self.schema, self.keys = entry, dict(schema), key_columns(entry.keys)
        self.row_driven_inputs = row_driven(entry.watermark)
        self.late_schema, self.invalid_schema = late_schema(self.schema), {**self.schema, REASON: pl.String()}

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid and the invalid rows of a batch.

        Without `windows`, rows are not assigned to windows yet. If windows depend on processing time,
        `processing_time` must be that of the operator.
        """
        assign = self.assign if windows else None
        return validate(self.entry, self.schema, rows, processing_time, assign, self.compared)


class InputPort(EntryPort):
    """The only input port of an operator, which is also the plan of the operator."""

    @property
    def ports(self) -> dict[str, Self]:
        """The input port."""
        return {INPUT: self}
