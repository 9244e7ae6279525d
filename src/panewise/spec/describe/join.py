"""Describes joins in words."""

from panewise.chrono import Duration
from panewise.spec.conditions import sql_text
from panewise.spec.describe.inputs import of_replays
from panewise.spec.describe.listing import listed
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT, Selected
from panewise.spec.operators.join.match import AsOf, Match
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side
from panewise.spec.watermarks import FixedLag, StreamTime

_EMITTED = {
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
    lines = [f"Join: emits {_EMITTED[spec.how]}.", _partners(spec), *_unmatched(spec), _columns(spec)]
    lines += [_side(spec, name, side) for name, side in spec.sides.items()]
    return "\n".join([*lines, *_idle(spec), _state(spec)])


def _partners(spec: JoinOperator) -> str:
    keys = f"rows with equal {_keys(spec)}" if spec.keys else "all rows (there are no keys, so one shard)"
    match = _match(spec.match, spec.left.event_time, spec.right.event_time)
    condition = "" if spec.condition is None else f", and {sql_text(spec.condition)}"
    return f"Partners: {keys}, if {match}{condition}."


def _keys(spec: JoinOperator) -> str:
    pairs = zip(spec.left.keys, spec.right.keys, strict=True)
    return listed(tuple(one if one == other else f"{one} (right: {other})" for one, other in pairs))


def _match(match: Match, left: str, right: str) -> str:
    if isinstance(match, AsOf):
        which = {
            "backward": f"the latest one whose {right} is not after the left {left}",
            "forward": f"the earliest one whose {right} is not before the left {left}",
            "nearest": f"the one whose {right} is nearest to the left {left}",
        }
        near = "" if match.tolerance is None else f", and at most {match.tolerance} from it"
        return f"the right row is {which[match.strategy]}{near}"
    span = f"from {_bound(match.lower)} to {_bound(match.upper)} the left {left}"
    if match.lower == match.upper:
        span = f"{_bound(match.lower)} the left {left}"
    open_ends = {
        "both": "",
        "left": ", the latter excluded",
        "right": ", the former excluded",
        "neither": ", both excluded",
    }
    return f"the right {right} is {span}{open_ends[match.closed]}"


def _bound(bound: Duration) -> str:
    if bound.us == 0:
        return "the same as"
    return f"{Duration(abs(bound.us))} {'before' if bound.us < 0 else 'after'}"


def _unmatched(spec: JoinOperator) -> list[str]:
    if spec.unmatched is None:
        return []
    when = {
        "final": "emitted once no partner can come",
        "early": "emitted at once, and retracted if a partner comes",
    }
    null = "; a row with a null key has no partner" if spec.keys else ""
    return [f"Rows without a partner: {when[spec.unmatched]}{null}."]


def _columns(spec: JoinOperator) -> str:
    times = {
        "left": "the left event time",
        "right": "the right event time",
        "later": "the later of both event times",
        "earlier": "the earlier of both event times",
        None: "the event time",
    }
    own = "those of both sides" if RIGHT in spec.emitted_sides else "those of the left side"
    if spec.select is not None:
        own = ", ".join(map(_selected, spec.select))
    missing = ", missing" if RIGHT in spec.emitted_sides else ""
    return f"Columns: {own}, op{missing} and join_time, {times[spec.timestamp]}."


def _selected(one: Selected) -> str:
    name = "" if one.name == one.column else f" as {one.name}"
    return f"{one.side}.{one.column}{name}"


def _side(spec: JoinOperator, name: str, side: Side) -> str:
    mark = _watermark(spec, spec.watermark or side.watermark)
    lateness = f" by more than {side.allowed_lateness}" if side.allowed_lateness.us else ""
    late = f"A row behind it{lateness} is late{of_replays(side.position)}."
    return f"{name.capitalize()} watermark: {mark}. {late}"


def _watermark(spec: JoinOperator, mark: StreamTime | FixedLag | None) -> str:
    if mark is None:
        return "comes from outside"
    if isinstance(mark, FixedLag):
        return f"processing time less {mark.lag}"
    rows = "both sides" if spec.watermark is not None else "the side"
    behind = f", less {mark.delay}" if mark.delay.us else ""
    each = "row" if spec.evaluate == "record" else "batch"
    return f"after each {each} the highest event time of the rows of {rows}{behind}"


def _idle(spec: JoinOperator) -> list[str]:
    if spec.idle_after is None:
        return []
    return [
        f"Idle sides: the watermark of a side that is silent for {spec.idle_after} follows the other one."
    ]


def _state(spec: JoinOperator) -> str:
    if isinstance(spec.match, AsOf):
        return _state_of_as_of(spec.match, spec.right)
    parts = [
        f"a {name} row until the {OTHER[name]} watermark is {_past(us, spec.sides[OTHER[name]])} it"
        for name, us in ((LEFT, spec.match.last), (RIGHT, -spec.match.first))
    ]
    return f"State: {'; '.join(parts)}."


def _state_of_as_of(match: AsOf, right: Side) -> str:
    lasting = "the latest right row of each key for good, and later ones"
    if match.tolerance is not None:
        lasting = "a right row as long as it can be the partner of a left row"
    return f"State: a left row until the right watermark is {_past(match.waits, right)} it; {lasting}."


def _past(us: int, other: Side) -> str:
    beyond = us + other.allowed_lateness.us
    if beyond == 0:
        return "after"
    if beyond > 0:
        return f"more than {Duration(beyond)} after"
    return f"less than {Duration(-beyond)} before"
