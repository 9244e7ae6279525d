"""The types of joins, and the columns of the rows that a join emits (semantics 27, 40.2). Values only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from panewise.errors import SpecError
from panewise.spec.fields import check_columns
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.panes import BOUNDS

How: TypeAlias = Literal["inner", "left", "right", "full", "semi", "anti"]
HOWS: Final[tuple[How, ...]] = get_args(How)
ONE_SIDED: Final = ("semi", "anti")  # emit left rows only
LEFT: Final = "left"
RIGHT: Final = "right"
EITHER: Final = "either"
SIDES: Final = (LEFT, RIGHT)
OTHER: Final = {LEFT: RIGHT, RIGHT: LEFT}  # the other side of each side
MISSING: Final = "missing"
JOIN_TIME: Final = "join_time"
TIMING: Final = "timing"
OF_WINDOWS: Final = (*BOUNDS, TIMING)  # the columns that only window joins add
INDEX: Final = "index"
NONSPECULATIVE_INDEX: Final = "nonspeculative_index"
IS_FIRST: Final = "is_first"
IS_LAST: Final = "is_last"
# The columns that only window joins in accumulating mode add (semantics 37.21).
OF_PANES: Final = (INDEX, NONSPECULATIVE_INDEX, IS_FIRST, IS_LAST)


@dataclass(frozen=True)
class Selected:
    """A column of the emitted rows.

    Args:
        side: "left" or "right"; "either" for a key column of the left side, whose value is that of the right
            side where there is no left row.
        column: the name of the column on that side; for "either" on the left side.
        name: the name in the emitted rows. Default: `column`.

    Raises:
        SpecError: for another side, and for names that are no non-empty strings.

    >>> Selected("right", "weight", "shipped_weight")
    Selected(side='right', column='weight', name='shipped_weight')
    """

    side: Literal["left", "right", "either"]
    column: str
    name: str = ""

    def __post_init__(self) -> None:
        if self.side not in (LEFT, RIGHT, EITHER):
            rule = f"a column is of {LEFT}, {RIGHT} or {EITHER}"
            raise SpecError(f"side={self.side!r}", rule, "give one of these")
        object.__setattr__(self, "name", self.name or self.column)
        check_columns((self.column, self.name))


def all_columns(sides: Mapping[str, Side], columns: Mapping[str, Iterable[str]]) -> tuple[Selected, ...]:
    """Returns the columns without `select`: those of the left side, then those of the right (semantics 40.2).

    `columns` has the names of the columns of each emitted side.

    >>> sides = {"left": Side(keys=["k"]), "right": Side(keys=["k"], prefix="r_")}
    >>> found = all_columns(sides, {"left": ["k", "v"], "right": ["k", "v"]})
    >>> [(one.side, one.name) for one in found]
    [('either', 'k'), ('left', 'v'), ('right', 'r_v')]
    """
    shared = _shared_keys(sides) if RIGHT in columns else set()
    selected = []
    for side, names in columns.items():
        for name in names:
            if name not in shared:
                kind: Any = side
                selected.append(Selected(kind, name, f"{sides[side].prefix}{name}"))
            elif side == LEFT:
                selected.append(Selected(EITHER, name))
    return tuple(selected)


def side_of(selected_from: str) -> str:
    """Returns the side that has a selected column under its name: for "either" the left one."""
    return LEFT if selected_from == EITHER else selected_from


def check_different(selected: Sequence[Selected], more: Iterable[str]) -> None:
    """Refuses two emitted columns of one name. `more` are the columns that the join adds."""
    added, seen = set(more), dict[str, Selected]()
    for column in selected:
        if column.name in added:
            rule = f"the join adds the columns {sorted(added)} to emitted rows"
            remedy = f"rename it: give prefix or select for {column.side}"
            raise SpecError(f"a column {column.name!r}", rule, remedy)
        if column.name in seen:
            other = seen[column.name]
            rule = "the columns of emitted rows have different names"
            problem = f"{column.name!r} of {other.side} and of {column.side}"
            raise SpecError(problem, rule, "give one side a prefix, or select the columns")
        seen[column.name] = column


def _shared_keys(sides: Mapping[str, Side]) -> set[str]:
    """Returns the key columns that are compared with a column of the same name."""
    pairs = zip(sides[LEFT].keys, sides[RIGHT].keys, strict=True)
    return {left for left, right in pairs if left == right}
