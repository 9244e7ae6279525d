"""The last rows, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from collections.abc import Mapping

from panewise.errors import SpecError
from panewise.spec.column_types import Type
from panewise.spec.describe.sides import passed
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.last_rows import LastRows, RowWindow
from panewise.spec.operators.join.match_parts import MatchParts, pairs_at_arrival
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy
from panewise.spec.protocol import Refusal
from panewise.spec.type_checks import check_delta


def _check(spec: JoinOperator, match: LastRows) -> None:
    """Refuses "early" if a left row is emitted once, when its partners are known (37.5, 37.6)."""
    if spec.unmatched == "early" and match.left is None:
        rule = "a left row that is in no window is emitted once its partners are known"
        problem = f"unmatched='early', {match!r}"
        raise SpecError(problem, f"{rule} (semantics 37.5, 37.6)", "leave unmatched out")


def _check_types(match: LastRows, types: Mapping[str, Mapping[str, Type]]) -> None:
    """Checks the amounts of windows by delta."""
    for name, window in match.windows.items():
        if isinstance(window, DeltaPolicy) and window.column in types[name]:
            check_delta(window, types[name][window.column])


def _batch_error(match: LastRows) -> Refusal | None:
    """Refuses a window by processing time."""
    timed = next((window for window in match.windows.values() if isinstance(window, TimePolicy)), None)
    if timed is None:
        return None
    rule = "a batch DataFrame is processed at one time, so no processing time passes (semantics 37.5)"
    problem = f"time('{timed.duration}') on a batch DataFrame"
    return problem, rule, "use delta over a timestamp, or read a stream"


def _compared(match: LastRows, side: str) -> tuple[str, ...]:
    """Returns the column of a window by delta."""
    window = match.windows[side]
    return (window.column,) if isinstance(window, DeltaPolicy) else ()


def _partners(match: LastRows, left: str, right: str) -> str:
    """Returns which rows are in the windows."""
    if match.order == "event_time" and isinstance(match.right, CountPolicy):
        latest = "the latest one" if match.right.n == 1 else f"one of the {match.right.n} latest ones"
        return f"the right row is {latest} whose {right} is not after the left {left}"
    clauses = [
        f"the {side} row is {_contained(match.windows[side])} when the {OTHER[side]} row arrives"
        for side in (RIGHT, LEFT)
        if match.windows[side] is not None
    ]
    return ", or ".join(clauses)


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


def _when_final(match: LastRows) -> str:
    """Returns when a left row without a partner is emitted."""
    if match.left is not None:
        return "emitted once no partner can come"
    if match.order == "event_time":
        return "emitted once no right row can come that is not after it"
    return "emitted at once"


def _state(spec: JoinOperator, match: LastRows) -> list[str]:
    """Returns what the windows store."""
    if match.order == "event_time" and isinstance(match.right, CountPolicy):
        n = match.right.n
        latest = "the latest right row" if n == 1 else f"the {n} latest right rows"
        waits = f"a left row until the right watermark is {passed(0, spec.right)} it"
        return [f"State: {waits}; {latest} of each key for good, and later ones."]
    clauses = [
        f"the {side} rows of each key in their window{_for_good(window)}"
        for side, window in match.windows.items()
        if window is not None
    ]
    return [f"State: {'; '.join(clauses)}."]


def _for_good(window: RowWindow) -> str:
    """Returns how long a window stays that gets no more rows."""
    return "" if isinstance(window, TimePolicy) else ", for good if no row follows"


PARTS = MatchParts(
    hows=("inner", "left", "semi", "anti"),
    how_rule="a join with the last rows is inner, left, semi or anti",
    check=_check,
    check_types=_check_types,
    batch_error=_batch_error,
    by_arrival=lambda match: match.order == "arrival",
    compared=_compared,
    is_timely=lambda spec, match: match.order == "arrival" and pairs_at_arrival(spec),
    partners=_partners,
    when_final=_when_final,
    state=_state,
)
