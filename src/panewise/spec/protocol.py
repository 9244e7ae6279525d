"""What all specifications have in common: their families, their input ports, and their types.

:mod:`panewise.spec.family_parts` has what depends on the family.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from panewise.chrono import Duration
from panewise.families import Family, part
from panewise.spec.column_types import Type
from panewise.spec.source_position import Position
from panewise.spec.watermarks import Watermark
from panewise.spec.windows.kinds import AnyWindow

Types: TypeAlias = Mapping[str, Type]
Columns: TypeAlias = Mapping[str, tuple[str, ...]]  # the columns of each port
Origins: TypeAlias = Mapping[str, tuple[str, str]]  # the port and column of each emitted column
Refusal: TypeAlias = tuple[str, str, str]  # what was given, the rule it breaks, and a remedy


class Entry(Protocol):
    """What an operator reads from one input port: columns, clock, arrival order and validation of rows."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        ...

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns that the operator reads by name, each once."""
        ...

    @property
    def whole_rows(self) -> bool:
        """Whether the operator also stores or emits all other columns."""
        ...

    @property
    def time(self) -> Literal["event", "processing"]:
        """The clock that gives rows their time."""
        ...

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time, as a tuple; empty if there is none."""
        ...

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that define the arrival order within a batch."""
        ...

    @property
    def position(self) -> Position | None:
        """The columns of the source position."""
        ...

    @property
    def null_keys(self) -> bool:
        """Whether null and NaN are keys like any other value."""
        ...

    @property
    def max_future_skew(self) -> Duration | None:
        """How far an event time may be ahead of processing time; None: no limit."""
        ...

    @property
    def watermark(self) -> Watermark | None:
        """Where the watermark comes from; None: from outside."""
        ...

    @property
    def window(self) -> AnyWindow | None:
        """The windows that rows are assigned to; None if there are none."""
        ...


class Specification(Protocol):
    """A specification of any family: a frozen value that can be compared and hashed."""

    def __hash__(self) -> int:
        """Returns the hash of the value."""
        ...

    @property
    def family(self) -> Family:
        """The family."""
        ...

    @property
    def ports(self) -> Mapping[str, Entry]:
        """The input ports by name, in their order. An operator with one input has the port "input"."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the emitted rows or panes."""
        ...

    @property
    def position(self) -> Position | None:
        """The columns of the source position of the first port."""
        ...


class Shown:
    """Is shown as HTML in notebooks, by :mod:`panewise.spec.display`."""

    def _repr_html_(self) -> str:
        """Returns the words of the specification, and the timeline of its windows if it has any."""
        html: str = part("panewise.spec.display").html_of(self)
        return html


# "aggregates", "merge_aggregates", "windows" and "listeners", each by name.
Users: TypeAlias = Mapping[str, Mapping[str, Any]]


def is_specification(value: Any, *families: Family) -> bool:
    """Returns whether a value is a specification, of one of these families if there are any."""
    family = None if isinstance(value, type) else getattr(value, "family", None)
    return isinstance(family, Family) and (not families or family in families)
