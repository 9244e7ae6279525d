"""The specification."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from panewise.errors import SpecError
from panewise.families import Family
from tests.families.pairs import PAIRS

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True)
class Side:
    """What is read of one input: a key, and the event time."""

    key: str
    event_time: str
    null_keys: ClassVar[bool] = False
    order: ClassVar[tuple[str, ...]] = ()
    position: ClassVar[None] = None
    max_future_skew: ClassVar[None] = None
    watermark: ClassVar[None] = None
    window: ClassVar[None] = None
    whole_rows: ClassVar[bool] = False
    time: ClassVar[Literal["event"]] = "event"

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def columns_read(self) -> tuple[str, ...]:
        return (self.key, self.event_time)

    @property
    def time_columns(self) -> tuple[str, ...]:
        return (self.event_time,)


@dataclass(frozen=True)
class Pairs:
    """Counts the rows of two inputs by key."""

    left: Side
    right: Side
    family: ClassVar[Family] = PAIRS
    position: ClassVar[None] = None

    def __post_init__(self) -> None:
        sides: tuple[Any, Any] = (self.left, self.right)
        if not all(isinstance(side, Side) for side in sides):
            raise SpecError(f"{sides!r}", "pairs have two sides", "give Side(key, event_time) twice")

    @property
    def ports(self) -> dict[str, Side]:
        return {LEFT: self.left, RIGHT: self.right}

    @property
    def keys(self) -> tuple[str, ...]:
        return ("key",)
