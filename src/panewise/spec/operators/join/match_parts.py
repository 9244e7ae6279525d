"""What each match supplies for the specification of a join: checks, facts and words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from panewise.chrono import Duration
from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec.column_types import Type
from panewise.spec.operators.join.columns import HOWS, How
from panewise.spec.operators.join.match import Match
from panewise.spec.protocol import Refusal
from panewise.spec.windows.kinds import AnyWindow

M = TypeVar("M", bound=Match)
OF_ONE_MATCH: Final = "a state belongs to the match that it was made with (semantics 47.2)"


def _late(match: object, lateness: str) -> str:
    return f". A row behind it{lateness} is late"


@dataclass(frozen=True, kw_only=True)
class MatchParts(Generic[M]):
    """What depends on the match of a join: values, and functions of the match or of the join that has it.

    A match states what is special about it. In the functions `spec` is the JoinOperator, `match` its match.

    Attributes:
        hows: the types of joins that the match has (semantics 27.2).
        how_rule: the rule for these types.
        how_remedy: the remedy for another type. The error adds that an Interval has it.
        check: refuses fields of the join that the match cannot have, or that would have no effect.
        check_types: checks the types of the columns that the match reads, given by side and name.
        batch_error: why a batch DataFrame cannot be the input, None if it can.
        static_side: the side that may be a batch DataFrame next to a stream (semantics 36.8), or None.
        by_arrival: whether rows match by arrival, whatever their event times are (semantics 36.13).
        window: the windows that rows of both sides are assigned to, None if there are none.
        windows_end: whether there are such windows and they end. Only then may `timestamp` be "window".
        window_columns: the columns of an emitted row that name its window, and the firing that emitted it.
        compared: the columns of a side whose values are compared with those of earlier rows.
        columns_read: further columns of a side that the match reads, besides `compared`.
        allowed_lateness: how far rows of both sides may be behind the watermark, if the match says that.
        emits_again: the field of the match because of which rows are retracted or emitted again, or None.
            `unmatched="early"` is a field of the join.
        is_timely: whether every emitted row is at or after the watermark. It is called only if no side has an
            allowed lateness. False means that it is not known.
        calls_users: whether the match has functions of the user.
        refuses_change: why a stored state is not continued with another match, None if it is. It is
            called with the join before and the new one, whose matches are of this kind.
        partners: which rows are partners, in words, given the columns of the event times.
        when_final: the text on when a row without a partner is emitted, with `unmatched="final"`.
        when_early: the same with `unmatched="early"`.
        emission: the lines on when rows are emitted, given the lines on rows without a partner.
        late: the text that ends the line on the watermark of a side. It is called with "" or the text on its
            lateness.
        state: the last lines of the description: what is stored, and for how long.
    """

    # Checks
    hows: tuple[How, ...] = HOWS
    how_rule: str = ""
    how_remedy: str = "exchange the sides"
    check: Callable[[Any, M], None] = lambda spec, match: None
    check_types: Callable[[M, Mapping[str, Mapping[str, Type]]], None] = lambda match, types: None
    batch_error: Callable[[M], Refusal | None] = lambda match: None
    # Facts
    static_side: str | None = None
    by_arrival: Callable[[M], bool] = lambda match: False
    window: Callable[[M], AnyWindow | None] = lambda match: None
    windows_end: Callable[[M], bool] = lambda match: False
    window_columns: Callable[[M], tuple[str, ...]] = lambda match: ()
    compared: Callable[[M, str], tuple[str, ...]] = lambda match, side: ()
    columns_read: Callable[[M, str], tuple[str, ...]] = lambda match, side: ()
    allowed_lateness: Callable[[M], Duration | Literal["unlimited"]] = lambda match: Duration(0)
    emits_again: Callable[[M], str | None] = lambda match: None
    is_timely: Callable[[Any, M], bool] = lambda spec, match: False
    calls_users: Callable[[M], bool] = lambda match: False
    refuses_change: Callable[[Any, Any], str | None] = lambda old, new: OF_ONE_MATCH
    # Words
    partners: Callable[[M, str, str], str]
    when_final: Callable[[M], str] = lambda match: "emitted once no partner can come"
    when_early: Callable[[M], str] = lambda match: "emitted at once, and retracted if a partner comes"
    emission: Callable[[Any, M, list[str]], list[str]] = lambda spec, match, alone: alone
    late: Callable[[M, str], str] = _late
    state: Callable[[Any, M], list[str]]


def match_parts(match: M) -> MatchParts[M]:
    """Returns the parts of the kind of a match."""
    parts: MatchParts[M] = parts_of_kind(match.kind)
    return parts


def parts_of_kind(kind: str) -> MatchParts[Any]:
    """Returns the parts of a kind of matches."""
    parts: MatchParts[Any] = part(MATCHES[kind].spec)
    return parts


def pairs_at_arrival(spec: Any) -> bool:
    """Returns whether a join emits only pairs, each with the time of its later row.

    If the match pairs rows when they arrive, no such pair is behind the watermark.
    """
    return bool(spec.how == "inner" and spec.timestamp == "later")
