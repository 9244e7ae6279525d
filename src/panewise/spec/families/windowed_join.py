"""Windows over joins, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.codec.documents import documents
from panewise.spec.column_types import BIGINT, STRING
from panewise.spec.describe.windowed_join import describe
from panewise.spec.families import join
from panewise.spec.operators.join.columns import BOUNDS, JOIN_TIME, LEFT
from panewise.spec.operators.windowed_join import WindowedJoin, emitted, key_columns
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Refusal, SpecParts, Types, parts


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


def batch_error(spec: WindowedJoin) -> Refusal | None:
    """Refuses what the join refuses."""
    return join.batch_error(spec.join)


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
    return parts(spec.join).one_shard(spec.join) or parts(spec.windows).one_shard(spec.windows)


def calls_users(spec: WindowedJoin) -> bool:
    """Returns whether the windows have functions of the user."""
    return parts(spec.windows).calls_users(spec.windows)


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


def emits_again(spec: WindowedJoin) -> Refusal | None:
    """Returns why panes may be retracted or emitted again, None if they are not."""
    return parts(spec.windows).emits_again(spec.windows)


def output_time(spec: WindowedJoin) -> str | Refusal:
    """Returns the timestamp of panes."""
    return parts(spec.windows).output_time(spec.windows)


def timely_column(spec: WindowedJoin) -> str | None:
    """Returns the timestamp of panes, if neither they nor the rows of the join come after their time."""
    of_join = parts(spec.join).timely_column(spec.join)
    return None if of_join is None else parts(spec.windows).timely_column(spec.windows)


def static_port(spec: WindowedJoin) -> str | None:
    """Returns the static port of the join."""
    return join.static_port(spec.join)


def check_static(spec: WindowedJoin) -> None:
    """Refuses fields of the join."""
    join.check_static(spec.join)


PARTS: Final = SpecParts(
    **documents(WindowedJoin, "match", "then"),
    describe=describe,
    check_types=check_types,
    boolean_columns=boolean_columns,
    batch_error=batch_error,
    for_delays=for_delays,
    renamed=renamed,
    with_position=with_position,
    shard_keys=shard_keys,
    one_shard=one_shard,
    static_port=static_port,
    check_static=check_static,
    calls_users=calls_users,
    unchanged=unchanged,
    carried=carried,
    instants=instants,
    emits_again=emits_again,
    output_time=output_time,
    timely_column=timely_column,
)
