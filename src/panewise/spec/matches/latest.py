"""The latest rows, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.match_parts import MatchParts, pairs_at_arrival
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.protocol import Refusal


def _batch_error(match: Latest) -> Refusal | None:
    """Refuses a batch DataFrame."""
    rule = "the rows of a batch DataFrame arrive together, so none is newer than another (semantics 37.7)"
    return f"{match!r} on a batch DataFrame", rule, "use AsOf, or read a stream"


def _columns_read(match: Latest, side: str) -> tuple[str, ...]:
    """Returns the column of a side in which null deletes a row, if there is one."""
    column = match.deletes_by_side[side]
    return () if column is None else (column,)


def _partners(match: Latest, left: str, right: str) -> str:
    """Returns which rows are paired, and which delete others."""
    young = "" if match.ttl is None else f", and it arrived less than {match.ttl} ago in processing time"
    deleting = [
        f"; a {side} row whose {column} is null deletes the {side} row of its key"
        for side, column in match.deletes_by_side.items()
        if column is not None
    ]
    return f"one is the newest of its side and key when the other arrives{young}{''.join(deleting)}"


def _state(spec: JoinOperator, match: Latest) -> list[str]:
    """Returns how long the newest rows are stored."""
    good = "for good" if match.ttl is None else f"for {match.ttl} after its arrival"
    return [f"State: the newest row of each side and key, {good} if no other follows."]


PARTS = MatchParts(
    hows=("inner", "left", "right", "full"),
    how_rule="a join of the latest rows emits pairs: it is inner, left, right or full",
    how_remedy="use how='left'",
    batch_error=_batch_error,
    by_arrival=lambda match: True,
    columns_read=_columns_read,
    is_timely=lambda spec, match: pairs_at_arrival(spec),
    partners=_partners,
    state=_state,
)
