"""The match that a join says: a range of time, an order of time, or the last rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from sqlglot import exp

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.spec import AsOf, Interval, LastRows, Latest
from panewise.spec.operators.join.match import Match
from panewise.spec.windows.size_in_rows import MOST_ROWS
from panewise.sql.expressions.function_calls import NOW, function_name
from panewise.sql.joins.comparisons import Compared, Conditions
from panewise.sql.joins.kinds import is_as_of, system_time
from panewise.sql.joins.side_columns import SideColumns
from panewise.sql.joins.stream_matches import stream_match, stream_windows, updated_match
from panewise.sql.joins.update_policies import UpdateSyntax
from panewise.sql.parsing.syntax import HOWS, CqlWindow, Expr, Join, JoinedRows

T = TypeVar("T")
_CLOSED: Final[Mapping[tuple[bool, bool], Literal["both", "left", "right", "neither"]]] = {
    (False, False): "both",
    (True, False): "right",
    (False, True): "left",
    (True, True): "neither",
}


@dataclass(frozen=True)
class TimedMatch:
    """A match, and the columns of the event times; None for those of the watermarks.

    `one_sided` says that a part of ON over one side selects rows, as it cannot be a condition of the join.
    """

    match: Match
    times: tuple[str | None, str | None]
    one_sided: bool = False


class MatchReader:
    """Reads the match of a join.

    Args:
        join: the join.
        columns: the columns of its sides.
        conditions: the parts of its ON. Comparisons that are none of event times become the rest.
        update: the update policy of `OVER (...)`, None if rows are joined when they arrive.
    """

    def __init__(
        self, join: Join, columns: SideColumns, conditions: Conditions, update: UpdateSyntax | None = None
    ) -> None:
        self.join, self.columns, self.conditions, self.update = join, columns, conditions, update
        self.own = (columns.sides[0].time, columns.sides[1].time)

    def read(self) -> TimedMatch:
        """Returns the match.

        Raises:
            SqlError: if the join says none, or breaks a rule.
        """
        system = system_time(self.join)
        windows = stream_windows(self.join)
        if any(clause is not None for clause in (system, self.join.last, self.join.within, windows)):
            self.conditions.add_rest(node for _, node in self.conditions.compared)
        if system is not None:
            return self._version(system)
        if windows is not None:
            return self._of_streams(*windows)
        if self.join.last is not None:
            return self._last(self.join.last)
        if self.join.within is not None:
            lower, upper = self.join.within
            return TimedMatch(self.checked(lambda: Interval(Duration(-lower.us), upper)), self.own)
        return self._as_of() if is_as_of(self.join) else self._interval()

    def checked(self, make: Callable[[], T]) -> T:
        """Returns what `make` returns; an error of a specification gets the place of the join."""
        with self.columns.parser.placing(self.join.span):
            return make()

    def fail(self, given: str, rule: str, remedy: str, node: exp.Expr | None = None) -> SqlError:
        """Returns an error at the join, or at a node in it."""
        parser = self.columns.parser
        return parser.fail(given, rule, remedy, self.join.span if node is None else parser.span_of(node))

    def _version(self, system: Expr) -> TimedMatch:
        """Returns the match of FOR SYSTEM_TIME AS OF."""
        if function_name(system.node) in NOW or system.node.name.lower() in NOW:
            return TimedMatch(LastRows(1), self.own)
        column = self.columns.side_of(system.node)
        if isinstance(system.node, exp.Column) and not system.node.table:
            column = "left", system.node.name
        if column is None or column[0] != "left":
            rule = "FOR SYSTEM_TIME AS OF has the event time of the left side"
            raise self.fail("FOR SYSTEM_TIME AS OF", rule, "write its table and name", system.node)
        return TimedMatch(AsOf(), (column[1], self.own[1]))

    def _of_streams(self, left: CqlWindow | None, right: CqlWindow | None) -> TimedMatch:
        """Returns the match of windows of CQL."""
        times = tuple(
            window.time if window is not None and window.time is not None else own
            for window, own in zip((left, right), self.own, strict=True)
        )
        return TimedMatch(self.checked(lambda: stream_match(left, right)), (times[0], times[1]))

    def _last(self, last: JoinedRows) -> TimedMatch:
        """Returns the match of `JOIN t OVER (...)`."""
        kind, length = last.kind, last.length
        if kind == "latest":
            return TimedMatch(self.checked(lambda: Latest(length)), self.own)
        times = (self.own[0] or last.time, self.own[1] or last.time)
        if self.update is not None:
            period, late = self.update.period, self.update.lateness is not None
            return TimedMatch(self.checked(lambda: updated_match(kind, length, period, late=late)), times)
        if kind == "rows":
            before = MOST_ROWS if HOWS.get(self.join.kind) == "inner" else 0
            return TimedMatch(self.checked(lambda: LastRows(int(length), left=before)), self.own)
        return TimedMatch(self.checked(lambda: Interval(Duration(-length.us), 0)), times)

    def _bounds(self) -> tuple[tuple[str, str], list[Compared]]:
        """Returns the columns of the event times, and the comparisons of these."""
        conditions = self.conditions
        if not conditions.compared:
            rule = "ON or MATCH_CONDITION compares the event times of both sides"
            remedy = "write for example b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
            if is_as_of(self.join):
                remedy = "write MATCH_CONDITION (a.ts >= b.ts)"
            raise self.fail("a join", rule, remedy)
        pair = self._pair()
        bounds = [compared for compared, _ in conditions.compared if compared.pair == pair]
        conditions.add_rest(node for compared, node in conditions.compared if compared.pair != pair)
        return (bounds[0].left, bounds[0].right), bounds

    def _pair(self) -> tuple[str, str]:
        """Returns the columns of both sides that are the event times, in lower case."""
        marked = tuple((time or "").lower() for time in self.own)
        compared = [comparison for comparison, _ in self.conditions.compared]
        pairs = [comparison.pair for comparison in compared if comparison.shifted]
        pairs += [comparison.pair for comparison in compared if comparison.pair == marked]
        others = [comparison.pair for comparison in compared]
        if not pairs and len({*others}) > 1 and self.join.match_condition is None:
            rule = "one of the comparisons in ON is that of the event times"
            raise self.fail("several comparisons", rule, "write it as MATCH_CONDITION (a.ts >= b.ts)")
        return (pairs or others[-1:])[0]

    def _interval(self) -> TimedMatch:
        times, bounds = self._bounds()
        lower = [(bound.us, bound.kind is exp.GT) for bound in bounds if bound.kind in (exp.GT, exp.GTE)]
        upper = [(bound.us, bound.kind is exp.LT) for bound in bounds if bound.kind in (exp.LT, exp.LTE)]
        if not lower or not upper:
            rule = "a join of streams has a range of time with both bounds, so that its state ends"
            missing = "lower" if not lower else "upper"
            raise self.fail(f"no {missing} bound", rule, "add one, such as b.ts <= a.ts + INTERVAL '1' DAY")
        low, high = max(lower), min(upper, key=lambda bound: (bound[0], not bound[1]))
        closed = _CLOSED[low[1], high[1]]
        return TimedMatch(self.checked(lambda: Interval(low[0], high[0], closed)), times)

    def _as_of(self) -> TimedMatch:
        times, bounds = self._bounds()
        plain = [bound for bound in bounds if not bound.shifted]
        if len(plain) != 1:
            rule = "an ASOF JOIN has one inequality of both times, and may have a limit of their distance"
            raise self.fail("ASOF JOIN", rule, "write MATCH_CONDITION (a.ts >= b.ts)")
        backward = plain[0].kind in (exp.LT, exp.LTE)
        limits = [self._limit(bound, backward=backward) for bound in bounds if bound.shifted]
        exact = plain[0].kind in (exp.LTE, exp.GTE)
        tolerance = min(limits) if limits else None
        strategy: Literal["backward", "forward"] = "backward" if backward else "forward"
        match = self.checked(lambda: AsOf(strategy, tolerance, allow_exact_matches=exact))
        return TimedMatch(match, times, one_sided=tolerance is None)

    def _limit(self, bound: Compared, *, backward: bool) -> int:
        """Returns the tolerance that an inequality with an interval says, in microseconds."""
        kinds, us = ((exp.GT, exp.GTE), -bound.us) if backward else ((exp.LT, exp.LTE), bound.us)
        if bound.kind not in kinds or us < 0:
            rule = "an inequality with an interval limits the distance of the times of an ASOF JOIN"
            raise self.fail("ASOF JOIN", rule, "write for example b.ts >= a.ts - INTERVAL '5' MINUTES")
        return us - (bound.kind in (exp.GT, exp.LT))
