"""Intervals, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from panewise.chrono import Duration
from panewise.spec.describe.sides import passed
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.match_parts import MatchParts, pairs_at_arrival
from panewise.spec.operators.join.operator import JoinOperator


def _partners(match: Interval, left: str, right: str) -> str:
    """Returns which rows an interval matches."""
    if match.lower is None or match.upper is None:
        return _without_bound(match, left, right)
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


def _without_bound(match: Interval, left: str, right: str) -> str:
    """Returns which rows an interval without a bound matches."""
    bound, beyond = (match.lower, "later") if match.lower is not None else (match.upper, "earlier")
    if bound is None:
        return f"their keys are equal, at any distance of the right {right} from the left {left}"
    if match.closed == "both":
        return f"the right {right} is {_bound(bound)} the left {left} or {beyond}"
    than = "" if bound.us == 0 else f"{_bound(bound)} "
    return f"the right {right} is {beyond} than {than}the left {left}"


def _bound(bound: Duration) -> str:
    if bound.us == 0:
        return "the same as"
    return f"{Duration(abs(bound.us))} {'before' if bound.us < 0 else 'after'}"


def _stored(spec: JoinOperator, match: Interval, side: str) -> str:
    """Returns how long a row of a side is stored."""
    us, count = match.waits[side], match.retain_rows if side in match.retained else None
    rows = f"a {side} row" if count is None else f"the last {count} {side} rows of each key, by arrival"
    if count == 1:
        rows = f"the last {side} row of each key, by arrival"
    if us is None and count is None:
        return f"each {side} row until the {OTHER[side]} input ends"
    if us is None:
        return f"{rows}, for good if no other follows"
    each = "it" if count is None or count == 1 else "them"
    comma = "" if count is None else ","
    return f"{rows}{comma} until the {OTHER[side]} watermark is {passed(us, spec.sides[OTHER[side]])} {each}"


def _late(match: Interval, lateness: str) -> str:
    if match.late == "output":
        return f". A row behind it{lateness} is late"
    return f". A row behind it{lateness} is joined with what is stored, and late if it can have no partner"


PARTS = MatchParts(
    # A late row that is joined is behind the watermark.
    is_timely=lambda spec, match: match.late == "output" and pairs_at_arrival(spec),
    partners=_partners,
    late=_late,
    state=lambda spec, match: [f"State: {'; '.join(_stored(spec, match, side) for side in (LEFT, RIGHT))}."],
)
