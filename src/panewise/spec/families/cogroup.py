"""Cogroups, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.types import check_aggregates, columns_of_booleans
from panewise.spec.carried_values import Carried, Known, carried_values
from panewise.spec.codec.same_aggregates import marked_aggregates
from panewise.spec.families.input_changes import SIDE_CHANGES, of_part
from panewise.spec.families.two_sides import SideParts, check_types_of_sides
from panewise.spec.families.window_changes import CHANGEABLE
from panewise.spec.families.windows import PaneParts, punctuations
from panewise.spec.fields import silently_replaced
from panewise.spec.operators.cogroup.operator import FIELDS_OF_WINDOWS, CogroupOperator
from panewise.spec.operators.cogroup.windowing import window_operator
from panewise.spec.operators.join.checks import check_shared_columns
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Columns, Origins, Types
from panewise.spec.type_checks import check_triggers
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow

_OF_WINDOWS: Final = {
    name: of_part(window_operator, CHANGEABLE[name]) for name in FIELDS_OF_WINDOWS if name in CHANGEABLE
}
_LISTS: Final = ("left_aggregates", "right_aggregates", "both_aggregates")
_AGGREGATES: Final = dict.fromkeys(_LISTS, of_part(window_operator, CHANGEABLE["aggregates"]))


class _CogroupParts(SideParts[CogroupOperator], PaneParts[CogroupOperator]):
    kind, own_fields = CogroupOperator, ("right", "window")
    changeable = MappingProxyType({**_OF_WINDOWS, **SIDE_CHANGES, **_AGGREGATES})

    def operator(self, spec: CogroupOperator) -> WindowOperator:
        return window_operator(spec)

    def check_types(self, spec: CogroupOperator, types: Mapping[str, Types]) -> None:
        """Checks the columns of each side. Compared columns, and those that windows read, have one type."""
        check_types_of_sides(spec, types)
        for name in spec.sides:
            check_aggregates(spec.aggregates_of(name), types[name])
            check_triggers(spec.trigger, types[name])
        check_shared_columns(spec.shared_columns, types)

    def boolean_columns(self, spec: CogroupOperator) -> set[str]:
        """Returns the columns of punctuations and of Boolean aggregates."""
        aggregates = (*spec.left_aggregates, *spec.right_aggregates)
        return punctuations(spec.trigger) | columns_of_booleans(aggregates)

    def marked(self, old: CogroupOperator, new: CogroupOperator, added_aggregates: Any) -> CogroupOperator:
        """Returns the new cogroup with marks on the aggregates that are added, of either side and of both."""
        pairs = {
            **{
                f"{side}_aggregates": (old.aggregates_of(side), new.aggregates_of(side)) for side in new.sides
            },
            "both_aggregates": (old.both_aggregates, new.both_aggregates),
        }
        fields = {name: marked_aggregates(*pair, added_aggregates) for name, pair in pairs.items()}
        return silently_replaced(new, **fields)

    def drawn_windows(self, spec: CogroupOperator) -> AnyWindow:
        """Returns the windows of the cogroup."""
        return spec.window

    def calls_users(self, spec: CogroupOperator) -> bool:
        """Returns whether the cogroup has a custom window or a user-defined aggregate."""
        own = any(what.user is not None for side in spec.sides for what in spec.aggregates_of(side))
        return own or bool(spec.both_aggregates) or isinstance(spec.window, Custom)

    def functions(self, spec: CogroupOperator, port: str) -> tuple[Aggregate, ...]:
        return spec.aggregates_of(port)

    def unchanged(self, spec: CogroupOperator, columns: Columns) -> Origins:
        """Returns the keys. A key of either side has the type of the left one."""
        return {name: (LEFT, name) for name in spec.keys}

    def carried(self, spec: CogroupOperator, known: Known, kinds: Carried) -> dict[str, Any]:
        """Returns the types of aggregates that return values of a side."""
        carried: dict[str, Any] = {}
        for side in spec.sides:
            carried |= carried_values(spec.aggregates_of(side), known[side], kinds)
        return carried | {what.name: kinds.of_name(what.user.result) for what in spec.both_aggregates}


PARTS: Final = _CogroupParts()
