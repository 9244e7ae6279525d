"""Hypothesis strategies of OVER operators, and of events for them (semantics 29)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from panewise import functions as F
from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.spec import FixedLag, Frame, Inputs, OverColumn, OverOperator, Position, StreamTime
from panewise.spec.frames import EXCLUSIONS
from panewise.testing.aggregates import aggregates
from panewise.testing.event_strategies import Writer, moved_by_rows
from panewise.testing.samples import MEASURES, types_of, with_types

__all__ = ["frame_events", "frame_specs", "frames"]


def frames(*, timed: bool, ordered: bool, backwards: bool = False) -> st.SearchStrategy[Frame]:
    """Returns a strategy of ROWS frames and of the RANGE frames that are allowed (semantics 29.5, 29.15).

    Args:
        timed: whether the operator has an event time; otherwise there are no ranges.
        ordered: whether it has order columns; then the only range is from the first row to the last peer.
        backwards: whether the event time is descending; then bounds exchange their places.
    """
    starts, lengths = st.sampled_from([None, None, -1, -2, -2, -3, -7, 0, 1, 2]), st.integers(0, 4)
    kinds = [st.tuples(starts, lengths).map(lambda it: _frame("rows", *it))]
    if timed:
        kinds.append(st.just(Frame("range", None, 0)))
    if timed and not ordered:
        kinds += [st.tuples(starts, lengths).map(lambda it: _frame("range", *it))] * 2
    exclusions = EXCLUSIONS if timed else EXCLUSIONS[:2]
    excluded = st.sampled_from([*["no others"] * 6, *exclusions])
    forwards = st.tuples(st.one_of(kinds), excluded).map(lambda it: replace(it[0], exclude=it[1]))
    return forwards.map(_mirrored) if backwards else forwards


def _mirrored(frame: Frame) -> Frame:
    """Returns the frame with the rows before and after the row exchanged."""
    start, end = (None if bound is None else -bound for bound in (frame.end, frame.start))
    return replace(frame, start=start, end=end)


def _frame(kind: Any, start: int | None, length: int) -> Frame:
    """Returns a frame of about this length from `start` on; many frames end at the row itself."""
    if start is None:
        return Frame(kind, None, length - 2 if kind == "rows" else max(0, length - 2))
    return Frame(kind, start, 0 if length > 2 and start <= 0 else start + length)


# Watermarks of operators that emit rows.
WATERMARKS: Final = [
    FixedLag(0),
    FixedLag(3),
    Inputs(["a", "b"], idle_after=4),
    Inputs(["a", "b"], idle_after=4, column="input", delay=1),
    StreamTime(2, per="all"),
    StreamTime(2, per="all", idle_after=4),
]

_POSITIONS = [None, None, Position(), Position(source="source"), Position(ordered=False, remember=2)]


@st.composite
def frame_specs(draw: st.DrawFn, /, **fixed: Any) -> OverOperator:
    """Draws OVER operators; each field that is not `fixed` takes every kind of its values."""
    timed = fixed.get("event_time", draw(st.sampled_from(["event_time", "t", None]))) or None
    ordered = draw(st.sampled_from([(), (), ("order",), ("order", "v")]))
    position = None if ordered else draw(st.sampled_from(_POSITIONS))
    ordered, position = fixed.get("order", ordered), fixed.get("position", position)
    directions = draw(_directions(timed, tuple(ordered)))
    backwards = timed is not None and timed in directions["descending"]
    column = _columns(timed=timed is not None, ordered=bool(ordered), backwards=backwards)
    columns = draw(st.lists(column, min_size=0 if timed else 1, max_size=4))
    fields: dict[str, Any] = {
        "keys": draw(st.sampled_from([["key"], ["key"], [], ["level"], ["shop", "level"]])),
        "null_keys": draw(st.booleans()),
        "max_future_skew": draw(st.sampled_from([None, None, None, 3, 20])) if timed else None,
        "watermark": draw(st.sampled_from([None] * 6 + WATERMARKS)) if timed else None,
        "event_time": timed,
        "order": ordered,
        **directions,
        "position": position,
        "columns": [OverColumn(column.what.alias(f"a{n}"), column.frame) for n, column in enumerate(columns)],
    }
    return OverOperator(**{**fields, **fixed})


@st.composite
def _directions(draw: st.DrawFn, /, timed: str | None, order: tuple[str, ...]) -> dict[str, Any]:
    """Draws the directions of the order: often all are ascending with nulls first."""
    if timed is None or draw(st.booleans()):
        return {"descending": ()}
    columns = st.lists(st.sampled_from(order), unique=True) if order else st.just([])
    descending = [*([timed] if draw(st.booleans()) else []), *draw(columns)]
    return {"descending": descending, "nulls_last": draw(st.one_of(st.none(), columns))}


@st.composite
def _columns(draw: st.DrawFn, /, *, timed: bool, ordered: bool, backwards: bool) -> OverColumn:
    kind = draw(st.sampled_from(["aggregate", "aggregate", "aggregate", "function", "nth"]))
    frame = frames(timed=timed, ordered=ordered, backwards=backwards)
    if kind == "aggregate":
        return OverColumn(draw(aggregates())[0], draw(frame))
    name = draw(st.sampled_from(list(MEASURES)))
    if kind == "nth":
        return OverColumn(F.nth_value(name, draw(st.integers(1, 4)), draw(st.booleans())), draw(frame))
    defaults: dict[str, bool | int | str] = {
        "v": 7,
        "n": -1,
        "s": "none",
        "flag": True,
        "price": 1,
        "amount": 2,
    }
    default = draw(st.sampled_from([None, defaults[name]]))
    ignore = draw(st.sampled_from([False, False, True]))
    shifts = [fn(name, n, default, ignore) for fn in (F.lag, F.lag, F.lead) for n in (0, 1, 1, 2, 3)]
    numberings = [F.row_number()] * 5 + ([F.rank(), F.dense_rank()] * 3 if timed else [])
    return OverColumn(draw(st.sampled_from([*shifts, *([] if backwards else numberings)])))


@st.composite
def frame_events(
    draw: st.DrawFn,
    /,
    spec: OverOperator,
    max_events: int = 9,
    max_rows: int = 6,
    types: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Draws events for an operator, as :func:`panewise.testing.run` takes them.

    Args:
        spec: the operator.
        max_events: the most events, without the end of input.
        max_rows: the most rows of a batch.
        types: the types of columns that differ from those of :func:`types_of`.
    """
    return row_script(_FrameWriter(draw, spec, with_types(types_of(spec), types), max_rows), max_events)


def row_script(writer: "RowWriter", max_events: int) -> list[dict[str, Any]]:
    """Draws events of an operator that emits rows of its input."""
    draw = writer.draw
    chosen = draw(
        st.lists(
            st.sampled_from(["add"] * 5 + ["watermark"] * 4 + ["clock", "restart"]),
            min_size=1,
            max_size=max_events,
        )
    )
    script = [writer.event(op) for op in chosen]
    then = "clock" if moved_by_rows(writer.spec) else "watermark"
    after_finish = [{"op": "finish"}, *([writer.event(then)] if draw(st.booleans()) else [])]
    return script + (after_finish if draw(st.sampled_from([True, True, False])) else [])


class RowWriter(Writer):
    """Draws events near the times of earlier rows, and as far from them as the operator compares rows."""

    def reaches(self) -> list[int]:
        """Returns lengths that matter to the operator."""
        return [0, 1]

    def times(self) -> list[int]:
        """Returns event times near 1970, and about so far from earlier rows."""
        near = [
            t + sign * reach + off
            for t in self.seen[-4:]
            for reach in self.reaches()
            for sign in (1, -1)
            for off in (0, 1, -1)
        ]
        return _inside([*sorted(set(near), key=abs)[:20], *range(-3, 9)])

    def watermarks(self) -> list[int]:
        """Returns watermarks about so far behind rows seen before."""
        return _inside(
            [
                t + reach + off
                for t in [*self.seen[-5:], 0]
                for reach in self.reaches()
                for off in (0, 1, 2, -1)
            ]
        )

    def clocks(self) -> list[int]:
        """Returns later clock readings; with `FixedLag`, those that move the watermark to such places."""
        lag = self.spec.watermark.lag.us if isinstance(self.spec.watermark, FixedLag) else 0
        return [
            at
            for at in _inside([watermark + lag for watermark in self.watermarks()])
            if at >= self.readings[-1]
        ] + [self.readings[-1] + 5]


class _FrameWriter(RowWriter):
    """Draws events near the ends of frames, at which rows pass (semantics 29.2)."""

    spec: OverOperator

    def reaches(self) -> list[int]:
        ends = {0, 1, self.spec.us_ahead, self.spec.us_ahead + 1}
        for column in self.spec.columns:
            if column.frame is not None and column.frame.kind == "range":
                ends |= {-(column.frame.start or 0), column.frame.end or 0}
        return sorted(ends)


def _inside(instants: list[int]) -> list[int]:
    return [t for t in instants if MIN_INSTANT < t <= MAX_INSTANT]
