"""The types of emitted columns that carry values of input columns unchanged, in any type system."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate

Known: TypeAlias = Mapping[
    str, Mapping[str, Any]
]  # the types of the columns of each port that are known, by name


class Carried(Protocol):
    """Builds the type of a pane column that carries values of input columns unchanged."""

    def list_of(self, inner: Any) -> Any:
        """Returns the type of a list of such values."""
        ...

    def of_name(self, name: str) -> Any:
        """Returns the type that a text names, such as that of a user-defined aggregate."""
        ...

    def rows_of(self, names: tuple[str, ...], port: str = INPUT) -> Any:
        """Returns the type of a list of rows of a port with these columns."""
        ...


def carried_values(functions: tuple[Any, ...], known: Mapping[str, Any], kinds: Carried) -> dict[str, Any]:
    """Returns the types of the functions that return values of their column unchanged, or lists of them.

    Those of user-defined aggregates are among them, as they declare theirs.
    """
    carried: dict[str, Any] = {}
    for what in functions:
        if isinstance(what, Aggregate) and what.user is not None:
            carried[what.name] = kinds.of_name(what.user.result)
        elif what.column in known and what.fn in _VALUES | _LISTS:
            kind = known[what.column]
            carried[what.name] = kinds.list_of(kind) if what.fn in _LISTS else kind
    return carried


VALUE_FUNCTIONS = frozenset({"first", "last", "max_by", "min_by", "lag", "lead", "nth_value"})
LIST_FUNCTIONS = frozenset({"collect_list", "first_n", "last_n", "top_n_by"})
# Also the functions that compare the values.
_VALUES = VALUE_FUNCTIONS | {"min", "max", "mode"}
_LISTS = LIST_FUNCTIONS | {"collect_set", "sort_list", "top_n"}
