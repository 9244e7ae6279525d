"""Windowed streams, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from typing import Any

from panewise.errors import SpecError
from panewise.spec.matches.streams_words import in_windows, releases, stored
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.match_parts import MatchParts, Refusal
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.spec.triggers.simple import Every


def _check(spec: JoinOperator) -> None:
    """Refuses policies and retentions that do not fit the lateness of their side (37.16, 37.18)."""
    match: Any = spec.match
    for name, window in match.windows.items():
        lateness = spec.sides[name].allowed_lateness
        if isinstance(window.late, Every) and not lateness.us:
            rule = "without allowed lateness no row of a complete window is applied"
            raise SpecError(
                f"late={window.late!r} on the {name}", rule, "give allowed_lateness, or leave late out"
            )
        if window.retention is not None and window.retention.us < lateness.us:
            rule = "a row that is not late is not beyond the retention of its side"
            given = f"retention={window.retention}, allowed_lateness={lateness} on the {name}"
            raise SpecError(given, rule, "give a longer retention")


def _batch_error(match: WindowedStreams) -> Refusal | None:
    """Refuses periods of processing time."""
    period = next((one for window in match.windows.values() for one in window.periods), None)
    if period is None:
        return None
    rule = "a batch DataFrame is processed at one time, so no period passes (semantics 37.16)"
    return f"{period!r} on a batch DataFrame", rule, "use 'each', or read a stream"


PARTS = MatchParts(
    hows=("inner",),
    how_rule="a windowed stream join emits pairs: it is inner",
    how_remedy="use how='inner'",
    check=_check,
    batch_error=_batch_error,
    partners=lambda match, left, right: in_windows(match, {LEFT: left, RIGHT: right}),
    emission=lambda spec, alone: releases(spec),
    state=lambda spec: [stored(spec)],
)
