"""Windows over joins, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Literal

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.carried_values import Carried, Known
from panewise.spec.column_types import BIGINT, STRING
from panewise.spec.families import join
from panewise.spec.families.input_changes import SIDE_CHANGES, of_part, of_side
from panewise.spec.families.windows import PaneParts
from panewise.spec.family_parts import parts
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT, SIDES
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.operators.windowed_join import WindowedJoin, key_columns, properties_of_emitted
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Columns, Origins, Refusal, Types
from panewise.spec.source_position import Position

_CHANGES: Final = {**SIDE_CHANGES, **{side: of_side(side, ("allowed_lateness",)) for side in SIDES}}


class _WindowedJoinParts(PaneParts[WindowedJoin]):
    kind, own_fields = WindowedJoin, ("match", "then")
    changeable = MappingProxyType(
        {name: of_part(attrgetter("join"), check) for name, check in _CHANGES.items()}
    )

    def nested_fields(self, old: Any, new: Any) -> tuple[str, ...]:
        """Returns the field of the windows, if both have windows of the same family."""
        return ("then",) if parts(old.windows) is parts(new.windows) else ()

    def refuses_change(self, field: str, old: Any, new: Any) -> str | None:
        """Returns the rule that forbids a change of a field, also of one of the windows."""
        outer, _, inner = field.partition(".")
        if outer == "then" and inner:
            return parts(new.windows).refuses_change(inner, old.windows, new.windows)
        return super().refuses_change(field, old, new)

    def marked(self, old: WindowedJoin, new: WindowedJoin, added_aggregates: Any) -> WindowedJoin:
        """Returns the new operator, with marks on the aggregates of its windows that are added."""
        if not self.nested_fields(old, new):
            return new
        return replace(new, windows=parts(new.windows).marked(old.windows, new.windows, added_aggregates))

    def operator(self, spec: WindowedJoin) -> WindowOperator:
        return spec.operator

    def check_types(self, spec: WindowedJoin, types: Mapping[str, Types]) -> None:
        """Checks the columns of the sides, and those of emitted rows that the windows read."""
        join.PARTS.check_types(spec.join, types)
        names = [column.name for column in spec.join.selected(types)]
        known = [*names, *spec.join.added_columns]
        for name in spec.operator.columns_read:
            if name not in known:
                rule = f"windows over a join read columns of the emitted rows: {known}"
                raise SpecError(f"column {name!r} after a join", rule, "use one of these")
        parts(spec.windows).check_types(spec.windows, {INPUT: _emitted_types(spec, types)})

    def allowed_lateness(self, spec: WindowedJoin, port: str) -> Duration | Literal["unlimited"]:
        return join.PARTS.allowed_lateness(spec.join, port)

    def batch_error(self, spec: WindowedJoin) -> Refusal | None:
        return join.PARTS.batch_error(spec.join)

    def for_delays(self, spec: WindowedJoin, delays: Mapping[str, Duration | None]) -> WindowedJoin:
        return replace(spec, join=join.PARTS.for_delays(spec.join, delays))

    def renamed(self, spec: WindowedJoin, port: str, names: Mapping[str, str]) -> WindowedJoin:
        return replace(spec, join=join.PARTS.renamed(spec.join, port, names))

    def with_position(self, spec: WindowedJoin, position: Position) -> WindowedJoin:
        return replace(spec, join=join.PARTS.with_position(spec.join, position))

    def with_skews(self, spec: WindowedJoin, skews: Mapping[str, Duration]) -> WindowedJoin:
        return replace(spec, join=join.PARTS.with_skews(spec.join, skews))

    def static_port(self, spec: WindowedJoin) -> str | None:
        return join.PARTS.static_port(spec.join)

    def check_static(self, spec: WindowedJoin) -> None:
        join.PARTS.check_static(spec.join)

    def calls_users(self, spec: WindowedJoin) -> bool:
        return parts(spec.windows).calls_users(spec.windows)

    def timely_column(self, spec: WindowedJoin) -> str | None:
        """Returns the timestamp of panes, if neither they nor the rows of the join come after their time."""
        return None if join.PARTS.timely_column(spec.join) is None else super().timely_column(spec)

    def boolean_columns(self, spec: WindowedJoin) -> set[str]:
        """Returns the columns of the sides that the windows read as columns that must be Boolean."""
        wanted = parts(spec.windows).boolean_columns(spec.windows)
        return {column.column for column in spec.join.select or () if column.name in wanted} or wanted

    def shard_keys(self, spec: WindowedJoin, port: str) -> tuple[str, ...]:
        """Returns the keys of a side that the windows have, too."""
        return spec.shard_keys(port)

    def one_shard(self, spec: WindowedJoin) -> tuple[str, str] | None:
        """Returns why rows of all keys are combined, if they are."""
        if not spec.shard_keys(LEFT):
            rule = "windows over a join that have no key of it have one shard (semantics 42.3)"
            return rule, "leave shards out, or give the windows a key of the join"
        return parts(spec.join).one_shard(spec.join) or parts(spec.windows).one_shard(spec.windows)

    def unchanged(self, spec: WindowedJoin, columns: Columns) -> Origins:
        """Returns the keys of the windows that are keys of the join."""
        places = key_columns(spec.join)
        return {name: (LEFT, spec.join.left.keys[places[name]]) for name in spec.keys if name in places}

    def carried(self, spec: WindowedJoin, known: Known, kinds: Carried) -> dict[str, Any]:
        """Returns the types of the aggregates that return values of the sides."""
        return parts(spec.windows).carried(
            spec.windows, {INPUT: properties_of_emitted(spec.join, known)}, kinds
        )


def _emitted_types(spec: WindowedJoin, types: Mapping[str, Types]) -> Types:
    """Returns the types of the emitted columns that are known."""
    instants = (JOIN_TIME, *BOUNDS)
    added = {name: BIGINT if name in instants else STRING for name in spec.join.added_columns}
    return properties_of_emitted(spec.join, types) | added


PARTS: Final = _WindowedJoinParts()
