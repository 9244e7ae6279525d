"""A side of a join as an input port: with the further columns that the whole join reads of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from panewise.chrono import Duration
from panewise.spec.notebook import Shown
from panewise.spec.operators.join.columns import LEFT, RIGHT
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

    side: Side
    more: tuple[str, ...] = ()
    whole_rows: bool = False
    window: AnyWindow | None = None
    compared: tuple[str, ...] = ()

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""
        return self.side.keys

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns that are read by name, each once."""
        return tuple(dict.fromkeys((*self.side.columns_read, *self.more)))

    @property
    def time(self) -> Literal["event", "processing"]:
        """The clock of the side: "event", or "processing" if rows have no event time."""
        return self.side.time

    @cached_property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time, if there is one."""
        return self.side.time_columns

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The columns that define the arrival order of a batch."""
        return self.side.order

    @cached_property
    def position(self) -> Position | None:
        """The columns of the source position."""
        return self.side.position

    @cached_property
    def null_keys(self) -> bool:
        """Whether a row with a null key is valid."""
        return self.side.null_keys

    @cached_property
    def max_future_skew(self) -> Any:
        """How far an event time may be ahead of processing time, None for no limit."""
        return self.side.max_future_skew

    @cached_property
    def watermark(self) -> Watermark | None:
        """Where the watermark comes from, None for outside."""
        return self.side.watermark


class TwoSided(Shown, ABC):
    """What joins and cogroups have in common: two sides, and where their watermarks come from.

    Attributes:
        left: the left side.
        right: the right side.
        watermark: the watermark of both sides; None: each has its own.
        idle_after: after which silence a side does not hold the other side back; None: it always does.
        evaluate: whether the watermarks that rows drive move after each batch or after each row.
    """

    left: Side
    right: Side
    watermark: StreamTime | None
    idle_after: Duration | None
    evaluate: Literal["batch", "record"]

    @property
    @abstractmethod
    def ports(self) -> dict[str, SideEntry]:
        """The two input ports."""

    @cached_property
    def sides(self) -> dict[str, Side]:
        """The sides by name."""
        return {LEFT: self.left, RIGHT: self.right}

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns of the left side."""
        return self.left.keys

    @property
    def position(self) -> Position | None:
        """The columns of the source position of the left side."""
        return self.left.position

    def _with_watermark(self, side: Side) -> Side:
        """Returns a side with the watermark of both sides, if there is one."""
        return side if self.watermark is None else replace(side, watermark=self.watermark)
