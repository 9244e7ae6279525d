"""Windows of both sides, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from typing import Final

from panewise.chrono import Duration
from panewise.spec.describe.triggers import when
from panewise.spec.describe.windows import late_rows, membership
from panewise.spec.operators.join.checks import check_lateness_of_windows, check_shared_columns
from panewise.spec.operators.join.columns import OF_PANES, OF_WINDOWS
from panewise.spec.operators.join.match_parts import MatchParts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow, fires_once, has_ends
from panewise.spec.operators.join.windowing import window_operator
from panewise.spec.operators.windows import data_loss_reason
from panewise.spec.triggers.composite import AfterWatermark
from panewise.spec.triggers.simple import Never
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import Global
from panewise.spec.windows.never_late_on_spark import on_milliseconds

_RETRACTED: Final = "and retracted at a later firing if a partner comes"


def _is_timely(spec: JoinOperator, match: SameWindow) -> bool:
    """Returns whether rows have the time of their window, which is emitted when it is complete."""
    in_windows = spec.timestamp == "window" and match.allowed_lateness == Duration(0)
    return in_windows and on_milliseconds(match.window)


def _window_columns(match: SameWindow) -> tuple[str, ...]:
    return (*OF_WINDOWS, *(OF_PANES if match.accumulation == "accumulating" else ()))


def _emits_again(match: SameWindow) -> str | None:
    return None if match.accumulation == "discarding" else f"accumulation={match.accumulation!r}"


def _refuses_change(old: JoinOperator, new: JoinOperator) -> str | None:
    """Refuses other changes than of the trigger, of `drop_by` and of the lateness (semantics 47.19)."""
    before, after = old.match, new.match
    assert isinstance(before, SameWindow) and isinstance(after, SameWindow)
    if (before.window, before.accumulation) != (after.window, after.accumulation):
        return (
            "of windows of both sides only trigger, allowed_lateness and drop_by may change "
            "(semantics 47.2, 47.19)"
        )
    if fires_once(before) or fires_once(after):
        return (
            "windows that fire once store only rows, so they cannot become others, nor others such windows "
            "(semantics 47.2, 47.19)"
        )
    if data_loss_reason(window_operator(old)) is not None:
        return "windows that their trigger has closed are not opened by another one (semantics 47.2, 47.19)"
    return None


def _firings(spec: JoinOperator, match: SameWindow) -> list[str]:
    """Returns the lines on windows, on when they fire, and on what they emit.

    >>> from panewise import Side, Tumbling
    >>> sides = {"left": Side(keys=["k"]), "right": Side(keys=["k"], prefix="r_")}
    >>> spec = JoinOperator(**sides, match=SameWindow(Tumbling("1 hour")), how="left")
    >>> for line in _firings(spec, spec.match):
    ...     print(line)
    Windows: each row belongs to one window of 1 hour; windows start at 1970-01-01 00:00:00 UTC and every
    1 hour from there. They are made from the rows of both sides.
    Firings: a window fires when the lower watermark reaches its end, and when it expires.
      A firing emits what has changed since the last one (discarding).
    """
    content = {
        "discarding": "what has changed since the last one (discarding)",
        "accumulating": "all that the window contains, if that has changed (accumulating)",
        "retracting": "all that the window contains, if that has changed, and first retracts what the last "
        "one emitted (retracting)",
    }
    return [
        f"Windows: {membership(match.window)}. They are made from the rows of both sides.",
        f"Firings: a window fires {_when(spec, match)}{_last(spec, match)}.",
        f"  A firing emits {content[match.accumulation]}.",
    ]


def _when_early(match: SameWindow) -> str:
    """Returns when a row without a partner is emitted before the last firing of its window."""
    until = "until a partner comes" if match.accumulation == "accumulating" else _RETRACTED
    return f"emitted when their window fires, {until}"


def _when(spec: JoinOperator, match: SameWindow) -> str:
    """Returns when a window fires before it expires."""
    trigger = match.trigger
    if isinstance(trigger, Never):
        return ""
    if not isinstance(trigger, AfterWatermark):
        return f"{when(trigger, spec.evaluate)}, and "
    parts = [] if isinstance(match.window, Global) else ["when the lower watermark reaches its end"]
    if trigger.early is not None:
        parts.insert(0, f"before its end {when(trigger.early, spec.evaluate)}")
    if trigger.late is not None and match.allowed_lateness != Duration(0) and has_ends(match):
        parts.append(f"after that {when(trigger.late, spec.evaluate)}")
    return "".join(f"{part}, " for part in parts) + "and " * bool(parts)


def _last(spec: JoinOperator, match: SameWindow) -> str:
    """Returns when a window fires for the last time."""
    expiry = "when it expires" if _expires(match) else "at the end of input"
    closes = data_loss_reason(window_operator(spec)) is not None
    return f"for the last time when its trigger closes it or {expiry}" if closes else expiry


def _expires(match: SameWindow) -> bool:
    return has_ends(match) and isinstance(match.allowed_lateness, Duration)


def _late_and_stored(spec: JoinOperator, match: SameWindow) -> list[str]:
    """Returns the lines on late rows and on the state."""
    inner = window_operator(spec)
    watermark = "The watermark of the windows is the lower one of both sides."
    until = (
        "a row until the last of its windows expires"
        if _expires(match)
        else "each row until the end of input"
    )
    return [f"{late_rows(inner)} {watermark}", f"State: {until}."]


PARTS = MatchParts(
    check=lambda spec, match: check_lateness_of_windows(spec, "SameWindow"),
    check_types=lambda match, types: check_shared_columns(match.columns_read, types),
    window=lambda match: match.window,
    windows_end=has_ends,
    window_columns=_window_columns,
    columns_read=lambda match, side: match.columns_read,
    allowed_lateness=lambda match: match.allowed_lateness,
    emits_again=_emits_again,
    is_timely=_is_timely,
    calls_users=lambda match: isinstance(match.window, Custom),
    refuses_change=_refuses_change,
    partners=lambda match, left, right: "they are in the same window",
    when_final=lambda match: "emitted at the last firing of their window",
    when_early=_when_early,
    emission=lambda spec, match, alone: [*_firings(spec, match), *alone],
    late=lambda match, lateness: "",  # that depends on the windows
    state=_late_and_stored,
)
