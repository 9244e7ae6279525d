"""Windows of both sides, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec.codec.windows import FIELDS, plain, with_function
from panewise.spec.fields import members_of
from panewise.spec.matches.same_window_words import firings, late_and_stored
from panewise.spec.operators.join.checks import check_lateness_of_windows, check_shared_columns
from panewise.spec.operators.join.columns import OF_PANES, OF_WINDOWS
from panewise.spec.operators.join.match_parts import MatchParts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow, has_ends
from panewise.spec.protocol import Users
from panewise.spec.rules.timely import on_milliseconds
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow

_NAMES: Final = tuple(field.name for field in fields(SameWindow))


class SameWindowParts(MatchParts):
    """The parts of :class:`panewise.SameWindow`."""

    def to_dict(self, match: SameWindow) -> dict[str, Any]:
        """Returns the fields as plain values."""
        return {name: plain(getattr(match, name)) for name in _NAMES}

    def from_dict(self, document: Any, where: str) -> SameWindow:
        """Returns the match that a dict describes. Custom windows have no function yet."""
        members = members_of(document, where, {"kind", *_NAMES}, required=("window",))
        names = members.keys() - {"kind"}
        return SameWindow(**{name: FIELDS[name](members[name], f"{where}.{name}") for name in names})

    def with_functions(self, match: SameWindow, users: Users) -> SameWindow:
        """Returns the match, whose custom windows have the function of their name."""
        if not isinstance(match.window, Custom):
            return match
        return replace(match, window=with_function(match.window, users["windows"], "match.window"))

    def check(self, spec: JoinOperator) -> None:
        """Refuses an allowed lateness of a side: windows have one."""
        check_lateness_of_windows(spec, "SameWindow")

    def check_types(self, match: SameWindow, types: Mapping[str, Mapping[str, Any]]) -> None:
        """Checks the columns that windows and triggers read."""
        check_shared_columns(match.columns_read, types)

    def window(self, match: SameWindow) -> AnyWindow:
        """Returns the windows."""
        return match.window

    def windows_end(self, match: SameWindow) -> bool:
        """Returns whether the windows have ends."""
        return has_ends(match)

    def window_columns(self, match: SameWindow) -> tuple[str, ...]:
        """Returns the bounds and the timing, and in accumulating mode the number of the firing."""
        return (*OF_WINDOWS, *(OF_PANES if match.accumulation == "accumulating" else ()))

    def columns_read(self, match: SameWindow, side: str) -> tuple[str, ...]:
        """Returns the columns that windows and triggers read."""
        return match.columns_read

    def emits_again(self, match: SameWindow) -> str | None:
        """Returns the accumulation, if it is not discarding."""
        return None if match.accumulation == "discarding" else f"accumulation={match.accumulation!r}"

    def is_timely(self, spec: JoinOperator) -> bool:
        """Returns whether rows have the time of their window, which is emitted when it is complete."""
        match: Any = spec.match
        in_windows = spec.timestamp == "window" and match.allowed_lateness == Duration(0)
        return in_windows and on_milliseconds(match.window)

    def calls_users(self, match: SameWindow) -> bool:
        """Returns whether the windows are custom ones."""
        return isinstance(match.window, Custom)

    def partners(self, match: SameWindow, left: str, right: str) -> str:
        """Returns which rows are partners."""
        return "they are in the same window"

    def emission(self, spec: JoinOperator, alone: list[str]) -> list[str]:
        """Returns the lines on windows and firings."""
        return firings(spec)

    def late(self, match: SameWindow, lateness: str) -> str:
        """Returns nothing: what is late depends on the windows of both sides."""
        return ""

    def state(self, spec: JoinOperator) -> list[str]:
        """Returns the lines on late rows and on the state."""
        return late_and_stored(spec)


PARTS = SameWindowParts()
