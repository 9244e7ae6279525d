"""The last rows, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from panewise.errors import SpecError
from panewise.spec.codec.join import plain_fields
from panewise.spec.codec.policy import policy_from
from panewise.spec.fields import members_of, or_null
from panewise.spec.matches.words import passed
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT, How
from panewise.spec.operators.join.match import LastRows, RowWindow
from panewise.spec.operators.join.match_parts import MatchParts, Refusal, pairs_at_arrival
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy
from panewise.spec.type_checks import check_delta

_window: Final = or_null(policy_from({kind.kind: kind for kind in (CountPolicy, TimePolicy, DeltaPolicy)}))


class LastRowsParts(MatchParts):
    """The parts of :class:`panewise.LastRows`."""

    hows: ClassVar[tuple[How, ...]] = ("inner", "left", "semi", "anti")
    how_rule = "a join with the last rows is inner, left, semi or anti"

    def to_dict(self, match: LastRows) -> dict[str, Any]:
        """Returns the fields as plain values."""
        return plain_fields(match)

    def from_dict(self, document: Any, where: str) -> LastRows:
        """Returns the match that a dict describes."""
        members = members_of(document, where, {"kind", "right", "left", "order"}, required=("right",))
        right, left = (_window(members.get(side), f"{where}.{side}") for side in (RIGHT, LEFT))
        return LastRows(right, left, members.get("order", "arrival"))

    def check(self, spec: JoinOperator) -> None:
        """Refuses "early" if a left row is emitted once, when its partners are known (37.5, 37.6)."""
        match: Any = spec.match
        if spec.unmatched == "early" and match.left is None:
            rule = "a left row that is in no window is emitted once its partners are known"
            given = f"unmatched='early', {match!r}"
            raise SpecError(given, f"{rule} (semantics 37.5, 37.6)", "leave unmatched out")

    def check_types(self, match: LastRows, types: Mapping[str, Mapping[str, Any]]) -> None:
        """Checks the amounts of windows by delta."""
        for name, window in match.windows.items():
            if isinstance(window, DeltaPolicy) and window.column in types[name]:
                check_delta(window, types[name][window.column])

    def batch_error(self, match: LastRows) -> Refusal | None:
        """Refuses a window by processing time."""
        timed = next((one for one in match.windows.values() if isinstance(one, TimePolicy)), None)
        if timed is None:
            return None
        rule = "a batch DataFrame is processed at one time, so no processing time passes (semantics 37.5)"
        given = f"time('{timed.duration}') on a batch DataFrame"
        return given, rule, "use delta over a timestamp, or read a stream"

    def by_arrival(self, match: LastRows) -> bool:
        """Returns whether the windows contain rows by arrival."""
        return match.order == "arrival"

    def compared(self, match: LastRows, side: str) -> tuple[str, ...]:
        """Returns the column of a window by delta."""
        window = match.windows[side]
        return (window.column,) if isinstance(window, DeltaPolicy) else ()

    def is_timely(self, spec: JoinOperator) -> bool:
        """Returns whether pairs are emitted when their later row arrives."""
        return self.by_arrival(_match(spec)) and pairs_at_arrival(spec)

    def renamed(self, match: LastRows, side: str, names: Mapping[str, str]) -> LastRows:
        """Returns the match with another column of a window by delta."""
        window = match.windows[side]
        if not isinstance(window, DeltaPolicy):
            return match
        changed: dict[str, Any] = {side: replace(window, column=names.get(window.column, window.column))}
        return replace(match, **changed)

    def partners(self, match: LastRows, left: str, right: str) -> str:
        """Returns which rows are in the windows."""
        if match.order == "event_time" and isinstance(match.right, CountPolicy):
            latest = "the latest one" if match.right.n == 1 else f"one of the {match.right.n} latest ones"
            return f"the right row is {latest} whose {right} is not after the left {left}"
        found = [
            f"the {side} row is {_contained(match.windows[side])} when the {OTHER[side]} row arrives"
            for side in (RIGHT, LEFT)
            if match.windows[side] is not None
        ]
        return ", or ".join(found)

    def when_final(self, match: LastRows) -> str:
        """Returns when a left row without a partner is emitted."""
        if match.left is not None:
            return super().when_final(match)
        if match.order == "event_time":
            return "emitted once no right row can come that is not after it"
        return "emitted at once"

    def state(self, spec: JoinOperator) -> list[str]:
        """Returns what the windows store."""
        match = _match(spec)
        if match.order == "event_time" and isinstance(match.right, CountPolicy):
            n = match.right.n
            latest = "the latest right row" if n == 1 else f"the {n} latest right rows"
            waits = f"a left row until the right watermark is {passed(0, spec.right)} it"
            return [f"State: {waits}; {latest} of each key for good, and later ones."]
        found = [
            f"the {side} rows of each key in their window{_for_good(window)}"
            for side, window in match.windows.items()
            if window is not None
        ]
        return [f"State: {'; '.join(found)}."]


def _match(spec: JoinOperator) -> LastRows:
    assert isinstance(spec.match, LastRows)
    return spec.match


def _contained(window: RowWindow | None) -> str:
    """Returns which rows a window contains."""
    match window:
        case CountPolicy(n=1):
            return "the last one of the key"
        case CountPolicy(n=n):
            return f"one of the last {n} of the key"
        case TimePolicy(duration=duration):
            return f"at most {duration} old in processing time"
        case DeltaPolicy(column=column, amount=amount):
            return f"one after which {column} has risen by at most {amount}"
    raise AssertionError("a window of no rows")


def _for_good(window: RowWindow) -> str:
    """Returns how long a window stays that gets no more rows."""
    return "" if isinstance(window, TimePolicy) else ", for good if no row follows"


PARTS = LastRowsParts()
