"""The latest rows, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from panewise.spec.codec.join import plain_fields
from panewise.spec.fields import duration, members_of, or_null, text, wrong
from panewise.spec.operators.join.columns import LEFT, RIGHT, How
from panewise.spec.operators.join.match import Latest
from panewise.spec.operators.join.match_parts import MatchParts, Refusal, pairs_at_arrival
from panewise.spec.operators.join.operator import JoinOperator


class LatestParts(MatchParts):
    """The parts of :class:`panewise.Latest`."""

    hows: ClassVar[tuple[How, ...]] = ("inner", "left", "right", "full")
    how_rule = "a join of the latest rows emits pairs: it is inner, left, right or full"
    how_remedy = "use how='left'"

    def to_dict(self, match: Latest) -> dict[str, Any]:
        """Returns the fields as plain values."""
        return plain_fields(match)

    def from_dict(self, document: Any, where: str) -> Latest:
        """Returns the match that a dict describes."""
        members = members_of(document, where, {"kind", "ttl", "deletes"})
        ttl = or_null(duration)(members.get("ttl"), f"{where}.ttl")
        return Latest(ttl, or_null(_columns)(members.get("deletes"), f"{where}.deletes"))

    def batch_error(self, match: Latest) -> Refusal | None:
        """Refuses a batch DataFrame."""
        rule = "the rows of a batch DataFrame arrive together, so none is newer than another (semantics 37.7)"
        return f"{match!r} on a batch DataFrame", rule, "use AsOf, or read a stream"

    def by_arrival(self, match: Latest) -> bool:
        """Returns True: the newest row is the one that arrived last."""
        return True

    def columns_read(self, match: Latest, side: str) -> tuple[str, ...]:
        """Returns the column of a side in which null deletes a row, if there is one."""
        column = match.deletes_by_side[side]
        return () if column is None else (column,)

    def is_timely(self, spec: JoinOperator) -> bool:
        """Returns whether pairs are emitted when their later row arrives."""
        return pairs_at_arrival(spec)

    def renamed(self, match: Latest, side: str, names: Mapping[str, str]) -> Latest:
        """Returns the match with another name of the column that deletes."""
        columns = match.deletes_by_side
        if columns[side] is not None:
            columns[side] = names.get(str(columns[side]), columns[side])
        return replace(match, deletes=(columns[LEFT], columns[RIGHT]))

    def partners(self, match: Latest, left: str, right: str) -> str:
        """Returns which rows are paired, and which delete others."""
        young = "" if match.ttl is None else f", and it arrived less than {match.ttl} ago in processing time"
        deleting = [
            f"; a {side} row whose {column} is null deletes the {side} row of its key"
            for side, column in match.deletes_by_side.items()
            if column is not None
        ]
        return f"one is the newest of its side and key when the other arrives{young}{''.join(deleting)}"

    def state(self, spec: JoinOperator) -> list[str]:
        """Returns how long the newest rows are stored."""
        match: Any = spec.match
        good = "for good" if match.ttl is None else f"for {match.ttl} after its arrival"
        return [f"State: the newest row of each side and key, {good} if no other follows."]


def _columns(value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list with a column or null for each side")
    return tuple(or_null(text)(one, f"{where}[{n}]") for n, one in enumerate(value))


PARTS = LatestParts()
