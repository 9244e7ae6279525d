"""As-of matches, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from panewise.errors import SpecError
from panewise.spec.describe.sides import passed
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import RIGHT
from panewise.spec.operators.join.match_parts import MatchParts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side


def _check(spec: JoinOperator, match: AsOf) -> None:
    """Refuses a condition without a tolerance, and rows that are retracted (semantics 37.3)."""
    if spec.condition is not None and match.tolerance is None:
        rule = "with a condition any right row could be a partner later, so all would be stored for good"
        raise SpecError("a condition of an as-of join without a tolerance", rule, "give a tolerance")
    if spec.unmatched == "early":
        rule = "a left row of an as-of join is emitted once its partner is known (semantics 37.3)"
        raise SpecError("unmatched='early' of an as-of join", rule, "leave unmatched out")


def _partners(match: AsOf, left: str, right: str) -> str:
    """Returns which row is the partner as of the time of a left row."""
    which = {
        ("backward", True): f"the latest one whose {right} is not after the left {left}",
        ("backward", False): f"the latest one whose {right} is before the left {left}",
        ("forward", True): f"the earliest one whose {right} is not before the left {left}",
        ("forward", False): f"the earliest one whose {right} is after the left {left}",
        ("nearest", True): f"the one whose {right} is nearest to the left {left}",
        ("nearest", False): f"the one whose {right} is nearest to the left {left}, but not equal to it",
    }
    near = "" if match.tolerance is None else f", and at most {match.tolerance} from it"
    return f"the right row is {which[match.strategy, match.allow_exact_matches]}{near}"


def _state(spec: JoinOperator, match: AsOf) -> list[str]:
    """Returns how long left rows wait, and how long right rows are stored."""
    lasting = "the latest right row of each key for good, and later ones"
    if match.waits_for_partner:
        return [_state_of_awaited(match, lasting)]
    if match.tolerance is not None:
        lasting = "a right row as long as it can be the partner of a left row"
    decides = _decides(match, spec.right)
    return [f"State: a left row until the right watermark is {decides} it; {lasting}."]


def _state_of_awaited(match: AsOf, lasting: str) -> str:
    """Returns how long rows are stored if a left row waits for its partner."""
    if match.strategy == "nearest":
        waits = "until no nearer right row can come, for good if there is no right row of its key"
        return f"State: a left row {waits}; {lasting}."
    waits = "until the right watermark has passed its partner, for good if none comes"
    return f"State: a left row {waits}; a right row until both watermarks have passed it."


def _decides(match: AsOf, right: Side) -> str:
    """Returns where the right watermark is when a left row is decided."""
    if match.waits >= 0:
        return passed(match.waits, right)
    lateness = right.allowed_lateness
    return f"{lateness} or more after" if lateness.us else "at or after"


PARTS = MatchParts(
    hows=("inner", "left", "semi", "anti"),
    how_rule="an as-of join looks for a right row for each left row: it is inner, left, semi or anti",
    static_side=RIGHT,
    check=_check,
    partners=_partners,
    state=_state,
)
