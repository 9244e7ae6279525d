"""Specifications over an input whose columns have other names.

The fields of a specification say which strings name columns of an input. So no family renames its own fields.
Names of emitted columns stay, except those that aggregates have by default, which are made of columns.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, Final

from panewise.spec.aggregates.aggregate import Aggregate, has_default_name, with_names
from panewise.spec.aggregates.user_merge import MergeAggregate
from panewise.spec.conditions.nodes import Column
from panewise.spec.operators.join.columns import SIDES, side_of
from panewise.spec.operators.over.row_function import RowFunction
from panewise.spec.windows.custom import Custom

# The fields whose strings are names of columns of the input.
COLUMNS: Final = frozenset(
    {"column", "columns", "keys", "partition_by", "event_time", "order", "delta", "gap"}
    | {"partition", "offset", "source", "descending", "nulls_last"}
)
_OF_BOTH: Final = ("window", "trigger")  # fields of two sides that read the same columns of both
_BY_SIDE: Final = "deletes"  # the field with a column of each side


def renamed_fields(value: Any, port: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns the fields of a value that change if columns of a port have other names.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(5), keys=["k"], aggregates=[F.sum("v"), F.max("v").alias("k2")])
    >>> changes = renamed_fields(spec, "input", {"k": "key", "v": "w"})
    >>> changes["keys"], [aggregate.name for aggregate in changes["aggregates"]]
    (('key',), ['sum(w)', 'k2'])
    """
    changes = {}
    for field in fields(value):
        old = getattr(value, field.name)
        if _reads(field.name, port) and (new := _field(value, field.name, port, names)) is not old:
            changes[field.name] = new
    return changes


def _reads(field: str, port: str) -> bool:
    """Returns whether a field may name columns of a port. With two sides a field may be of the other one."""
    side = field.partition("_")[0]
    return side == port or not (side in SIDES or (port in SIDES and field in _OF_BOTH))


def _field(value: Any, field: str, port: str, names: Mapping[str, str]) -> Any:
    old = getattr(value, field)
    if field == _BY_SIDE:
        columns = zip(SIDES, old, strict=True)
        return tuple(names.get(name, name) if side == port else name for side, name in columns)
    is_word = field == "order" and isinstance(old, str)  # the order of a match, not columns
    named = field in COLUMNS and not is_word or (isinstance(value, Column) and field == "name")
    return renamed_value(old, port, names, named=named)


def renamed_value(value: Any, port: str, names: Mapping[str, str], *, named: bool = False) -> Any:
    """Returns a value over columns with other names. If it is `named`, its strings are names of columns."""
    if isinstance(value, tuple):
        parts = tuple(renamed_value(part, port, names, named=named) for part in value)
        return value if all(map(is_, parts, value)) else parts
    if isinstance(value, str):
        return names.get(value, value) if named else value
    if isinstance(value, Aggregate | RowFunction):
        return with_names(value, names)
    if isinstance(value, MergeAggregate):
        return _of_both_sides(value, port, names)
    side = getattr(value, "side", port)
    is_value = is_dataclass(value) and not isinstance(value, type | Custom)  # functions know other names
    if not is_value or port != side_of(side):
        return value
    changes = renamed_fields(value, port, names)
    return replace(value, **changes) if changes else value


def _of_both_sides(what: MergeAggregate, port: str, names: Mapping[str, str]) -> MergeAggregate:
    """Returns an aggregate over a column of a side with another name, also in its default name."""
    own = what.of(port)
    changes: dict[str, Any] = {port: names.get(own, own)}
    if has_default_name(what.name) and own in names:
        changes["name"] = what.name.replace(own, names[own])
    return replace(what, **changes)
