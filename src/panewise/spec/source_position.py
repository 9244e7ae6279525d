"""The source position of rows: the columns by which replays are recognised (semantics 4). Values only."""

from dataclasses import dataclass
from typing import Any

from panewise.choices import check_flag
from panewise.errors import SpecError
from panewise.spec.fields import is_count, is_name, set_fields


@dataclass(frozen=True)
class Position:
    """Columns with the position of a row in its source, by which replays are recognised (semantics 4).

    By default each (source, partition) has one mark, the highest offset received. A row at or below the mark
    is a replay, even if it was never received. A replay does nothing, and only the counter `replays` shows
    it. This is right if offsets arrive in ascending order, as from Kafka. Otherwise use `ordered=False`.

    Args:
        partition: column of the partition.
        offset: column of the offset, a whole number that grows within a partition.
        source: column of the source. Default: None, there is one source.
        ordered: with False the received offsets are remembered as intervals, and only rows with these offsets
            are replays. Default: True.
        remember: the maximum number of intervals that are remembered for each (source, partition), 1 or more.
            Beyond it all offsets up to the end of the lowest interval count as received. Only with
            `ordered=False`. Default: 1000.

    Raises:
        SpecError: for a column that is not a non-empty string, or is given twice; for `remember` below 1, or
            with `ordered=True`.

    >>> Position(ordered=False)
    Position(partition='partition', offset='offset', source=None, ordered=False, remember=1000)

    Source: semantics 4, 4.4; S1 "exactly-once view of the stream".
    """

    partition: str = "partition"
    offset: str = "offset"
    source: str | None = None
    ordered: bool = True
    remember: int | None = None

    def __post_init__(self) -> None:
        self._check_order()
        columns = [self.partition, self.offset, *([] if self.source is None else [self.source])]
        if not all(map(is_name, columns)) or len(set(columns)) < len(columns):
            rule = "a position is read from different columns, named by non-empty strings"
            raise SpecError(f"Position({', '.join(map(repr, columns))})", rule, "give the columns' names")

    def _check_order(self) -> None:
        check_flag("ordered", self.ordered)
        if self.ordered:
            if self.remember is not None:
                rule = "of ordered positions only the highest offset is stored, and no intervals"
                remedy = "give ordered=False, or leave remember out"
                raise SpecError(f"Position(remember={self.remember!r})", rule, remedy)
            return
        remember = 1000 if self.remember is None else self.remember
        if not is_count(remember):
            rule = "the number of intervals is a whole number above zero"
            raise SpecError(f"remember={remember!r}", rule, "give 1 or more")
        set_fields(self, remember=remember)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in the order in which they sort rows: source, if there is one, partition, offset."""
        return (*(() if self.source is None else (self.source,)), self.partition, self.offset)


def check_position(position: Any, order: tuple[str, ...] = ()) -> None:
    """Refuses a position of another type, and one together with order columns."""
    if position is not None and not isinstance(position, Position):
        rule = "a position is a Position"
        raise SpecError(f"position={position!r}", rule, "give Position(partition=..., offset=...)")
    if order and position is not None:
        rule = "a position is the arrival order (semantics 3)"
        raise SpecError(f"order={order!r} and a position", rule, "leave one of them out")
