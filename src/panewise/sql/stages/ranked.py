"""How panes with lists become the rows of a Top-N."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias, TypeVar

from panewise.sql.stages.stage import OutputColumn

Place: TypeAlias = int | Literal["other", "rank"] | None  # in the SELECT list of a Top-N: see `Ranked`
T = TypeVar("T")


@dataclass(frozen=True)
class Ties:
    """Equal ranks of equal rows, as RANK and DENSE_RANK give them.

    Attributes:
        function: "rank" or "dense_rank".
        n: the greatest rank.
        lists: the lists with the values of the order. Empty: the structs have them in the field `field`.
    """

    function: str
    n: int
    lists: tuple[str, ...] = ()
    field: str = "__order"


@dataclass(frozen=True)
class Ranked:
    """How panes with lists become rows: one for each place of the lists.

    Attributes:
        lists: the columns with lists of equal length, or one with a list of structs, which gives the fields
            of these.
        rank: the name of a column with the place, from 1; None if there is none.
        others: further columns: their names, and expressions over panes.
        retracts: whether the rows have the column `op`.
        ties: how equal rows are ranked; None if each has a rank of its own.
        order: what stands in each place of the SELECT list: a number of fields, None for as many fields as
            `*` has, "other" for the next of `others`, and "rank". Empty: the fields, `others`, the rank.
        fields: the SELECT list of the fields of structs, over the rows of the input.
        of_structs: whether the list is one of structs.
    """

    lists: tuple[str, ...]
    rank: str | None
    others: tuple[tuple[str, str], ...]
    retracts: bool
    ties: Ties | None = None
    order: tuple[Place, ...] = ()
    fields: tuple[OutputColumn, ...] = ()
    of_structs: bool = False

    def listed(self, fields: Iterable[str]) -> list[str]:
        """Returns the columns that the lists give: their names, or these fields without that of the order."""
        if not self.of_structs:
            return list(self.lists)
        return [name for name in fields if self.ties is None or name != self.ties.field]

    def in_order(self, fields: Sequence[T], others: Iterable[T], rank: Iterable[T]) -> list[T]:
        """Returns the columns of the rows in the order of the SELECT list.

        >>> Ranked(("rows",), "n", (), False, None, ("rank", None, "other", 1)).in_order("abc", "x", "n")
        ['n', 'a', 'b', 'x', 'c']
        """
        if not self.order:
            return [*fields, *others, *rank]
        counted = sum(place for place in self.order if isinstance(place, int))
        ours: dict[Place, Iterator[T]] = {"other": iter(others), "rank": iter(rank)}
        rest, columns = iter(fields), list[T]()
        for place in self.order:
            if isinstance(place, str):
                columns.append(next(ours[place]))
            else:
                columns += islice(rest, len(fields) - counted if place is None else place)
        return columns
