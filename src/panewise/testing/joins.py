"""Hypothesis strategies of joins, and of events for them (semantics 27, 28, 36 to 41)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.spec import FixedLag, Position, StreamTime
from panewise.spec.conditions import left, right
from panewise.spec.operators.join.columns import LEFT, RIGHT, Selected
from panewise.spec.operators.join.match import CLOSED, STRATEGIES, AsOf, Interval, Match
from panewise.spec.operators.join.operator import HOWS, ONE_SIDED, JoinOperator
from panewise.spec.operators.join.side import Side
from panewise.testing.samples import COLUMN_TYPES, KEY_VALUES
from panewise.testing.scripts import Writer

__all__ = ["as_ofs", "intervals", "join_events", "join_specs", "join_types"]

SIDES: Final = (LEFT, RIGHT)
# Names that key columns have on the right side, each with the name of its values in the samples.
_OTHER_NAMES: Final = {"id": "key", "height": "level", "place": "shop"}
_KEYS: Final[tuple[tuple[list[str], list[str]], ...]] = (
    (["key"], ["key"]),
    (["key"], ["key"]),
    (["key"], ["id"]),
    (["level"], ["level"]),
    (["level"], ["height"]),
    (["shop"], ["shop"]),
    (["shop", "level"], ["shop", "level"]),
    (["key", "level"], ["id", "level"]),
    (["shop", "key"], ["place", "id"]),
    ([], []),
)
_VALUES: Final = {LEFT: ("v", "n", "note"), RIGHT: ("v", "s", "note")}
# Conditions that are null, false and true for pairs of the samples, of one side and of both.
CONDITIONS: Final = (
    left("v") <= right("v"),
    (left("n") + 1 != right("note")) | right("s").is_null(),
    ~(left("v").is_null()) & (left("n") * 2 - right("note") > 0),
    right("s").is_in(["a", "b"]),
    left("v").between(right("v"), 2.0),
)
_NEAR: Final = (0, 1, -1)
AS_OF_HOWS: Final = ("inner", "left", "semi", "anti")  # the types that AsOf has (semantics 27.2)


def intervals() -> st.SearchStrategy[Interval]:
    """Returns a strategy of intervals: bounds of both signs, equal ones, and each form of `closed`."""
    lengths = st.sampled_from([0, 0, 1, 2, 3, 7])
    made = st.tuples(st.integers(-6, 6), lengths, st.sampled_from(CLOSED))
    return made.map(lambda it: _interval(*it))


def _interval(lower: int, length: int, closed: Any) -> Interval:
    """Returns an interval; one that would include nothing includes both bounds."""
    empty = length < {"both": 0, "left": 1, "right": 1, "neither": 2}[closed]
    return Interval(lower, lower + length, "both" if empty else closed)


def as_ofs() -> st.SearchStrategy[AsOf]:
    """Returns a strategy of as-of matches: each strategy with and without a tolerance, as far as allowed."""
    made = st.tuples(st.sampled_from(STRATEGIES), st.sampled_from([None, 0, 1, 2, 3, 7]))
    return made.map(lambda it: _as_of(*it))


def _as_of(strategy: Any, tolerance: int | None) -> AsOf:
    """Returns an as-of match; one that needs a tolerance has it."""
    needs = tolerance is None and strategy != "backward"
    return AsOf(strategy, 4 if needs else tolerance)


@st.composite
def join_specs(draw: st.DrawFn, /, **fixed: Any) -> JoinOperator:
    """Draws joins; each field that is not `fixed` takes every kind of its values that the others allow."""
    kind, how, unmatched, timestamp = draw(st.sampled_from(_cells(fixed)))
    match = fixed.get("match", draw(_of_kind(kind, fixed)))
    fields: dict[str, Any] = {
        "how": how,
        "match": match,
        "unmatched": unmatched,
        "timestamp": timestamp,
        "evaluate": draw(st.sampled_from(["batch", "batch", "record"])),
        **draw(_watermarks()),
    }
    one, other = draw(_sides(fields.pop("marks")))
    if draw(st.booleans()):
        fields["select"] = draw(_selections(one, other, how))
    elif how not in ONE_SIDED:
        one, other = draw(st.sampled_from([(one, replace(other, prefix="r_"))] * 2 + [_prefixed(one, other)]))
    elif draw(st.booleans()):
        one = replace(one, prefix="l_")
    if _takes_condition(match):
        fields["condition"] = draw(st.none() | st.sampled_from(CONDITIONS))
    return JoinOperator(**{"left": one, "right": other, **fields, **fixed})


def _cells(fixed: dict[str, Any]) -> list[tuple[type[Match], str, str | None, str | None]]:
    """Returns the kinds of a match, `how`, `unmatched` and `timestamp` that exist (semantics 27.2, 37.3)."""
    found: list[tuple[type[Match], str, str | None, str | None]] = []
    for kind, how in [(Interval, how) for how in HOWS] + [(AsOf, how) for how in AS_OF_HOWS]:
        early = ("final", "early") if kind is Interval else ("final",)
        for unmatched in early if how not in ("inner", "semi") else (None,):
            timestamps = (None,) * 3 if how in ONE_SIDED else ("left", "right", "later", "earlier")
            found += [(kind, how, unmatched, timestamp) for timestamp in timestamps]
    given = fixed.get("match")
    of_fields = ("how", "unmatched", "timestamp")
    return [
        cell
        for cell in found
        if (given is None or isinstance(given, cell[0]))
        and all(fixed.get(name, value) == value for name, value in zip(of_fields, cell[1:], strict=True))
    ]


def _of_kind(kind: type[Match], fixed: dict[str, Any]) -> st.SearchStrategy[Match]:
    """Returns a strategy of the matches of a kind that are allowed with these fields."""
    made: st.SearchStrategy[Match] = intervals() if kind is Interval else as_ofs()
    return made if fixed.get("condition") is None else made.filter(_takes_condition)


def _takes_condition(match: Match) -> bool:
    return isinstance(match, Interval) or match.tolerance is not None


def _prefixed(left: Side, right: Side) -> tuple[Side, Side]:
    return replace(left, prefix="l_"), replace(right, prefix="r_")


@st.composite
def _watermarks(draw: st.DrawFn, /) -> dict[str, Any]:
    """Draws where the watermarks come from: of both sides together, or of each side, as `marks`."""
    kind = draw(st.sampled_from(["outside", "outside", "rows", "rows", "both", "lag", "mixed"]))
    delayed = st.sampled_from([0, 0, 2, 5]).map(lambda delay: StreamTime(delay, per="all"))
    lags = st.sampled_from([0, 3, 10]).map(FixedLag)
    if kind == "both":
        return {"watermark": draw(delayed), "marks": (None, None)}
    of_kind: dict[str, Any] = {"outside": st.none(), "rows": delayed}
    one = of_kind.get(kind, st.one_of(lags, st.none(), *([delayed] if kind == "mixed" else [])))
    marks = (draw(one), draw(one))
    lagging = any(isinstance(mark, FixedLag) for mark in marks)
    return {"marks": marks, "idle_after": None if lagging else draw(st.sampled_from([None, None, 4]))}


@st.composite
def _sides(draw: st.DrawFn, /, marks: tuple[Any, Any]) -> tuple[Side, Side]:
    """Draws the two sides, with these watermarks."""
    keys = draw(st.sampled_from(_KEYS))
    order = draw(st.sampled_from(["none", "none", "both", "one", "longer", "positions"]))
    made = []
    for number in range(2):
        declares = order in ("both", "longer") or (order == "one" and number == 0)
        columns = ["order", "v"] if order == "longer" and number == 1 else ["order"]
        positions = [None, Position(), Position(source="source"), Position(ordered=False, remember=2)]
        side = Side(
            keys=keys[number],
            event_time=draw(st.sampled_from(["event_time", "t"])),
            order=columns if declares else [],
            position=draw(st.sampled_from(positions)) if order == "positions" else None,
            null_keys=draw(st.sampled_from([True, True, False])) if keys[0] else True,
            max_future_skew=draw(st.sampled_from([None, None, None, None, 3, 20])),
            watermark=marks[number],
            allowed_lateness=draw(st.sampled_from([0, 0, 1, 5])),
        )
        made.append(side)
    return made[0], made[1]


@st.composite
def _selections(draw: st.DrawFn, /, left: Side, right: Side, how: str) -> list[Selected]:
    """Draws the columns to emit: keys as "either" and of both sides, event times and values."""
    columns = [Selected("left", name) for name in (*left.keys, left.event_time, *_VALUES[LEFT])]
    if how not in ONE_SIDED:
        columns += [Selected("right", name) for name in (*right.keys, right.event_time, *_VALUES[RIGHT])]
    either: list[Selected] = [Selected("either", name) for name in left.keys]
    chosen = draw(st.lists(st.sampled_from([*columns, *either, *either]), min_size=1, max_size=5))
    return [replace(one, name=f"c{number}") for number, one in enumerate(chosen)]


def join_types(spec: JoinOperator) -> dict[str, dict[str, str]]:
    """Returns the types of the columns of each side, as :func:`panewise.testing.run` takes them.

    >>> join_types(JoinOperator(left=Side(keys=["key"]), right=Side(keys=["id"], prefix="r_"),
    ...     match=Interval(0, 5)))["right"]
    {'id': 'string', 'event_time': 'bigint', 'v': 'double', 's': 'string', 'note': 'bigint'}
    """
    return {
        side: {
            name: COLUMN_TYPES.get(_OTHER_NAMES.get(name, name), "bigint")
            for name in dict.fromkeys((*entry.columns_read, *_VALUES[side]))
        }
        for side, entry in spec.ports.items()
    }


@st.composite
def join_events(
    draw: st.DrawFn, /, spec: JoinOperator, max_events: int = 10, max_rows: int = 5
) -> list[dict[str, Any]]:
    """Draws events for a join, as :func:`panewise.testing.run` takes them.

    The types of columns are those of :func:`join_types`. Often the inputs end, at times one before the other.
    """
    writer = _JoinWriter(draw, spec, max_rows)
    ops = ["add"] * 6 + ["watermark"] * 5 + ["clock"] * 2 + ["restart"]
    chosen = draw(st.lists(st.sampled_from(ops), min_size=2, max_size=max_events))
    of_one_side = draw(st.sampled_from([[], [], [], ["finish", "add", "watermark", "add"]]))
    script = [writer.event(op) for op in ("add", *chosen, *of_one_side)]
    return script + ([{"op": "finish"}] if draw(st.sampled_from([True, True, False])) else [])


@dataclass
class _JoinWriter:
    """Draws events one after the other, near the times of earlier rows of both sides.

    Attributes:
        draw: Hypothesis's draw.
        spec: the join.
        max_rows: the most rows of a side in a batch.
        seen: the event times drawn so far, by side.
        readings: the processing time after each clock reading.
        ended: the sides whose input has ended.
    """

    draw: st.DrawFn
    spec: JoinOperator
    max_rows: int
    seen: dict[str, list[int]] = field(default_factory=lambda: {side: [] for side in SIDES})
    readings: list[int] = field(default_factory=lambda: [0])
    ended: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        types = join_types(self.spec)
        self.writers = {
            side: _SideWriter(
                self.draw,
                entry,
                {name: kind for name, kind in types[side].items() if name != "note"},
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
        return {"op": "add", "side": side, "rows": self._rows(side)}

    def _rows(self, side: str) -> list[dict[str, Any]]:
        return self.writers[side].rows_of_batch()

    def _finish(self) -> dict[str, Any]:
        """Draws the end of one input."""
        side = self._one_of(SIDES)
        self.ended.add(side)
        return {"op": "finish", "side": side}

    def _open_to_watermarks(self) -> list[str]:
        """Returns the sides that take watermarks from outside."""
        return [
            side for side, entry in self.spec.ports.items() if not isinstance(entry.watermark, StreamTime)
        ]

    def _watermark(self) -> dict[str, Any]:
        sides: list[Any] = self._open_to_watermarks()
        side = self._one_of([*sides, None] if len(sides) == len(SIDES) else sides)
        named = {} if side is None else {"side": side}
        return {"op": "watermark", "to": self._one_of(self._marks(side or self._one_of(SIDES))), **named}

    def _marks(self, side: str) -> list[int]:
        """Returns watermarks of a side, with their neighbours.

        Some end the wait of rows of the other side, others make times of rows of this side late.
        """
        other, lateness = _other(side), self.spec.sides[side].allowed_lateness.us
        reach = _reach(self.spec.match, other)
        last = [time + reach + lateness + 1 for time in self.seen[other][-4:] or [0]]
        behind = [time + lateness for time in self.seen[side][-3:] or [0]]
        return _inside([one + off for one in [*last, *behind] for off in _NEAR])

    def _clocks(self) -> list[int]:
        """Returns clock readings: those that move a lagging watermark to such places, and idle times."""
        now, found = self.readings[-1], [self.readings[-1] + off for off in (1, 5, 0, -1)]
        for side, one in self.spec.sides.items():
            if isinstance(one.watermark, FixedLag):
                lag = one.watermark.lag.us
                found += [mark + lag for mark in self._marks(side) if mark + lag >= now]
        if self.spec.idle_after is not None:
            wait = self.spec.idle_after.us
            found += [reading + wait + off for reading in self.readings[-3:] for off in _NEAR]
        return _inside(found)

    def _places_of(self, side: str) -> Callable[[], list[int]]:
        """Returns a function that gives event times for rows of a side.

        These are near 1970, equal to earlier ones, and at both ends of the match from rows of the other
        side, with their neighbours.
        """
        sign, other = (1, _other(side)) if side == RIGHT else (-1, _other(side))
        bounds = _bounds(self.spec.match)

        def places() -> list[int]:
            ends = [
                time + sign * bound + off
                for time in reversed(self.seen[other][-4:])
                for bound in bounds
                for off in _NEAR
            ]
            return _inside([*self.seen[side][-1:], *ends, *range(-2, 9)])

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
        if name not in self.spec.keys:
            return super()._cell(name)
        values = list(KEY_VALUES[_OTHER_NAMES.get(name, name)]) * 3
        nulls = [None] if self.spec.null_keys else []
        return self._one_of(
            [*values, *nulls, *([math.nan] if nulls and self.types[name] == "double" else [])]
        )


def _other(side: str) -> str:
    return RIGHT if side == LEFT else LEFT


def _inside(instants: list[int]) -> list[int]:
    return list(dict.fromkeys(t for t in instants if MIN_INSTANT < t <= MAX_INSTANT))


def _bounds(match: Match) -> tuple[int, ...]:
    """Returns the differences, right less left, at which a match begins and ends."""
    if isinstance(match, Interval):
        return match.first, match.last
    far = 0 if match.tolerance is None else match.tolerance.us
    return {"backward": (-far, 0), "forward": (0, far), "nearest": (-far, far)}[match.strategy]


def _reach(match: Match, side: str) -> int:
    """Returns how far the last match of a row of this side lies after it; without a tolerance 0."""
    if isinstance(match, AsOf) and match.tolerance is None:
        return 0
    return match.reach[0 if side == LEFT else 1]
