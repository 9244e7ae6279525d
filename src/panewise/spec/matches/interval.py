"""Intervals, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from typing import Any

from panewise.chrono import Duration
from panewise.spec.codec.join import plain_fields
from panewise.spec.fields import duration, members_of, or_null, whole
from panewise.spec.matches.words import passed
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.match_parts import MatchParts, pairs_at_arrival
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.windows import UNLIMITED

_NAMES = {"kind", "lower", "upper", "closed", "retain_for", "retain_rows", "late"}


class IntervalParts(MatchParts):
    """The parts of :class:`panewise.Interval`."""

    def to_dict(self, match: Interval) -> dict[str, Any]:
        """Returns the fields as plain values."""
        return plain_fields(match)

    def from_dict(self, document: Any, where: str) -> Interval:
        """Returns the interval that a dict describes."""
        members = members_of(document, where, _NAMES, required=("lower", "upper"))
        lower, upper = (
            or_null(duration)(members.get(name), f"{where}.{name}") for name in ("lower", "upper")
        )
        limit = members.get("retain_for")
        limit = limit if limit == UNLIMITED else or_null(duration)(limit, f"{where}.retain_for")
        count = or_null(whole)(members.get("retain_rows"), f"{where}.retain_rows")
        closed, late = members.get("closed", "both"), members.get("late", "output")
        return Interval(lower, upper, closed, retain_for=limit, retain_rows=count, late=late)

    def is_timely(self, spec: JoinOperator) -> bool:
        """Returns whether pairs are emitted when their later row arrives, which is not late."""
        match: Any = spec.match
        return match.late != "join" and pairs_at_arrival(spec)

    def partners(self, match: Interval, left: str, right: str) -> str:
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

    def late(self, match: Interval, lateness: str) -> str:
        """Returns which rows are late: with `late="join"` those that can have no partner."""
        if match.late != "join":
            return super().late(match, lateness)
        return (
            f". A row behind it{lateness} is joined with what is stored, and late if it can have no partner"
        )

    def state(self, spec: JoinOperator) -> list[str]:
        """Returns how long rows of both sides are stored."""
        return [f"State: {'; '.join(_stored(spec, side) for side in (LEFT, RIGHT))}."]


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


def _stored(spec: JoinOperator, side: str) -> str:
    """Returns how long a row of a side is stored."""
    match: Any = spec.match
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


PARTS = IntervalParts()
