"""What operators emit: rows with numbers that repeat with them, and messages that were rejected (31)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import polars as pl

from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import Port
from panewise.errors import InputError
from panewise.standalone.messages import Message

NUMBER: Final = "number"
APPLIED: Final = Counts(rows_in=1, applied=1)


@dataclass(frozen=True)
class Emission:
    """The rows that one step emits for one input.

    Attributes:
        rows: the emitted rows: panes, OVER rows, events of policy windows or rows of a join.
        late: the late rows of the input, with ``__reason`` and the other columns of semantics 13.4.
        invalid: the invalid rows of the input, with ``__reason`` (semantics 15).
        counts: how many rows the step received from the input, and what became of them.
        input: the name of the input.
        step: the number of the step; the first one is 1.
        first_row: the number of the first of `rows`. The others follow it.
        first_late: the number of the first of `late`, counted apart.
        first_invalid: the number of the first of `invalid`, counted apart.
        misfits: the messages that have a value of another type than its column, as they were given.

    >>> import polars as pl
    >>> none = pl.DataFrame()
    >>> rows = pl.DataFrame({"k": ["a", "b"]})
    >>> Emission(rows, none, none, Counts(), "input", step=1, first_row=7).numbered().rows()
    [('a', 7), ('b', 8)]

    Source: S1 "Windowed Aggregator", S-48 (output at least once); semantics 31.2.
    """

    rows: pl.DataFrame
    late: pl.DataFrame
    invalid: pl.DataFrame
    counts: Counts
    input: str
    step: int
    first_row: int = 0
    first_late: int = 0
    first_invalid: int = 0
    misfits: tuple[Message, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an emitted row nor a late or an invalid one."""
        return not (self.rows.height or self.late.height or self.invalid.height or self.misfits)

    def dicts(self) -> list[dict[str, Any]]:
        """Returns `rows` as dictionaries by column.

        It is faster than ``rows.to_dicts()`` where an operator has emitted panes message by message (31.31),
        because it makes no DataFrame then.
        """
        return self.rows.to_dicts()

    def numbered(self, name: str = NUMBER) -> pl.DataFrame:
        """Returns `rows` with their numbers in a further column, by default ``number``.

        Raises:
            InputError: if `rows` has a column of this name.
        """
        if name in self.rows.columns:
            rule = "the numbers of rows are in a column of their own"
            raise InputError(f"a column {name!r} for numbers", rule, "give numbered() another name")
        numbers = pl.int_range(self.first_row, self.first_row + pl.len(), dtype=pl.Int64())
        return self.rows.select(*self.rows.columns, numbers.alias(name))


class PaneColumns:
    """The columns of the frames of an emission whose only rows are panes.

    Args:
        schema: the columns of panes.
        port: the input for which they are emitted.
    """

    def __init__(self, schema: dict[str, pl.DataType], port: Port) -> None:
        self.schema, self.names = schema, list(schema)
        self.late = pl.DataFrame(schema=port.late_schema)
        self.invalid = pl.DataFrame(schema=port.invalid_schema)


class PaneEmission(Emission):
    """The panes that a message or a clock emits for one input. Their DataFrame is made when it is read."""

    def __init__(
        self,
        columns: PaneColumns,
        panes: list[tuple[Any, ...]],
        numbering: "Numbering",
        port: str,
        counts: Counts,
    ) -> None:
        self.__dict__.update(
            _columns=columns,
            _panes=panes,
            late=columns.late,
            invalid=columns.invalid,
            counts=counts,
            input=port,
            step=numbering.step,
            first_row=numbering.row,
            first_late=numbering.late,
            first_invalid=numbering.invalid,
            misfits=(),
        )

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The emitted panes."""
        columns: PaneColumns = self.__dict__["_columns"]
        return pl.DataFrame(self.__dict__["_panes"], columns.schema, orient="row")

    @property
    def is_empty(self) -> bool:
        """Whether there is no pane."""
        return not self.__dict__["_panes"]

    def dicts(self) -> list[dict[str, Any]]:
        """Returns the panes as dictionaries by column, without a DataFrame."""
        names = self.__dict__["_columns"].names
        return [dict(zip(names, pane, strict=True)) for pane in self.__dict__["_panes"]]


@dataclass(frozen=True)
class RejectedMessage:
    """A message that no window takes: S1's error output.

    Attributes:
        message: the message as it was given.
        offset: its offset.
        reason: "out of retention", or why the message is invalid (semantics 15).
    """

    message: Any
    offset: int
    reason: str


@dataclass(frozen=True)
class Numbering:
    """The numbers that the next step begins with.

    They are stored together with the state. So a step that is repeated after a restart has the same numbers.
    """

    step: int = 1
    row: int = 1
    late: int = 1
    invalid: int = 1

    def emission(self, output: Output, misfits: tuple[Message, ...] = ()) -> "tuple[Emission, Numbering]":
        """Returns an output with its numbers, and the numbers after it."""
        emission = Emission(
            output.panes,
            output.late,
            output.invalid,
            output.counts,
            output.port,
            self.step,
            self.row,
            self.late,
            self.invalid,
            misfits,
        )
        after = replace(
            self,
            row=self.row + output.panes.height,
            late=self.late + output.late.height,
            invalid=self.invalid + output.invalid.height,
        )
        return emission, after

    def after_panes(self, panes: int) -> "Numbering":
        """Returns the numbers after a step that emits so many panes and nothing else."""
        return Numbering(self.step + 1, self.row + panes, self.late, self.invalid)

    def at_least(self, other: "Numbering") -> "Numbering":
        """Returns the higher one of each number of this and the other numbering."""
        return Numbering(**{name: max(mine, getattr(other, name)) for name, mine in vars(self).items()})

    def following(self, steps: int) -> "Numbering":
        """Returns the numbers after so many steps."""
        return replace(self, step=self.step + steps)
