"""The newest row of the other side (semantics 37). Values only."""

from dataclasses import dataclass
from typing import ClassVar

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import is_name, set_fields
from panewise.spec.windows.kinds import positive


@dataclass(frozen=True, init=False)
class Latest:
    """The newest row of the other side by key, of those that are younger than a time to live.

    A row that arrives is paired with the newest row of its key on the other side, and takes the place of that
    of its own side. So each side is a table that changes.

    Args:
        ttl: how long a row can be paired after its arrival, in processing time. Default: until another one of
            its key arrives. An int is in microseconds.
        deletes: a column of both sides, or a pair with a column or None for each side. A row in which it is
            null deletes the row of its key on its side. Default: none.

    Raises:
        SpecError: for a time that is not above zero, and for columns that are no non-empty strings.

    >>> Latest("1 hour", deletes=(None, "price"))
    Latest(ttl=Duration('1 hour'), deletes=(None, 'price'))

    Source: semantics 37.7 to 37.9; Samza's join, tables of Kafka Streams.
    """

    kind: ClassVar[str] = "latest"
    _clock_fields: ClassVar[tuple[str, ...]] = ("ttl",)
    ttl: Duration | None
    deletes: tuple[str | None, str | None]

    def __init__(
        self,
        ttl: DurationLike | None = None,
        deletes: str | tuple[str | None, str | None] | None = None,
    ) -> None:
        columns = tuple(deletes) if isinstance(deletes, (tuple, list)) else (deletes, deletes)
        set_fields(self, ttl=None if ttl is None else positive(ttl, "ttl"), deletes=columns)
        if len(columns) != 2 or not all(column is None or is_name(column) for column in columns):
            rule = "a column of each side, or None, is named by a non-empty string"
            raise SpecError(f"deletes={deletes!r}", rule, "give one such as (None, 'price')")

    @property
    def deletes_by_side(self) -> dict[str, str | None]:
        """The columns by side."""
        return {"left": self.deletes[0], "right": self.deletes[1]}
