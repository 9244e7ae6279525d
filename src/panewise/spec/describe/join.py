"""Describes joins in words."""

from panewise.spec.conditions import sql_text
from panewise.spec.describe.inputs import of_replays
from panewise.spec.describe.sides import idle_sides, keys_of_sides, watermark_of
from panewise.spec.operators.join.columns import RIGHT, Selected
from panewise.spec.operators.join.match import Match
from panewise.spec.operators.join.match_parts import MatchParts, match_parts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side

EMITTED = {
    "inner": "each pair of a left and a right row that are partners",
    "left": "each pair of partners, and each left row without a partner",
    "right": "each pair of partners, and each right row without a partner",
    "full": "each pair of partners, and each row of both sides without a partner",
    "semi": "each left row that has a partner, once",
    "anti": "each left row without a partner",
}


def describe(spec: JoinOperator) -> str:
    """Returns a description of what the join does, with a line for each topic.

    >>> from panewise import Interval
    >>> side = Side(keys=["id"], event_time="ts")
    >>> match = Interval("-5 minutes", "1 hour")
    >>> print(describe(JoinOperator(left=side, right=side, match=match, how="left")))
    Join: emits each pair of partners, and each left row without a partner.
    Partners: rows with equal id, if the right ts is from 5 minutes before to 1 hour after the left ts.
    Rows without a partner: emitted once no partner can come; a row with a null key has no partner.
    Columns: those of both sides, op, missing and join_time, the later of both event times.
    Left watermark: comes from outside. A row behind it is late.
    Right watermark: comes from outside. A row behind it is late.
    State: a left row until the right watermark is more than 1 hour after it; a right row until the left
    watermark is more than 5 minutes after it.
    """
    parts = match_parts(spec.match)
    lines = [
        f"Join: emits {EMITTED[spec.how]}.",
        _partners(spec, parts),
        *parts.emission(spec, spec.match, _unmatched(spec, parts)),
        _columns(spec),
        *(_side(spec, name, side, parts) for name, side in spec.sides.items()),
        *idle_sides(spec),
        *parts.state(spec, spec.match),
    ]
    return "\n".join(lines)


def _partners(spec: JoinOperator, parts: MatchParts[Match]) -> str:
    keys = (
        f"rows with equal {keys_of_sides(spec)}"
        if spec.keys
        else "all rows (there are no keys, so one shard)"
    )
    match = parts.partners(spec.match, spec.left.event_time or "", spec.right.event_time or "")
    condition = "" if spec.condition is None else f", and {sql_text(spec.condition)}"
    return f"Partners: {keys}, if {match}{condition}."


def _unmatched(spec: JoinOperator, parts: MatchParts[Match]) -> list[str]:
    if spec.unmatched is None:
        return []
    when = parts.when_final if spec.unmatched == "final" else parts.when_early
    null = "; a row with a null key has no partner" if spec.keys else ""
    return [f"Rows without a partner: {when(spec.match)}{null}."]


def _columns(spec: JoinOperator) -> str:
    times = {
        "left": "the left event time",
        "right": "the right event time",
        "later": "the later of both event times",
        "earlier": "the earlier of both event times",
        "window": "the last instant of the window",
        None: "the event time",
    }
    own = "those of both sides" if RIGHT in spec.emitted_sides else "those of the left side"
    if spec.select is not None:
        own = ", ".join(map(_selected, spec.select))
    *added, last = spec.added_columns
    time = f", {times[spec.timestamp]}" if spec.has_event_times else ""
    return f"Columns: {', '.join([own, *added])} and {last}{time}."


def _selected(column: Selected) -> str:
    name = "" if column.name == column.column else f" as {column.name}"
    return f"{column.side}.{column.column}{name}"


def _side(spec: JoinOperator, name: str, side: Side, parts: MatchParts[Match]) -> str:
    if side.event_time is None:
        replays = of_replays(side.position)
        return f"{name.capitalize()} rows: no event time; none is late before the end of input{replays}."
    watermark = watermark_of(spec, spec.watermark or side.watermark)
    lateness = f" by more than {side.allowed_lateness}" if side.allowed_lateness.us else ""
    late = parts.late(spec.match, lateness)
    return f"{name.capitalize()} watermark: {watermark}{late}{of_replays(side.position)}."
