"""Windows of both sides, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from typing import Any

from panewise.chrono import Duration
from panewise.spec.matches.same_window_words import firings, late_and_stored
from panewise.spec.operators.join.checks import check_lateness_of_windows, check_shared_columns
from panewise.spec.operators.join.columns import OF_PANES, OF_WINDOWS
from panewise.spec.operators.join.match_parts import MatchParts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow, has_ends
from panewise.spec.rules.timely import on_milliseconds
from panewise.spec.windows.custom import Custom


def _is_timely(spec: JoinOperator) -> bool:
    """Returns whether rows have the time of their window, which is emitted when it is complete."""
    match: Any = spec.match
    in_windows = spec.timestamp == "window" and match.allowed_lateness == Duration(0)
    return in_windows and on_milliseconds(match.window)


def _window_columns(match: SameWindow) -> tuple[str, ...]:
    return (*OF_WINDOWS, *(OF_PANES if match.accumulation == "accumulating" else ()))


def _emits_again(match: SameWindow) -> str | None:
    return None if match.accumulation == "discarding" else f"accumulation={match.accumulation!r}"


PARTS = MatchParts(
    check=lambda spec: check_lateness_of_windows(spec, "SameWindow"),
    check_types=lambda match, types: check_shared_columns(match.columns_read, types),
    window=lambda match: match.window,
    windows_end=has_ends,
    window_columns=_window_columns,
    columns_read=lambda match, side: match.columns_read,
    emits_again=_emits_again,
    is_timely=_is_timely,
    calls_users=lambda match: isinstance(match.window, Custom),
    partners=lambda match, left, right: "they are in the same window",
    emission=lambda spec, alone: firings(spec),
    late=lambda match, lateness: "",  # that depends on the windows
    state=late_and_stored,
)
