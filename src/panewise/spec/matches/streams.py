"""Windowed streams, as :class:`panewise.spec.operators.join.match_parts.MatchParts`."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Final

from panewise.errors import SpecError
from panewise.spec.codec.measures import read_measure
from panewise.spec.codec.windows import FIELDS, plain
from panewise.spec.fields import Reader, duration, members_of, or_null, whole
from panewise.spec.matches.streams_words import in_windows, releases, stored
from panewise.spec.operators.join.columns import LEFT, RIGHT, How
from panewise.spec.operators.join.match_parts import MatchParts, Refusal
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.streams import JoinWindow, WindowedStreams
from panewise.spec.triggers.simple import Every

_NAMES: Final = tuple(field.name for field in fields(JoinWindow))


class StreamsParts(MatchParts):
    """The parts of :class:`panewise.WindowedStreams`."""

    hows: ClassVar[tuple[How, ...]] = ("inner",)
    how_rule = "a windowed stream join emits pairs: it is inner"
    how_remedy = "use how='inner'"

    def to_dict(self, match: WindowedStreams) -> dict[str, Any]:
        """Returns the windows of the sides as plain values.

        >>> from panewise import rows
        >>> PARTS.to_dict(WindowedStreams(JoinWindow(rows(3))))["left"]
        {'window': {'rows': 3}, 'early': {'kind': 'always'}, 'late': None, 'retention': None,
        'retention_rows': None}
        """
        return {
            side: {name: plain(getattr(one, name)) for name in _NAMES} for side, one in match.windows.items()
        }

    def from_dict(self, document: Any, where: str) -> WindowedStreams:
        """Returns the match that a dict describes."""
        members = members_of(document, where, {"kind", LEFT, RIGHT})
        sides = {side: _join_window(members[side], f"{where}.{side}") for side in members.keys() - {"kind"}}
        return WindowedStreams(**sides)

    def check(self, spec: JoinOperator) -> None:
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

    def batch_error(self, match: WindowedStreams) -> Refusal | None:
        """Refuses periods of processing time."""
        period = next((one for window in match.windows.values() for one in window.periods), None)
        if period is None:
            return None
        rule = "a batch DataFrame is processed at one time, so no period passes (semantics 37.16)"
        return f"{period!r} on a batch DataFrame", rule, "use 'each', or read a stream"

    def partners(self, match: WindowedStreams, left: str, right: str) -> str:
        """Returns which rows the windows match."""
        return in_windows(match, {LEFT: left, RIGHT: right})

    def emission(self, spec: JoinOperator, alone: list[str]) -> list[str]:
        """Returns the lines on releases."""
        return [*alone, *releases(spec)]

    def state(self, spec: JoinOperator) -> list[str]:
        """Returns how long rows wait and are stored."""
        return [stored(spec)]


def _join_window(value: Any, where: str) -> JoinWindow:
    members = members_of(value, where, set(_NAMES))
    return JoinWindow(**{name: _FIELDS[name](one, f"{where}.{name}") for name, one in members.items()})


def _window(value: Any, where: str) -> Any:
    if isinstance(value, Mapping) and "kind" in value:
        return FIELDS["window"](value, where)
    return read_measure(value, where)


_policy: Final = or_null(FIELDS["trigger"])
_FIELDS: dict[str, Reader] = {
    "window": or_null(_window),
    "early": _policy,
    "late": _policy,
    "retention": or_null(duration),
    "retention_rows": or_null(whole),
}
PARTS = StreamsParts()
