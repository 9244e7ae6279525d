"""A side of a join as an input port: with the further columns that the whole join reads of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from panewise.chrono import Duration
from panewise.spec.operators.join.side import Side
from panewise.spec.position import Position
from panewise.spec.watermarks import StreamTime, Watermark
from panewise.spec.windows.kinds import AnyWindow


@dataclass(frozen=True)
class SideEntry:
    """The input port of a side: :class:`panewise.spec.protocol.Entry`.

    Attributes:
        side: the side, with the watermark of the join if that has one.
        more: the columns that the condition and the emitted rows read, besides those of the side.
        whole_rows: whether all columns are emitted.
        window: the windows of a window join. A row that is in none is invalid.
        compared: the columns whose values are compared with those of earlier rows. A row without a value in
            one of them is invalid.
    """

    time: ClassVar[Literal["event"]] = "event"

    side: Side
    more: tuple[str, ...] = ()
    whole_rows: bool = False
    window: AnyWindow | None = None
    compared: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""
        return self.side.keys

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns that are read by name, each once."""
        return tuple(dict.fromkeys((*self.side.columns_read, *self.more)))

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time."""
        return self.side.time_columns

    @property
    def order(self) -> tuple[str, ...]:
        """The columns that define the arrival order of a batch."""
        return self.side.order

    @property
    def position(self) -> Position | None:
        """The columns of the source position."""
        return self.side.position

    @property
    def null_keys(self) -> bool:
        """Whether a row with a null key is valid."""
        return self.side.null_keys

    @property
    def max_future_skew(self) -> Any:
        """How far an event time may be ahead of processing time, None for no limit."""
        return self.side.max_future_skew

    @property
    def watermark(self) -> Watermark | None:
        """Where the watermark comes from, None for outside."""
        return self.side.watermark


class TwoSided(Protocol):
    """What joins and cogroups have in common: two sides, and where their watermarks come from."""

    @property
    def sides(self) -> Mapping[str, Side]:
        """The sides by name."""
        ...

    @property
    def ports(self) -> Mapping[str, SideEntry]:
        """The two input ports."""
        ...

    @property
    def watermark(self) -> StreamTime | None:
        """The watermark of both sides; None: each has its own."""
        ...

    @property
    def idle_after(self) -> Duration | None:
        """After which silence a side does not hold the other side back; None: it always does."""
        ...

    @property
    def evaluate(self) -> Literal["batch", "record"]:
        """Whether the watermarks that rows drive move after each batch or after each row."""
        ...
