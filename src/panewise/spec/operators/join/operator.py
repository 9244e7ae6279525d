"""The specification of a join (semantics 27 and following). Values only."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, get_args

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import JOIN, Family
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.conditions import Node, as_condition, columns_of_side
from panewise.spec.fields import set_fields, several
from panewise.spec.operators.join.checks import (
    check_event_times,
    check_keys,
    check_sides,
    check_watermarks,
    has_event_times,
)
from panewise.spec.operators.join.columns import (
    EITHER,
    HOWS,
    JOIN_TIME,
    LEFT,
    MISSING,
    ONE_SIDED,
    RIGHT,
    How,
    Selected,
    all_columns,
    check_different,
)
from panewise.spec.operators.join.match import Match
from panewise.spec.operators.join.match_parts import match_parts
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.side_entry import SideEntry, TwoSided
from panewise.spec.operators.panes import OP
from panewise.spec.operators.windowed_join import WindowedJoin
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.watermarks import StreamTime
from panewise.spec.windows.kinds import AnyWindow, positive

_CHOICES: Final = {
    "unmatched": ("final", "early"),
    "timestamp": ("left", "right", "later", "earlier", "window"),
    "evaluate": ("batch", "record"),
}


@dataclass(frozen=True, kw_only=True)
class JoinOperator(TwoSided):
    """A join of two inputs: it emits pairs of rows that match, and rows without a partner.

    Args:
        left: the left side.
        right: the right side, with as many keys as the left one.
        match: which rows match, besides equal keys: Interval, AsOf, SameWindow, LastRows, Latest or
            WindowedStreams.
        how: "inner", "left", "right", "full", "semi" or "anti". Default: "inner".
        condition: a further condition on pairs, made with `left(...)` and `right(...)`. Default: none.
        select: the columns of the emitted rows. Default: all columns of both sides; of the left side for
            "semi" and "anti".
        unmatched: when rows without a partner are emitted: "final" (once no partner can come) or "early" (at
            once, and retracted if a partner comes). Default: "final"; None for "inner" and "semi".
        timestamp: the event time of a pair: that of the "left" or the "right" row, or the "later" or
            "earlier" one, or with SameWindow the last instant of the "window". Default: "window" if the match
            is SameWindow with windows that end, else "later"; None for "semi" and "anti", and without event
            times.
        evaluate: "batch" or "record": whether the watermarks that rows drive move after each batch or after
            each row. Default: "batch".
        watermark: StreamTime(per="all") for one watermark of both sides, as in a task of Kafka Streams.
            Default: each side has its own.
        idle_after: a length of processing time after which a silent side does not delay the other side.
            Default: none. An int is in microseconds.

    Raises:
        SpecError: if a value breaks a rule, or has no effect; the message says which.

    >>> from panewise import Interval
    >>> spec = JoinOperator(left=Side(keys=["id"], event_time="ordered"),
    ...     right=Side(keys=["id"], event_time="shipped"), match=Interval(0, "1 hour"), how="left")
    >>> spec.unmatched, spec.timestamp, spec.keys
    ('final', 'later', ('id',))

    Source: semantics 27, 28, 36 to 41; S1 case 2, Flink's interval join, Kafka Streams' KStream joins.
    """

    family: ClassVar[Family] = JOIN

    left: Side
    right: Side
    match: Match
    how: How = "inner"
    condition: Node | None = None
    select: tuple[Selected, ...] | None = None
    unmatched: Literal["final", "early"] | None = None
    timestamp: Literal["left", "right", "later", "earlier", "window"] | None = None
    evaluate: Literal["batch", "record"] = "batch"
    watermark: StreamTime | None = None
    idle_after: Duration | None = None

    def __init__(
        self,
        *,
        left: Side,
        right: Side,
        match: Match,
        how: How = "inner",
        condition: Any = None,
        select: Iterable[Selected] | None = None,
        unmatched: Literal["final", "early"] | None = None,
        timestamp: Literal["left", "right", "later", "earlier", "window"] | None = None,
        evaluate: Literal["batch", "record"] = "batch",
        watermark: StreamTime | None = None,
        idle_after: DurationLike | None = None,
    ) -> None:
        values = dict(locals())
        del values["self"]
        check_choice("how", how, HOWS)
        values["condition"] = None if condition is None else as_condition(condition)
        values["select"] = None if select is None else several("select", select)
        values["idle_after"] = None if idle_after is None else positive(idle_after, "idle_after")
        values["unmatched"] = "final" if unmatched is None and _emits_unmatched(how) else unmatched
        if timestamp is None and how not in ONE_SIDED and has_event_times(left, right):
            ends = isinstance(match, Match) and match_parts(match).windows_end(match)
            values["timestamp"] = "window" if ends else "later"
        set_fields(self, **values)
        _check_kinds(self)
        _check_type(self)
        match_parts(match).check(self, match)
        _check_timestamp(self)
        _check_effects(self)
        check_event_times(self)
        check_keys(self)
        check_watermarks(self)
        _check_selected(self)

    @cached_property
    def _ports(self) -> dict[str, SideEntry]:
        return {name: self._port(name, side) for name, side in self.sides.items()}

    def _port(self, name: str, side: Side) -> SideEntry:
        parts, match = match_parts(self.match), self.match
        compared = parts.compared(match, name)
        more = () if self.condition is None else columns_of_side(self.condition, name)
        more = (*more, *compared, *parts.columns_read(match, name))
        emitted = name in self.emitted_sides
        if emitted and self.select is not None:
            more = (*more, *(column.column for column in self.select if column.side == name))
        whole = emitted and self.select is None
        return self._entry(side, more, window=parts.window(match), compared=compared, whole_rows=whole)

    @property
    def emitted_sides(self) -> tuple[str, ...]:
        """The sides whose columns emitted rows can have."""
        return (LEFT,) if self.how in ONE_SIDED else (LEFT, RIGHT)

    @property
    def outer_sides(self) -> tuple[str, ...]:
        """The sides whose rows are emitted if they have no partner."""
        both = {"left": (LEFT,), "right": (RIGHT,), "full": (LEFT, RIGHT), "anti": (LEFT,)}
        return both.get(self.how, ())

    @property
    def emits_again(self) -> str | None:
        """The field because of which rows are retracted or emitted again; None if each is emitted once."""
        if self.unmatched == "early":
            return "unmatched='early'"
        return match_parts(self.match).emits_again(self.match)

    @cached_property
    def added_columns(self) -> tuple[str, ...]:
        """The columns that the join adds to emitted rows."""
        missing = () if self.how in ONE_SIDED else (MISSING,)
        time = (JOIN_TIME,) if self.has_event_times else ()
        return (OP, *missing, *self.window_columns, *time)

    @cached_property
    def has_event_times(self) -> bool:
        """Whether rows have event times (semantics 36.13)."""
        return has_event_times(self.left, self.right)

    @cached_property
    def window_columns(self) -> tuple[str, ...]:
        """The columns of an emitted row that name its window, and the firing that emitted it."""
        return match_parts(self.match).window_columns(self.match)

    def selected(self, columns: Mapping[str, Iterable[str]]) -> tuple[Selected, ...]:
        """Returns the columns of emitted rows for inputs with these columns, given by side.

        Raises:
            SpecError: if two of them have one name.
        """
        selected = self.select
        if selected is None:
            selected = all_columns(self.sides, {side: columns[side] for side in self.emitted_sides})
        check_different(selected, self.added_columns)
        return selected

    def then(
        self, *, window: AnyWindow, aggregates: Iterable[Aggregate], keys: Iterable[str] = (), **options: Any
    ) -> WindowedJoin:
        """Returns this join with windows over the rows that it emits, in one operator (semantics 42).

        Args:
            window: the windows, by the event time `join_time`.
            aggregates: the aggregates of a pane. They read columns of the emitted rows.
            keys: the keys of the windows: columns that have the values of keys of the join in every row.
            options: further fields of WindowOperator, such as `trigger` and `accumulation`.

        Raises:
            SpecError: if a value breaks a rule, or the join emits retractions.

        Example::

            daily = join.then(keys=["shop"], window=Tumbling("1 day"), aggregates=[F.count().alias("pairs")])
        """
        fields = {"event_time": JOIN_TIME, "window": window, "aggregates": aggregates, "keys": keys}
        return WindowedJoin(self, WindowOperator(**{**fields, **options}))


def _emits_unmatched(how: How) -> bool:
    return how not in ("inner", "semi")


def _check_kinds(spec: JoinOperator) -> None:
    check_sides(spec)
    match: Any = spec.match
    if not isinstance(match, Match):
        names = [kind.__name__ for kind in get_args(Match)]
        rule = f"the classes of matches are {', '.join(names)}"
        raise SpecError(f"match={match!r}", rule, "give one such as Interval('-5 minutes', '1 hour')")
    for name, choices in _CHOICES.items():
        value = getattr(spec, name)
        if value is not None or name not in ("unmatched", "timestamp"):
            check_choice(name, value, choices)


def _check_type(spec: JoinOperator) -> None:
    """Refuses the types that the match does not have (semantics 27.2)."""
    parts = match_parts(spec.match)
    if spec.how not in parts.hows:
        remedy = f"{parts.how_remedy}, or use an Interval"
        raise SpecError(f"how={spec.how!r}, {spec.match!r}", parts.how_rule, remedy)


def _check_timestamp(spec: JoinOperator) -> None:
    if spec.timestamp == "window" and not match_parts(spec.match).windows_end(spec.match):
        rule = "the time of a window is the last instant of a SameWindow that ends"
        raise SpecError(f"timestamp='window', {spec.match!r}", rule, "give 'later', or leave it out")


def _check_effects(spec: JoinOperator) -> None:
    """Refuses fields that would have no effect."""
    if spec.unmatched is not None and not _emits_unmatched(spec.how):
        rule = f"a join with how={spec.how!r} emits no row without a partner"
        raise SpecError(f"unmatched={spec.unmatched!r}, how={spec.how!r}", rule, "leave unmatched out")
    if spec.timestamp is not None and spec.how in ONE_SIDED:
        rule = f"a join with how={spec.how!r} emits left rows, with their event time"
        raise SpecError(f"timestamp={spec.timestamp!r}, how={spec.how!r}", rule, "leave timestamp out")
    for name, side in spec.sides.items():
        if side.prefix and (spec.select is not None or name not in spec.emitted_sides):
            rule = "a prefix is for the columns that are emitted without select"
            raise SpecError(f"prefix={side.prefix!r} on the {name}", rule, "leave the prefix out")


def _check_selected(spec: JoinOperator) -> None:
    if spec.select is None:
        return
    if not spec.select:
        rule = "emitted rows have at least one column"
        raise SpecError("select=[]", rule, "select one, or leave select out")
    for selected in spec.select:
        column: Any = selected
        if not isinstance(column, Selected):
            raise SpecError(f"select=[{column!r}]", "a column is a Selected", "give Selected('left', 'v')")
        if column.side == RIGHT and RIGHT not in spec.emitted_sides:
            rule = f"a join with how={spec.how!r} emits left rows only"
            raise SpecError(f"select=[{column!r}]", rule, "select columns of the left side")
        if column.side == EITHER and column.column not in spec.left.keys:
            rule = f"'either' is for the key columns of the left side, {list(spec.left.keys)}"
            raise SpecError(f"select=[{column!r}]", rule, "name one of these, or give 'left' or 'right'")
    check_different(spec.select, spec.added_columns)
