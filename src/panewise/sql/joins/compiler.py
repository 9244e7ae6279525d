"""A SELECT from a join with a range of time, windows or an order of time (semantics 46.20)."""

from functools import partial
from typing import Any

from sqlglot import exp

from panewise.chrono import Duration, DurationLike
from panewise.errors import SqlError
from panewise.spec import Interval, SameWindow, Session, left, right
from panewise.spec.operators.join.match_parts import match_parts
from panewise.sql.event_times import JOIN_TIME, timed, with_join_time
from panewise.sql.expressions.function_calls import columns_in, conjuncts, has_aggregate
from panewise.sql.joins.comparisons import ConditionReader, is_always_true
from panewise.sql.joins.kinds import is_as_of, is_join, system_time
from panewise.sql.joins.matches import MatchReader, TimedMatch
from panewise.sql.joins.one_sided import OneSidedConditions
from panewise.sql.joins.open_conditions import is_open
from panewise.sql.joins.row_conditions import row_condition
from panewise.sql.joins.select_list import JoinSelectList
from panewise.sql.joins.side_columns import JoinInput, SideColumns
from panewise.sql.joins.stream_matches import stream_windows
from panewise.sql.joins.update_policies import UpdateSyntax, lateness_of, update_of
from panewise.sql.joins.window_joins import panes_of, windows_of_join, without_bounds_keys
from panewise.sql.options import DELETES, LATENESS, TWICE
from panewise.sql.parsing.emit import emission
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import HOWS, Emit, Join, Select
from panewise.sql.stages import JoinStage, OpenCondition, QueryStage, Referring, SparkStage, is_ours
from panewise.sql.windows.window_rows import WindowRows


class JoinCompiler:
    """Compiles a SELECT from a join.

    Args:
        parser: the parser, which knows the text.
        select: the SELECT.
        join: the join in its FROM.
        sides: the inputs.
        spark: the same query for Spark alone, if Spark has it.
        emit: the EMIT clause, which is for a window join.
        members: the tables of the left side, if it is a join itself; its columns are called `table.column`.
        update: the update policy of a text that says none.
    """

    def __init__(
        self,
        parser: QueryParser,
        select: Select,
        join: Join,
        sides: tuple[JoinInput, JoinInput],
        spark: SparkStage | None,
        *,
        emit: Emit | None = None,
        members: frozenset[str] = frozenset(),
        update: DurationLike | None = None,
    ) -> None:
        self.parser, self.select, self.join, self.sides, self.spark = parser, select, join, sides, spark
        self.emit, self.update, self.columns = emit, update, SideColumns(parser, sides, members)
        self.conditions = ConditionReader(self.columns).read(
            self._parts(), join.using, plain=not is_join(join)
        )
        self.windows = windows_of_join(self.conditions, sides)
        plain = self.windows is None and not is_join(join) and not self.conditions.timed
        self.panes = panes_of(self.conditions, sides, select) if plain else None
        self.matches = MatchReader(join, self.columns, self.conditions, self._update())

    def compile(self) -> JoinStage | None:
        """Returns the stage, None if ON says nothing about time, and Spark alone can do the join.

        Raises:
            SqlError: if a part breaks a rule.
        """
        timed_join = is_join(self.join) or self.conditions.timed
        if not timed_join and self.windows is None and self.panes is None:
            return None
        self._check()
        how = HOWS[self.join.kind]
        stages, match = self._stages_and_match()
        self._check_type(match, how)
        self._check_keys(match)
        stages, times = self._of_results(stages, match)
        one_sided = OneSidedConditions(self.columns, self.conditions, applies=match.one_sided)
        keys, condition, selecting = self._conditions(how, one_sided)
        opened = self._open(how)
        listed = JoinSelectList(
            self.select, self.join, self.columns, self.windows, panes=self.panes is not None
        )
        return JoinStage(
            self.columns.with_computed(stages[0], "left"),
            self.columns.with_computed(one_sided.of_right(stages[1]), "right"),
            (self.sides[0].name or "", self.sides[1].name or ""),
            keys,
            times,
            match.match,
            how,
            condition,
            tuple(selecting),
            listed.items(),
            self.spark,
            lateness=self._lateness(),
            options=(_without_deletes(self.sides[0]), _without_deletes(self.sides[1])),
            deletes=self._deletes(),
            open=opened,
            members=self.columns.members,
            hidden=frozenset(name for texts in self.columns.computed.values() for name in texts),
            added_times=_added(times, match.times),
            ends=({}, {}) if self.windows is None else (self.windows[0].ends, self.windows[1].ends),
        )

    def _conditions(
        self, how: str, one_sided: OneSidedConditions
    ) -> tuple[tuple[tuple[str, str], ...], Any, list[Referring]]:
        """Returns the keys and the condition of the join, and the conditions on its rows."""
        keys, condition = self._keys()
        rest, selecting = self._rest(how)
        selecting += one_sided.of_left(how)
        condition = rest if condition is None else condition if rest is None else condition & rest
        self._check_version(condition)
        selecting += self._conditions_on_bounds(how)
        if self.select.where is not None and not self._where_is_on():
            selecting.append(self.columns.referring(self.select.where, None))
        return keys, condition, selecting

    def _conditions_on_bounds(self, how: str) -> list[Referring]:
        """Returns the conditions on bounds that the queries of both sides have, for the rows of the join."""
        texts = [text for side in self.windows or () for text in side.conditions]
        if texts and how != "inner":
            rule = "in an outer join of windows, the query of a side has no condition on bounds of windows"
            raise self._fail("a condition on a bound", rule, "write it in WHERE behind the join")
        return [Referring((text,), (), None, text) for text in texts]

    def _check_version(self, condition: object) -> None:
        """Refuses a condition on a version of an outer join: another version would be its partner."""
        if condition is not None and system_time(self.join) is not None:
            rule = "the version of a row is the last one before it, and ON compares the keys alone"
            remedy = "compare the other columns in SELECT, as in CASE WHEN o.amount > 10 THEN r.rate END"
            rest = [self.parser.span_of(node) for node in self.conditions.rest]
            raise self.parser.fail("a condition in ON", rule, remedy, (*rest, self.join.span)[0])

    def _lateness(self) -> Duration | None:
        """Returns the allowed lateness of both sides; that of a window join is one of its match."""
        said = None if self.windows is not None else lateness_of(self.emit, self.parser)
        self._check_options(said)
        if said is not None and self.join.grace is not None:
            rule = "the lateness of a join is given once, as GRACE PERIOD or in EMIT"
            raise self._fail("WITH LATENESS", rule, "leave one of them out")
        return said or self.join.grace

    def _check_options(self, said: Duration | None) -> None:
        """Refuses the lateness of a side if the join has another one, or one of both sides."""
        if not any(LATENESS in side.options for side in self.sides):
            return
        if self.windows is not None:
            rule = "the windows of a window join have the rows of both sides, and so one lateness"
            raise self._fail(LATENESS, rule, "write EMIT WITH LATENESS behind the join")
        if said is not None or self.join.grace is not None:
            raise self._fail(LATENESS, *TWICE)

    def _deletes(self) -> tuple[str | None, str | None]:
        """Returns the columns of both sides in which null deletes the row of a key."""
        deletes = self.sides[0].options.get("deletes"), self.sides[1].options.get("deletes")
        latest = self.join.last is not None and self.join.last.kind == "latest"
        if deletes != (None, None) and not latest:
            raise self._fail("deletes", *DELETES)
        return deletes

    def _update(self) -> UpdateSyntax | None:
        """Returns the update policy, None for a window join, whose EMIT is that of its windows."""
        if self.windows is not None:
            return None
        return update_of(self.join, self.emit, self.parser, self.update)

    def _keys(self) -> tuple[tuple[tuple[str, str], ...], Any]:
        """Returns the keys, and a condition for those that are none.

        Windows of rows without PARTITION BY count the rows of all keys, so there the keys are a condition.
        """
        keys, condition = tuple(self.conditions.keys), None
        if not self._counts_all_keys():
            return keys, None
        for first, second in keys:
            equal = left(first) == right(second)
            condition = equal if condition is None else condition & equal
        return (), condition

    def _counts_all_keys(self) -> bool:
        """Returns whether there are windows of rows without PARTITION BY."""
        windows = stream_windows(self.join) or ()
        counted = [window for window in windows if window is not None and window.kind == "rows"]
        return bool(counted) and not any(window.partition_by for window in counted)

    def _open(self, how: str) -> tuple[OpenCondition, ...]:
        """Returns the parts of ON with columns without a table; in an inner join only equalities."""
        inner, key = self._selects_rows(how), not self._counts_all_keys()
        others = () if inner else (node for node in self.conditions.rest if is_open(node))
        parts = [*((node, key) for node in self.conditions.open), *((node, False) for node in others)]
        return tuple(
            OpenCondition(
                self.matches.checked(partial(row_condition, [node], self.columns)),
                may_be_key,
                self.columns.referring(self.parser.expr_of(node), None) if inner else None,
            )
            for node, may_be_key in parts
        )

    def _selects_rows(self, how: str) -> bool:
        """Returns whether the rest of ON selects the rows of the join, rather than pairs."""
        return how == "inner" and not is_as_of(self.join)

    def _check(self) -> None:
        if self.join.kind not in HOWS:
            rule = f"a join is one of {', '.join(HOWS)}"
            raise self._fail(self.join.kind, rule, "use one of these")
        names = self.columns.names
        if names[0] == names[1] or not all(names):
            rule = "the sides of a join have different names"
            raise self._fail("a join", rule, "add AS and a name to each")

    def _fail(self, given: str, rule: str, remedy: str) -> SqlError:
        return self.parser.fail(given, rule, remedy, self.join.span)

    def _parts(self) -> list[exp.Expr]:
        """Returns the conditions that say how the sides are joined."""
        where = self.select.where if self._where_is_on() else None
        conditions = (self.join.on, where, self.join.match_condition)
        parts = [part for expr in conditions if expr is not None for part in conjuncts(expr.node)]
        return [part for part in parts if not is_always_true(part)]

    def _where_is_on(self) -> bool:
        """Returns whether WHERE may say how the sides are joined: in an inner join without further words."""
        plain = HOWS.get(self.join.kind) == "inner" and not is_join(self.join)
        return plain and self.select.where is not None and not has_aggregate(self.select.where.node)

    def _stages_and_match(self) -> tuple[tuple[QueryStage, QueryStage], TimedMatch]:
        if self.windows is not None:
            return self._window_join(*self.windows)
        if self.panes is not None:
            (first, first_time), (second, second_time) = self.panes.rows
            implied = self.panes.implied
            keys = [pair for pair in self.conditions.keys if tuple(map(str.lower, pair)) not in implied]
            self.conditions.keys[:] = keys
            self.conditions.add_rest(node for _, node in self.conditions.compared)
            return (first, second), TimedMatch(Interval(0, 0), (first_time, second_time))
        return (self.sides[0].stage, self.sides[1].stage), self.matches.read()

    def _window_join(
        self, first: WindowRows, second: WindowRows
    ) -> tuple[tuple[QueryStage, QueryStage], TimedMatch]:
        """Returns the sides of a window join without the bounds of windows, and its match."""
        if first.window != second.window:
            rule = "the sides of a window join have the same windows"
            raise self._fail("two windows", rule, "write them alike")
        self._check_sessions(first, second)
        fields = emission(self.emit, self.parser.fail)
        fields.pop("on_time", None)  # a window join emits what has changed, and nothing else
        without_bounds_keys(self.conditions, first, second)
        self.conditions.add_rest(node for _, node in self.conditions.compared)
        stages = first.stage, second.stage
        match = self.matches.checked(lambda: SameWindow(first.window, **fields))
        return stages, TimedMatch(match, (first.time, second.time))

    def _check_type(self, match: TimedMatch, how: str) -> None:
        """Refuses the types that the match does not have (semantics 27.2)."""
        known = match_parts(match.match)
        if how not in known.hows:
            kinds = [kind for kind, name in HOWS.items() if name in known.hows and "ASOF" not in kind]
            raise self._fail(self.join.kind, known.how_rule, f"write one of {', '.join(kinds)}")

    def _check_keys(self, match: TimedMatch) -> None:
        """Refuses a join by keys, to which each key has its rows, whose ON leaves the keys open."""
        versions, conditions = system_time(self.join) is not None, self.conditions
        by_key = versions or match_parts(match.match).by_arrival(match.match)
        for node in conditions.rest if by_key and not self._counts_all_keys() else ():
            if isinstance(node, exp.EQ) and is_open(node) and len(list(columns_in(node))) > 1:
                span = self.parser.span_of(node)
                rule = (
                    "this join has no condition besides its keys, and a key that is an expression "
                    "names its table"
                )
                remedy = "write the names of tables before its columns"
                raise self.parser.fail(self.parser.characters(span), rule, remedy, span)
        if versions and not conditions.keys and not conditions.open:
            rule = "at each time a key has one version, so ON has an equality of columns"
            raise self._fail("FOR SYSTEM_TIME AS OF", rule, "add one, such as a.id = b.id")

    def _check_sessions(self, first: WindowRows, second: WindowRows) -> None:
        """Refuses sessions of other keys than those of the join."""
        if not isinstance(first.window, Session):
            return
        pairs = [pair for pair in self.conditions.keys if pair[0].lower() not in first.ends]
        keys = [frozenset(pair[place].lower() for pair in pairs) for place in (0, 1)]
        if [first.partition, second.partition] != keys:
            rule = "the sessions of a window join are those of the rows of both sides with equal keys"
            raise self._fail("PARTITION BY", rule, "name the columns that ON compares in both SESSION(...)")

    def _of_results(
        self, stages: tuple[QueryStage, QueryStage], match: TimedMatch
    ) -> tuple[tuple[QueryStage, QueryStage], tuple[str | None, str | None]]:
        """Returns the sides, and their event times: those of operators have them under names of their own."""
        by_arrival = match_parts(match.match).by_arrival(match.match)
        first, second = (
            timed(stage, time)
            if time is not None and is_ours(stage)
            else (with_join_time(stage), JOIN_TIME)
            if time is None and isinstance(stage, JoinStage) and not by_arrival
            else (stage, time)
            for stage, time in zip(stages, match.times, strict=True)
        )
        return (first[0], second[0]), (first[1], second[1])

    def _rest(self, how: str) -> tuple[object, list[Referring]]:
        """Returns the condition of the join, and conditions on its rows."""
        conditions = self.conditions
        if self._selects_rows(how):
            return None, [self.columns.referring(self.parser.expr_of(node), None) for node in conditions.rest]
        rest = [node for node in conditions.rest if not is_open(node)]
        return self.matches.checked(lambda: row_condition(rest, self.columns)), []


def _added(
    times: tuple[str | None, str | None], named: tuple[str | None, str | None]
) -> tuple[str | None, str | None]:
    """Returns the event times that sides have for the join alone, as the query names others."""
    first, second = (time if time != name else None for time, name in zip(times, named, strict=True))
    return first, second


def _without_deletes(side: JoinInput) -> dict[str, Any]:
    return {name: value for name, value in side.options.items() if name != "deletes"}
