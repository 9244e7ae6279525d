"""What each match supplies for the specification of a join: checks, facts, words and JSON."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec.operators.join.columns import HOWS, How
from panewise.spec.windows.kinds import AnyWindow

if TYPE_CHECKING:
    from panewise.spec.operators.join.operator import JoinOperator

Refusal: TypeAlias = tuple[str, str, str]  # what was given, the rule it breaks, and a remedy


class MatchParts(ABC):
    """The parts of a match. What a match does not override is the default of most matches.

    Methods take the match as `match`, or the whole join as `spec` where they need more than the match.

    Attributes:
        hows: the types of joins that the match has (semantics 27.2).
        how_rule: the rule for these types.
        how_remedy: the remedy for another type, besides an Interval.
        static_sides: the sides that may be a batch DataFrame next to a stream (semantics 36.8).
    """

    hows: ClassVar[tuple[How, ...]] = HOWS
    how_rule: ClassVar[str] = ""
    how_remedy: ClassVar[str] = "exchange the sides"
    static_sides: ClassVar[tuple[str, ...]] = ()

    # JSON

    @abstractmethod
    def to_dict(self, match: Any) -> dict[str, Any]:
        """Returns the fields of the match as plain values."""

    @abstractmethod
    def from_dict(self, document: Any, where: str) -> Any:
        """Returns the match that a dict describes. `where` is its path in the document.

        Raises:
            SpecError: if the dict has other fields, or a value is not one of its field.
        """

    def with_functions(self, match: Any, users: Mapping[str, Mapping[str, Any]]) -> Any:
        """Returns the match with the functions of the user in place of their names."""
        return match

    # Checks

    def check(self, spec: "JoinOperator") -> None:
        """Refuses what a join with this match cannot have, or what would have no effect.

        Raises:
            SpecError: for such a field.
        """
        return

    def check_types(self, match: Any, types: Mapping[str, Mapping[str, Any]]) -> None:
        """Checks the types of the columns that the match reads, which are given by side and name."""
        return

    def batch_error(self, match: Any) -> Refusal | None:
        """Returns why a batch DataFrame cannot be the input, None if it can."""
        return None

    # Facts

    def by_arrival(self, match: Any) -> bool:
        """Returns whether rows match by arrival alone, whatever their event times are (semantics 36.13)."""
        return False

    def window(self, match: Any) -> AnyWindow | None:
        """Returns the windows that rows of both sides are assigned to, None if there are none."""
        return None

    def windows_end(self, match: Any) -> bool:
        """Returns whether there are such windows and they have ends, so that rows can have their time."""
        return False

    def window_columns(self, match: Any) -> tuple[str, ...]:
        """Returns the columns that say from which firing of which window an emitted row is."""
        return ()

    def compared(self, match: Any, side: str) -> tuple[str, ...]:
        """Returns the columns of a side whose values are compared with those of earlier rows."""
        return ()

    def columns_read(self, match: Any, side: str) -> tuple[str, ...]:
        """Returns the columns of a side that the match reads."""
        return self.compared(match, side)

    def emits_again(self, match: Any) -> str | None:
        """Returns the field because of which rows are retracted or emitted again, None if there is none."""
        return None

    def is_timely(self, spec: "JoinOperator") -> bool:
        """Returns whether no emitted row is behind the watermark, if no side has an allowed lateness."""
        return False

    def renamed(self, match: Any, side: str, names: Mapping[str, str]) -> Any:
        """Returns the match with other names of the columns of a side."""
        return match

    def calls_users(self, match: Any) -> bool:
        """Returns whether the match has functions of the user."""
        return False

    # Words

    @abstractmethod
    def partners(self, match: Any, left: str, right: str) -> str:
        """Returns which rows are partners. `left` and `right` are the columns of the event times."""

    @abstractmethod
    def state(self, spec: "JoinOperator") -> list[str]:
        """Returns the last lines of the description: what is stored how long."""

    def when_final(self, match: Any) -> str:
        """Returns when rows without a partner are emitted that are emitted once."""
        return "emitted once no partner can come"

    def emission(self, spec: "JoinOperator", alone: list[str]) -> list[str]:
        """Returns the lines on when rows are emitted. `alone` is on those without a partner."""
        return alone

    def late(self, match: Any, lateness: str) -> str:
        """Returns which rows of a side are late. `lateness` says by how much they may be behind."""
        return f". A row behind it{lateness} is late"


def match_parts(match: Any) -> MatchParts:
    """Returns the parts of the kind of a match."""
    return parts_of_kind(match.kind)


def parts_of_kind(kind: str) -> MatchParts:
    """Returns the parts of a kind of matches."""
    found: MatchParts = part(MATCHES[kind].spec)
    return found


def pairs_at_arrival(spec: "JoinOperator") -> bool:
    """Returns whether all that a join emits are pairs with the time of their later row, when it arrives.

    The match is one that pairs rows when they arrive.
    """
    return spec.how == "inner" and spec.timestamp == "later"
