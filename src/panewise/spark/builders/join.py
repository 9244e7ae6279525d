"""The fluent API of joins of two DataFrames (semantics 27 and following)."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from panewise.chrono import DurationLike
from panewise.errors import SpecError
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import ColumnLike, check_unset
from panewise.spark.builders.selectable_columns import SelectableColumns, SelectedLike
from panewise.spark.builders.two_sides import OF_EACH_SIDE, SidesBuilder, inputs_of_sides
from panewise.spark.builders.upstream_inputs import Source
from panewise.spark.results.sides import JoinResult
from panewise.spec import DEFAULT_TRIGGER, AnyWindow, JoinOperator, Trigger
from panewise.spec.conditions import Term, as_condition
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import SIDES, How
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.last_rows import LastRows, RowWindow
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.streams import JoinWindow, WindowedStreams


def joined(
    left: Source,
    right: Source,
    event_time: ColumnLike | tuple[ColumnLike | None, ColumnLike | None] | None = None,
) -> "JoinBuilder":
    """Begins a join of two DataFrames, both streams or both batches, or of results of other operators.

    The right side of an as-of join may be a batch DataFrame next to a stream (semantics 36.8).

    Args:
        left: the left side. A stream needs a watermark (`withWatermark`), or .watermark(...), unless its rows
            have no event time. A result is that of a join, or of windows whose panes have a `timestamp`. Its
            output watermark is then that of the side (semantics 42.5).
        right: the right side, likewise. It may be the same DataFrame as `left`.
        event_time: column of the event time, a TIMESTAMP: one name for both sides, or a pair. Default: on
            each side the column that has the watermark; "event_time" if none has one, or several have; of a
            result "join_time" or "timestamp". (None, None): rows have no event time, for matches by arrival:
            .latest(...) and .rows(...) (semantics 36.13).

    Example::

        result = (
            joined(
                orders.withWatermark("ordered", "10 minutes"),
                shipments.withWatermark("shipped", "10 minutes"),
            )
            .on("id")
            .within("-5 minutes", "1 hour")
            .how("left")
        )
        result.rows  # each order with its shipments, and orders without a shipment

    Raises:
        SpecError: if a side is no DataFrame, or `event_time` names no column or more than two.

    Source: semantics 27, 28, 36 to 41; Flink's interval join, Kafka Streams' KStream joins.
    """
    inputs, sides = inputs_of_sides("joined", "a join", left, right, event_time)
    return JoinBuilder(inputs, {}, sides=sides)


@dataclass(frozen=True)
class JoinBuilder(SidesBuilder):
    """The description of a join. Every method returns a new description; :meth:`how` ends it.

    Attributes:
        chosen: the columns that `select` names.
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset({"unmatched", "timestamp", "evaluate", *OF_EACH_SIDE})

    chosen: tuple[SelectedLike, ...] | None = None

    def within(
        self,
        lower: DurationLike | None,
        upper: DurationLike | None,
        closed: Literal["both", "left", "right", "neither"] = "both",
        *,
        retain_for: DurationLike | Literal["unlimited"] | None = None,
        retain_rows: int | None = None,
        late: Literal["output", "join"] = "output",
    ) -> Self:
        """Sets how far the event time of the right row may lie after that of the left row.

        Args:
            lower: the least difference. A negative one, such as "-5 minutes", lets the right row be the
                earlier one. None: no bound, so right rows are retained. An int is in microseconds.
            upper: the largest difference. None: no bound, so left rows are retained.
                An int is in microseconds.
            closed: the bounds that the interval includes.
            retain_for: how long a row is retained that a row of any later time could match, in event time;
                or "unlimited". Without a bound `retain_for`, `retain_rows` or both are needed.
                An int is in microseconds.
            retain_rows: how many of these rows are retained of each key: those that arrived last. A row is
                compared with all rows of its key in the same micro-batch that the interval includes,
                whatever the number.
            late: "join" joins a row behind the watermark of its side, less the allowed lateness, with the
                rows of the other side that are stored. Only a row that can have no partner is late then.

        Raises:
            SpecError: for bounds the wrong way round, an interval that includes no whole microsecond, other
                values of `closed` and `late`, `late="join"` without a bound, a missing retention, and one
                that has no effect.

        Example::

            joined(orders, prices).on("product").within(None, 0, retain_rows=100).how("left")

        Source: semantics 37, 37.1, 37.24, 37.25.
        """
        match = Interval(lower, upper, closed, retain_for=retain_for, retain_rows=retain_rows, late=late)
        return self._with(match=match)

    def as_of(
        self,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: DurationLike | None = None,
        *,
        allow_exact_matches: bool = True,
    ) -> Self:
        """Looks for one right row for each left row, by default the one in force at the time of the left row.

        A left row is emitted once the right watermark, less the allowed lateness of the right side, has
        passed it, and with "forward" and "nearest" also the tolerance after it. Without a tolerance these
        wait until their partner is known, and left rows of keys without later right rows stay in the state
        until the input ends. A left row with a null key is emitted at once. The types of such a join are
        "inner", "left", "semi" and "anti".

        If the left side is a stream, the right side may be a batch DataFrame. It is read once, when the query
        starts with a new checkpoint, and each left row is emitted at once (semantics 36.8).

        Args:
            strategy: "backward" (the latest right row that is not after the left one), "forward" (the
                earliest one that is not before it) or "nearest".
            tolerance: the largest distance of both event times, included. Default: no limit.
                An int is in microseconds.
            allow_exact_matches: whether a right row at the time of the left row matches it.

        Raises:
            SpecError: for another strategy, a negative tolerance, and a tolerance of 0 without exact matches.

        Example::

            joined(flights, weather).on("origin").as_of(tolerance="2 hours").how("left")

        Source: semantics 37.2, 37.3, 37.22, 37.23; Flink FOR SYSTEM_TIME AS OF, Polars join_asof.
        """
        return self._with(match=AsOf(strategy, tolerance, allow_exact_matches=allow_exact_matches))

    def window(
        self,
        window: AnyWindow,
        *,
        trigger: Trigger = DEFAULT_TRIGGER,
        accumulation: Literal["discarding", "accumulating", "retracting"] = "discarding",
        allowed_lateness: DurationLike | Literal["unlimited"] = 0,
        drop_by: Literal["window", "row"] = "window",
    ) -> Self:
        """Matches the rows that are in the same window. Pairs are emitted when the window fires.

        Emitted rows have the columns `window_start`, `window_end` and `timing`, and `join_time` is the last
        instant of the window.

        Args:
            window: Tumbling, Hopping, Cumulating, Calendar, Session, Custom or Global. It is made from the
                rows of both sides.
            trigger: when a window fires. Default: when the lower watermark of both sides reaches its end, and
                then for each micro-batch with late rows.
            accumulation: what a firing emits: "discarding" (what has changed since the last firing),
                "accumulating" (all that the window contains, if that has changed) or "retracting" (as
                accumulating, and what the last firing emitted is retracted first).
            allowed_lateness: how long after its end a window still accepts rows, or "unlimited".
                An int is in microseconds.
            drop_by: "window" or "row", as with `windowed(...)`.

        Raises:
            SpecError: for sliding windows and windows of rows.

        Example::

            joined(clicks, views).on("user").window(Tumbling("1 minute")).how("full")

        Source: semantics 37.10 to 37.13; Flink's window join, S4's merge operators.
        """
        match = SameWindow(
            window,
            trigger=trigger,
            accumulation=accumulation,
            allowed_lateness=allowed_lateness,
            drop_by=drop_by,
        )
        return self._with(match=match)

    def rows(
        self,
        right: int | RowWindow | None,
        left: int | RowWindow | None = None,
        order: Literal["arrival", "event_time"] = "arrival",
    ) -> Self:
        """Pairs each row that arrives with the last rows of the other side by key.

        By default a left row is paired with the last right rows that arrived before it. With `left` a right
        row that arrives is paired with what the window of left rows contains, too. The types of such a join
        are "inner", "left", "semi" and "anti".

        Args:
            right: a number of right rows, or `count(n)`, `time(d)` or `delta(column, amount)`.
            left: the same of left rows. Default: 0, so only left rows look for partners.
            order: "event_time" pairs a left row with the latest right rows that are not after it, once the
                right watermark has passed it. Then `right` is a number, and `left` is 0.

        Raises:
            SpecError: for other windows.

        Example::

            joined(trades, quotes).on("symbol").rows(3).how("left")

        Source: semantics 37.4 to 37.6; S1 "ROWS n PRECEDING", S5 Join.
        """
        return self._with(match=LastRows(right, left, order))

    def latest(
        self, ttl: DurationLike | None = None, deletes: str | tuple[str | None, str | None] | None = None
    ) -> Self:
        """Pairs each row that arrives with the newest row of its key on the other side.

        It takes the place of the row of its key on its own side. So each side is a table that changes, such
        as a stream of prices that enriches a stream of orders. Event times make no difference. The types of
        such a join are "inner", "left", "right" and "full". It needs streams.

        Args:
            ttl: how long a row can be paired after its arrival, in processing time. Default: until another
                row of its key arrives. An int is in microseconds.
            deletes: a column of both sides, or a pair with a column or None for each side. A row in which it
                is null deletes the row of its key on its side.

        Raises:
            SpecError: for a time that is not above zero.

        Example::

            joined(orders, prices).on("product").latest("1 day", deletes=(None, "price")).how("left")

        Source: semantics 37.7 to 37.9; Samza's join.
        """
        return self._with(match=Latest(ttl, deletes))

    def streams(self, left: JoinWindow | None = None, right: JoinWindow | None = None) -> Self:
        """Gives each side a window, update policies and a retention, as S1's windowed stream join does.

        A pair is emitted once: when the later one of both rows is released by the update policies of its
        side. The type of such a join is "inner". Periods need streams.

        Args:
            left: the window of the left side. Default: all rows, each released after its arrival.
            right: that of the right side. Default: likewise.

        Raises:
            SpecError: for a value that is no `JoinWindow`.

        Example::

            minutes = JoinWindow(rows(3), early="1 minute"), JoinWindow(early="1 minute")
            joined(orders, shipments).on("id").streams(*minutes).how("inner")

        Source: semantics 37.14 to 37.19; S1 case 2, windowed join.
        """
        return self._with(match=WindowedStreams(left, right))

    def where(self, condition: Any) -> Self:
        """Sets a further condition on pairs, made with `left(...)` and `right(...)`.

        Rows for which it is false or null are no partners. So an outer join emits them without a partner. A
        second call adds a condition: both must be true, as in PySpark.

        Example::

            from panewise import left, right

            joined(orders, offers).on("shop").within(0, "1 hour").where(left("amount") >= right("minimum"))

        Raises:
            SpecError: if it is no condition.

        Source: semantics 38.
        """
        further, before = as_condition(condition), self.fields.get("condition")
        together = further if before is None else as_condition(Term(before) & Term(further))
        return replace(self, fields={**self.fields, "condition": together})

    def select(self, *columns: SelectedLike) -> Self:
        """Sets the columns of the emitted rows, of "semi" and "anti" those of the left side only.

        Default: all columns of both sides; of "semi" and "anti" all columns of the left side.

        Args:
            columns: a name, if only one side has such a column, or if it is a key column of that name on both
                sides; ("left", name) or ("right", name) for a column of that side; and ("left", name,
                new name). ("either", name) is a key column that has its value from the right row where
                there is no left one. They are given one by one or as a list.
        """
        selected: Any = columns[0] if len(columns) == 1 and isinstance(columns[0], list) else columns
        check_unset("select", self.chosen, selected)
        return replace(self, chosen=tuple(selected))

    def prefix(self, left: str = "", right: str = "") -> Self:
        """Sets what begins the names of the columns of each side in emitted rows.

        A key column that has one name on both sides is emitted once, without a prefix. A prefix is refused
        with `select`, and with "semi" and "anti" on the right side. Without arguments it
        removes both prefixes.
        """
        neither = not left and not right
        return self._of_sides(prefix=(left, right) if neither else (left or None, right or None))

    def allowed_lateness(
        self,
        both: DurationLike | None = None,
        *,
        left: DurationLike | None = None,
        right: DurationLike | None = None,
    ) -> Self:
        """Sets how far a row may be behind the watermark of its side. Default: 0.

        Args:
            both: for each side that is not given.
            left: for the left side.
            right: for the right side.
        """
        return self._of_sides(
            allowed_lateness=tuple(both if lateness is None else lateness for lateness in (left, right))
        )

    def options(self, **fields: Any) -> Self:
        """Sets other fields of the specification.

        - unmatched: "final" or "early": when rows without a partner are emitted.
        - timestamp: "left", "right", "later", "earlier" or, with windows, "window": the event time of a pair.
        - evaluate: "batch" or "record".
        - null_keys and max_future_skew: a value for both sides, or a pair.

        Raises:
            SpecError: for any other name, and a tuple that is no pair.
        """
        return super().options(**fields)

    def how(self, how: How) -> JoinResult:
        """Ends the description with the type of the join, and returns the outputs.

        Args:
            how: "inner" emits each pair; "left", "right" and "full" also emit rows of that side, or of both,
                that have no partner; "semi" emits each left row that has a partner, once; "anti" each one
                that has none.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if a stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        if "match" not in self.fields:
            rule = "a join says which rows match, besides those with equal keys"
            remedy = (
                "call .within(...), .as_of(), .window(...), .rows(3), .latest() or .streams(...) "
                "before .how(...)"
            )
            raise SpecError("no match", rule, remedy)
        left, right = (Side(**self.sides[side]) for side in SIDES)
        columns = SelectableColumns(self.inputs, self.sides, how)
        select = None if self.chosen is None else [columns.selected(wanted) for wanted in self.chosen]
        spec = JoinOperator(left=left, right=right, how=how, select=select, **self.fields)
        return apply(self.inputs, spec, **self._apply_options)
