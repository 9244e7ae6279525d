"""User-defined aggregates of the rows of two sides (semantics 43.5)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from panewise.choices import check_choice
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import default_name
from panewise.spec.aggregates.user_functions import JsonValue, ResultType, check_user_functions
from panewise.spec.column_expressions import ColumnOrName, checked_column
from panewise.spec.fields import check_columns

_FUNCTIONS: Final = ("init", "accumulate_left", "accumulate_right", "merge", "finish")


@dataclass(frozen=True)
class UserMergeAggregate:
    """A user-defined aggregate of both sides of a cogroup, made of five functions over one state.

    Called with a column of the left side and one of the right side, it returns an aggregate for
    `both_aggregates`. States are JSON values: None, bool, int, float, str, list, and dict with string keys.
    Values of both sides are accumulated, and states are merged, in arrival order.

    Args:
        name: the name by which JSON identifies the aggregate.
        init: returns the state of no rows. Merged with another state it leaves that state as it is.
        accumulate_left: takes a state and the value of a left row (None for a null), and returns the next
            state. It does not change the state in place.
        accumulate_right: the same for a right row.
        merge: takes two states, the earlier first, and returns the state of both. It changes none in place.
        finish: takes a state, and returns the result: a value of the type `result`, or None.
        result: the type of the result, as in :class:`panewise.UserAggregate`. Default: "double".
        commutative: declares that the order of values and of states does not matter. Default: False.

    Raises:
        SpecError: for a name that is no non-empty string, another result type, and a function that cannot be
            called.

    >>> balance = UserMergeAggregate("balance", init=lambda: 0, accumulate_left=lambda s, v: s + (v or 0),
    ...     accumulate_right=lambda s, v: s - (v or 0), merge=lambda a, b: a + b, finish=lambda s: s,
    ...     result="bigint")
    >>> balance("ordered", "paid").name
    'balance(ordered, paid)'

    Source: semantics 43.5; S4 MergeAccumulation.
    """

    name: str
    init: Callable[[], JsonValue] = field(compare=False, repr=False)
    accumulate_left: Callable[[JsonValue, Any], JsonValue] = field(compare=False, repr=False)
    accumulate_right: Callable[[JsonValue, Any], JsonValue] = field(compare=False, repr=False)
    merge: Callable[[JsonValue, JsonValue], JsonValue] = field(compare=False, repr=False)
    finish: Callable[[JsonValue], Any] = field(compare=False, repr=False)
    result: ResultType = "double"
    commutative: bool = False

    def __post_init__(self) -> None:
        check_user_functions(self, _FUNCTIONS)

    def __call__(self, left: ColumnOrName, right: ColumnOrName) -> "MergeAggregate":
        """Returns the aggregate over a column of the left side and one of the right side."""
        of_left, of_right = checked_column(left), checked_column(right)
        return MergeAggregate(self, of_left, of_right, default_name(self.name, of_left, of_right))


@dataclass(frozen=True)
class MergeAggregate:
    """One column of a pane of a cogroup, computed from the rows of both sides.

    Calling a :class:`UserMergeAggregate` makes it; :meth:`alias` renames it.

    Args:
        user: the user-defined aggregate.
        left: the column of the left side that it reads.
        right: the column of the right side.
        name: the name of the resulting column.
        added: as of :class:`panewise.Aggregate`; changes of a specification set it (semantics 47.3). Default:
            None.

    Raises:
        SpecError: if `user` is no UserMergeAggregate, a name is empty or no string, or `added` another value.
    """

    user: UserMergeAggregate
    left: str
    right: str
    name: str
    added: Literal["null", "from_now_on"] | None = None

    def __post_init__(self) -> None:
        user: Any = self.user
        if not isinstance(user, UserMergeAggregate):
            rule = "an aggregate of both sides is a UserMergeAggregate over a column of each"
            raise SpecError(f"user={user!r}", rule, "call a UserMergeAggregate with two columns")
        check_columns((self.left, self.right, self.name))
        check_choice("added", self.added, (None, "null", "from_now_on"))

    def alias(self, name: str) -> "MergeAggregate":
        """Returns the same aggregate under another name.

        Raises:
            SpecError: if the name is no non-empty string.
        """
        return replace(self, name=name)

    def of(self, side: str) -> str:
        """Returns the column of a side, "left" or "right"."""
        return self.left if side == "left" else self.right
