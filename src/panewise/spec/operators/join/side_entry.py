"""A side of a join as an input port: with the further columns that the whole join reads of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from panewise.chrono import Duration
from panewise.families import Family
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.side import Side
from panewise.spec.protocol import Shown
from panewise.spec.source_position import Position
from panewise.spec.watermarks import StreamTime, Watermark
from panewise.spec.windows.kinds import AnyWindow


@dataclass(frozen=True, kw_only=True)
class SideEntry:
    """The input port of a side: :class:`panewise.spec.protocol.Entry`, whose fields it has.

    Attributes:
        columns_read: the columns of the side, and those that the match, the condition and emitted rows read.
        whole_rows: whether all columns are emitted.
        watermark: that of the side, or of the join if that has one.
        window: the windows of a window join. A row that is in none is invalid.
        compared: the columns whose values are compared with those of earlier rows. A row without a value in
            one of them is invalid.
    """

    keys: tuple[str, ...]
    columns_read: tuple[str, ...]
    time: Literal["event", "processing"]
    time_columns: tuple[str, ...]
    order: tuple[str, ...]
    position: Position | None
    null_keys: bool
    max_future_skew: Duration | None
    watermark: Watermark | None
    window: AnyWindow | None
    whole_rows: bool = False
    compared: tuple[str, ...] = ()


# The fields of a port that are those of its side.
_OF_SIDES: Final = ("keys", "time", "time_columns", "order", "position", "null_keys", "max_future_skew")


class TwoSided(Shown, ABC):
    """What joins and cogroups have in common: two sides, and where their watermarks come from.

    Attributes:
        left: the left side.
        right: the right side.
        watermark: the watermark of both sides; None: each has its own.
        idle_after: after which silence a side does not delay the other side; None: it always does.
        evaluate: whether the watermarks that rows drive move after each batch or after each row.
    """

    family: ClassVar[Family]
    _clock_fields: ClassVar[tuple[str, ...]] = ("idle_after",)

    left: Side
    right: Side
    watermark: StreamTime | None
    idle_after: Duration | None
    evaluate: Literal["batch", "record"]

    @property
    def ports(self) -> dict[str, SideEntry]:
        """The two input ports, in a dict of the caller's own."""
        return dict(self._ports)

    @property
    @abstractmethod
    def _ports(self) -> Mapping[str, SideEntry]:
        """The two input ports, which are made once."""

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

    def _entry(self, side: Side, more: tuple[str, ...], **of_match: Any) -> SideEntry:
        """Returns the port of a side, of which `more` columns are read besides its own."""
        return SideEntry(
            **{name: getattr(side, name) for name in _OF_SIDES},
            columns_read=tuple(dict.fromkeys((*side.columns_read, *more))),
            watermark=self.watermark or side.watermark,
            **of_match,
        )
