"""Windows over joins, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.codec.windowed_join import complete, from_dict, reads, to_dict
from panewise.spec.column_types import BIGINT, STRING
from panewise.spec.describe.windowed_join import describe
from panewise.spec.families import join
from panewise.spec.operators.join.columns import BOUNDS, JOIN_TIME, LEFT
from panewise.spec.operators.windowed_join import WindowedJoin, emitted, key_columns
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Error, Types, parts

__all__ = ["complete", "describe", "from_dict", "reads", "to_dict"]


def check_types(spec: WindowedJoin, types: Mapping[str, Types]) -> None:
    """Checks the columns of the sides, and those of emitted rows that the windows read."""
    join.check_types(spec.join, types)
    names = [one.name for one in spec.join.selected(types)]
    known = [*names, *spec.join.added_columns]
    for name in spec.operator.columns_read:
        if name not in known:
            rule = f"windows over a join read columns of the emitted rows: {known}"
            raise SpecError(f"column {name!r} after a join", rule, "use one of these")
    parts(spec.windows).check_types(spec.windows, {INPUT: emitted_types(spec, types)})


def emitted_types(spec: WindowedJoin, types: Mapping[str, Types]) -> Types:
    """Returns the types of the emitted columns that are known."""
    instants = (JOIN_TIME, *BOUNDS)
    added = {name: BIGINT if name in instants else STRING for name in spec.join.added_columns}
    return emitted(spec.join, types) | added


def boolean_columns(spec: WindowedJoin) -> set[str]:
    """Returns the columns of the sides that the windows read as columns that must be Boolean."""
    wanted = parts(spec.windows).boolean_columns(spec.windows)
    return {one.column for one in spec.join.select or () if one.name in wanted} or wanted


def batch_error(spec: WindowedJoin) -> Error | None:
    """Refuses what the join refuses."""
    return join.batch_error(spec.join)


def for_columns(spec: WindowedJoin, columns: Mapping[str, set[str]]) -> WindowedJoin:
    """Returns the specification, which names its event times."""
    return spec


def for_delays(spec: WindowedJoin, delays: Mapping[str, Duration | None]) -> WindowedJoin:
    """Returns the specification, in which the rows of each side drive its watermark (semantics 36.1)."""
    return replace(spec, join=join.for_delays(spec.join, delays))


def renamed(
    spec: WindowedJoin, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> WindowedJoin:
    """Returns the specification with other names of the columns of a side. Emitted names stay."""
    return replace(spec, join=join.renamed(spec.join, port, names, all_columns))


def with_position(spec: WindowedJoin, position: Position) -> WindowedJoin:
    """Returns the specification with a source position of both sides."""
    return replace(spec, join=join.with_position(spec.join, position))


def shard_keys(spec: WindowedJoin, port: str) -> tuple[str, ...]:
    """Returns the keys of a side that the windows have, too."""
    return spec.shard_keys(port)


def one_shard(spec: WindowedJoin) -> tuple[str, str] | None:
    """Returns why rows of all keys meet, if they do."""
    if not spec.shard_keys(LEFT):
        rule = "windows over a join that have no key of it have one shard (semantics 42.3)"
        return rule, "leave shards out, or give the windows a key of the join"
    return join.one_shard(spec.join) or parts(spec.windows).one_shard(spec.windows)


def calls_users(spec: WindowedJoin) -> bool:
    """Returns whether the windows have functions of the user."""
    return parts(spec.windows).calls_users(spec.windows)


def functions(spec: WindowedJoin, port: str) -> tuple[()]:
    """Returns nothing: the aggregates are over emitted columns, not over those of a side."""
    return ()


def unchanged(spec: WindowedJoin, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns the keys of the windows that are keys of the join."""
    places = key_columns(spec.join)
    return {name: (LEFT, spec.join.left.keys[places[name]]) for name in spec.keys if name in places}


def carried(spec: WindowedJoin, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of the aggregates that return values of the sides."""
    return parts(spec.windows).carried(spec.windows, {INPUT: emitted(spec.join, known)}, kinds)


def instants(spec: WindowedJoin) -> tuple[str, ...]:
    """Returns the columns of panes that are instants."""
    return parts(spec.windows).instants(spec.windows)


def emits_again(spec: WindowedJoin) -> Error | None:
    """Refuses retractions."""
    return parts(spec.windows).emits_again(spec.windows)


def output_time(spec: WindowedJoin) -> str | Error:
    """Returns the timestamp of panes."""
    return parts(spec.windows).output_time(spec.windows)


def timely_column(spec: WindowedJoin) -> str | None:
    """Returns the timestamp of panes, if neither they nor the rows of the join come after their time."""
    of_join = parts(spec.join).timely_column(spec.join)
    return None if of_join is None else parts(spec.windows).timely_column(spec.windows)


def new_columns(spec: WindowedJoin) -> tuple[str, ...]:
    """Returns nothing: no column is added to the rows of an input."""
    return ()


def passed_on(spec: WindowedJoin) -> bool:
    """Returns False: panes do not have the columns of rows."""
    return False
