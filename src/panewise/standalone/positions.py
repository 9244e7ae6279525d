"""How far the inputs of an operator have been read: what a commit stores and a restart continues from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from panewise.errors import InputError
from panewise.spec.fields import is_whole

RowPosition: TypeAlias = tuple[Any, ...]  # (source, partition, offset) or (partition, offset)
_RULE = "a position is (partition, offset) or (source, partition, offset), with a whole number as its offset"


@dataclass
class PartitionPositions:
    """The highest offset of each source and partition, by port.

    >>> positions = PartitionPositions()
    >>> positions.record("input", ("orders", 0, 7)), positions.record("input", ("orders", 0, 5))
    (None, None)
    >>> positions.of_port("input")
    [('orders', 0, 7)]
    """

    _offsets: dict[str, dict[RowPosition, int]] = field(default_factory=dict)

    def record(self, port: str, position: RowPosition) -> None:
        """Records the position of a row that has been added."""
        *origin, offset = position
        offsets = self._offsets.setdefault(port, {})
        key = tuple(origin)
        offsets[key] = max(offset, offsets.get(key, offset))

    def of_port(self, port: str) -> list[RowPosition]:
        """Returns the positions of a port, in the order in which their partitions were first read."""
        return [(*origin, offset) for origin, offset in self._offsets.get(port, {}).items()]

    def with_marks(self, port: str, marks: Iterable[RowPosition]) -> list[RowPosition]:
        """Returns the positions of a port, and those of replay marks where these are higher."""
        both = PartitionPositions({port: dict(self._offsets.get(port, {}))})
        for mark in marks:
            both.record(port, mark)
        return both.of_port(port)

    def to_json(self) -> dict[str, Any]:
        """Returns the positions as JSON values."""
        return {port: [list(position) for position in self.of_port(port)] for port in self._offsets}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "PartitionPositions":
        """Returns the positions of JSON values."""
        return cls(
            {port: {tuple(origin): offset for *origin, offset in rows} for port, rows in stored.items()}
        )


def checked_position(position: Any) -> RowPosition | None:
    """Returns a position as a tuple, None for None."""
    if position is None:
        return None
    if not isinstance(position, (tuple, list)) or len(position) not in (2, 3):
        raise InputError(f"position={position!r}", _RULE, "give such a tuple")
    *origin, offset = position
    texts = all(isinstance(part, (str, int)) for part in origin)
    if not texts or not is_whole(offset):
        raise InputError(f"position={position!r}", _RULE, "give such a tuple")
    return tuple(position)
