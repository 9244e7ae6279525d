"""Hypothesis strategies of events for joins and cogroups (semantics 36 to 41)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.spec import FixedLag, StreamTime, WindowOperator
from panewise.spec.operators.cogroup.operator import CogroupOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing.edges import clocks, expiries, times, watermarks
from panewise.testing.event_strategies import Writer
from panewise.testing.families import parts_for_tests
from panewise.testing.matches.parts import match_tests
from panewise.testing.samples import COLUMN_TYPES, KEY_VALUES, with_types

__all__ = ["VALUES", "join_events", "join_types"]

# Names that key columns have on the right side, each with the name of its values in the samples.
_OTHER_NAMES: Final = {"id": "key", "height": "level", "place": "shop"}
VALUES: Final = {LEFT: ("v", "n", "note"), RIGHT: ("v", "s", "note")}  # the value columns of each side
_NEAR: Final = (0, 1, -1)


def join_types(spec: JoinOperator | CogroupOperator) -> dict[str, dict[str, str]]:
    """Returns the types of the columns of each side, as :func:`panewise.testing.run` takes them.

    >>> from panewise import Interval, Side
    >>> join_types(JoinOperator(left=Side(keys=["key"]), right=Side(keys=["id"], prefix="r_"),
    ...     match=Interval(0, 5)))["right"]
    {'id': 'string', 'event_time': 'bigint', 'v': 'double', 's': 'string', 'note': 'bigint'}
    """
    return {
        side: {
            name: COLUMN_TYPES.get(_OTHER_NAMES.get(name, name), "bigint")
            for name in dict.fromkeys((*entry.columns_read, *VALUES[side]))
        }
        for side, entry in spec.ports.items()
    }


@st.composite
def join_events(
    draw: st.DrawFn,
    /,
    spec: JoinOperator | CogroupOperator,
    max_events: int = 10,
    max_rows: int = 5,
    types: Mapping[str, Mapping[str, str]] | None = None,
) -> list[dict[str, Any]]:
    """Draws events for a join or a cogroup, as :func:`panewise.testing.run` takes them.

    Often the inputs end, at times one before the other.

    Args:
        spec: the join or cogroup; of windows over a join its join.
        max_events: the most events, without the ends of inputs.
        max_rows: the most rows of a side in a batch.
        types: by side the types of columns that differ from those of :func:`join_types`.
    """
    of_sides = {side: with_types(of, (types or {}).get(side)) for side, of in join_types(spec).items()}
    writer = _JoinWriter(draw, spec, max_rows, of_sides)
    ops = ["add"] * 6 + ["watermark"] * 5 + ["clock"] * 2 + ["restart"]
    chosen = draw(st.lists(st.sampled_from(ops), min_size=2, max_size=max_events))
    of_one_side = draw(st.sampled_from([[], [], [], ["finish", "add", "watermark", "add"]]))
    script = [writer.event(op) for op in ("add", *chosen, *of_one_side)]
    return script + ([{"op": "finish"}] if draw(st.sampled_from([True, True, False])) else [])


@dataclass
class _JoinWriter:
    """Draws events one after the other, near the times of earlier rows of both sides."""

    draw: st.DrawFn
    spec: JoinOperator | CogroupOperator
    max_rows: int
    types: Mapping[str, Mapping[str, str]]
    seen: dict[str, list[int]] = field(default_factory=lambda: {side: [] for side in SIDES})
    readings: list[int] = field(default_factory=lambda: [0])
    ended: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.writers = {
            side: _SideWriter(
                self.draw,
                entry,
                {n: kind for n, kind in self.types[side].items() if (n, kind) != ("note", "bigint")},
                self.max_rows,
                seen=self.seen[side],
                places=self._places_of(side),
            )
            for side, entry in self.spec.ports.items()
        }

    def event(self, op: str) -> dict[str, Any]:
        """Draws an event with this op, or with another if the join does not allow it now."""
        if op == "watermark" and not self._open_to_watermarks():
            op = "add"
        if op == "add" and len(self.ended) == len(SIDES):
            op = "clock"
        if op == "finish":
            return self._finish()
        if op == "add":
            return self._add()
        if op == "watermark":
            return self._watermark()
        if op == "clock":
            to = self._one_of(self._clocks())
            self.readings.append(max(to, self.readings[-1]))
            return {"op": op, "to": to}
        return {"op": op}

    def _one_of(self, values: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(values))

    def _add(self) -> dict[str, Any]:
        alive = [side for side in SIDES if side not in self.ended]
        if len(alive) == len(SIDES) and self._one_of([False, True, True]):
            return {"op": "add", "rows": {side: self._rows(side) for side in SIDES}}
        side = self._one_of(alive)
        return {"op": "add", "input": side, "rows": self._rows(side)}

    def _rows(self, side: str) -> list[dict[str, Any]]:
        return self.writers[side].rows_of_batch()

    def _finish(self) -> dict[str, Any]:
        """Draws the end of one input."""
        side = self._one_of(SIDES)
        self.ended.add(side)
        return {"op": "finish", "input": side}

    def _open_to_watermarks(self) -> list[str]:
        """Returns the sides that take watermarks from outside."""
        return [
            side
            for side, entry in self.spec.ports.items()
            if entry.time == "event" and not isinstance(entry.watermark, StreamTime)
        ]

    def _watermark(self) -> dict[str, Any]:
        sides: list[Any] = self._open_to_watermarks()
        side = self._one_of([*sides, None] if len(sides) == len(SIDES) else sides)
        named = {} if side is None else {"input": side}
        return {"op": "watermark", "to": self._one_of(self._watermarks(side or self._one_of(SIDES))), **named}

    def _watermarks(self, side: str) -> list[int]:
        """Returns watermarks of a side, with their neighbours.

        Some end the wait of rows of the other side, others make times of rows of this side late.
        """
        if self._windows is not None:
            of = watermarks if self._one_of([False, True]) else expiries
            return _inside(of(self._windows, self._all_seen()))
        other, lateness = _other(side), self.spec.sides[side].allowed_lateness.us
        reach = match_tests(self._match).reach(self._match, other)
        last = [time + reach + lateness + 1 for time in self.seen[other][-4:] or [0]]
        behind = [time + lateness for time in self.seen[side][-3:] or [0]]
        last += match_tests(self._match).watermarks(self._match, side, self.seen[side][-3:])
        return _inside([instant + off for instant in [*last, *behind] for off in _NEAR])

    def _clocks(self) -> list[int]:
        """Returns clock readings: those that move a lagging watermark to such places, and idle times."""
        if self._windows is not None:
            return _inside([*self._readings(), *clocks(self._windows, self.readings[-1], self.readings[-3:])])
        return _inside(self._readings())

    def _readings(self) -> list[int]:
        now, readings = self.readings[-1], [self.readings[-1] + off for off in (1, 5, 2, 3, 0, -1)]
        for side, described in self.spec.sides.items():
            if isinstance(described.watermark, FixedLag):
                lag = described.watermark.lag.us
                readings += [
                    watermark + lag for watermark in self._watermarks(side) if watermark + lag >= now
                ]
        if self.spec.idle_after is not None:
            idle_after = self.spec.idle_after.us
            readings += [reading + idle_after + off for reading in self.readings[-3:] for off in _NEAR]
        return readings

    @cached_property
    def _windows(self) -> WindowOperator | None:
        """The windows of a window join or a cogroup, as an operator; None for other joins."""
        return parts_for_tests(self.spec).windows(self.spec)

    @property
    def _match(self) -> Any:
        """The match of a join without windows."""
        return cast(JoinOperator, self.spec).match

    def _all_seen(self) -> list[int]:
        return [time for side in SIDES for time in self.seen[side][-4:]]

    def _places_of(self, side: str) -> Callable[[], list[int]]:
        """Returns a function that gives event times for rows of a side.

        These are near 1970, equal to earlier ones, and at both ends of the match from rows of the other
        side, with their neighbours.
        """
        windows = self._windows
        if windows is not None:
            return lambda: _inside(times(windows, self._all_seen()))
        sign, other = (1, _other(side)) if side == RIGHT else (-1, _other(side))
        of_match, match = match_tests(self._match), self._match
        bounds = of_match.bounds(match)

        def places() -> list[int]:
            ends = [
                time + sign * bound + off
                for time in reversed(self.seen[other][-4:])
                for bound in bounds
                for off in _NEAR
            ]
            more = of_match.times(match, side, *(self.seen[of_side][-2:] for of_side in SIDES))
            return _inside([*self.seen[side][-1:], *more, *ends, *range(-2, 9)])

        return places


@dataclass
class _SideWriter(Writer):
    """Draws the rows of a side.

    Attributes:
        places: gives the event times to draw from.
    """

    places: Callable[[], list[int]] = field(kw_only=True)

    def times(self) -> list[int]:
        """Returns the event times to draw from."""
        return self.places()

    def rows_of_batch(self) -> list[dict[str, Any]]:
        """Draws the rows of a batch."""
        return [self._row() for _ in range(self._one_of([*range(self.max_rows + 1), 3, 4]))]

    def _cell(self, name: str) -> Any:
        """Draws a value; key columns of other names have the values of those in the samples."""
        sample = _OTHER_NAMES.get(name, name)
        if name not in self.spec.keys or sample not in KEY_VALUES or self.types[name] != COLUMN_TYPES[sample]:
            return super()._cell(name)
        values = list(KEY_VALUES[sample]) * 3
        nulls = [None] if self.spec.null_keys else []
        return self._one_of(
            [*values, *nulls, *([math.nan] if nulls and self.types[name] == "double" else [])]
        )


def _other(side: str) -> str:
    return RIGHT if side == LEFT else LEFT


def _inside(instants: list[int]) -> list[int]:
    return list(dict.fromkeys(t for t in instants if MIN_INSTANT < t <= MAX_INSTANT))
