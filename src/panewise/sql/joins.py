"""A SELECT from a join with a range of time, windows or an order of time (semantics 46.20)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp

from panewise.chrono import Duration
from panewise.errors import SpecError, SqlError
from panewise.spec import (
    AsOf,
    Interval,
    JoinOperator,
    LastRows,
    Latest,
    SameWindow,
    Selected,
    Side,
    left,
    right,
)
from panewise.sql.chained import is_ours, timed
from panewise.sql.emit import emission
from panewise.sql.function_calls import conjuncts, constant, function_name, has_aggregate, is_interval
from panewise.sql.parser import QueryParser
from panewise.sql.stages import (
    AssignedStage,
    JoinStage,
    OutputColumn,
    Referring,
    RowsStage,
    SparkStage,
    Stage,
)
from panewise.sql.syntax import Emit, Expr, Join, Select
from panewise.sql.texts import quoted

_HOWS: Final = {
    "JOIN": "inner",
    "INNER JOIN": "inner",
    **{f"{side} {word}JOIN": side.lower() for side in ("LEFT", "RIGHT", "FULL") for word in ("", "OUTER ")},
    **{f"{side}{kind} JOIN": kind.lower() for side in ("", "LEFT ") for kind in ("SEMI", "ANTI")},
    "CROSS JOIN": "inner",
    "ASOF JOIN": "inner",
    "LEFT ASOF JOIN": "left",
    "ASOF LEFT JOIN": "left",
}
_NOW: Final = ("proctime", "now", "current_timestamp", "localtimestamp")
_SIDES: Final = ("left", "right")
_TERMS: Final[Mapping[Any, Callable[[Any, Any], Any]]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
    exp.And: lambda a, b: a & b,
    exp.Or: lambda a, b: a | b,
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
}
_MIRRORED: Final[Mapping[Any, Any]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}


@dataclass(frozen=True)
class JoinInput:
    """A side of a join: its stage, its name, and the column of WATERMARK."""

    stage: Stage
    name: str | None
    time: str | None


@dataclass(frozen=True)
class Compared:
    """A comparison of a column of each side: `right - left kind us`, the event times without a shift."""

    kind: Any
    left: str
    right: str
    us: int
    shifted: bool

    @property
    def pair(self) -> tuple[str, str]:
        """The columns in lower case."""
        return self.left.lower(), self.right.lower()


@dataclass
class Conditions:
    """The parts of ON: equal columns, comparisons of columns, and the rest."""

    keys: list[tuple[str, str]] = field(default_factory=list)
    compared: list[tuple[Compared, exp.Expr]] = field(default_factory=list)
    rest: list[exp.Expr] = field(default_factory=list)


def joined_name(node: exp.Column) -> str:
    """Returns the name that a column of a table has in the rows of a join that is joined again."""
    return f"{node.table}.{node.name}".lower()


def is_join(source: Any) -> bool:
    """Returns whether a source is a join that says something about time, rows or windows of rows."""
    if not isinstance(source, Join):
        return False
    said = source.match_condition, source.within, source.last, getattr(source.right, "system_time", None)
    return any(one is not None for one in said) or source.kind.count("ASOF") > 0


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
    ) -> None:
        self.emit, self.members = emit, members
        self.parser, self.select, self.join, self.sides, self.spark = parser, select, join, sides, spark
        self.window: Any = None  # the match of a window join
        self.names = tuple((side.name or "").lower() for side in sides)

    def compile(self) -> JoinStage | None:
        """Returns the stage, None if ON says nothing about time, and Spark alone can do the join.

        Raises:
            SqlError: if a part breaks a rule.
        """
        said = is_join(self.join)
        found = self._conditions()
        self.window = self._window(found)
        if not said and not self._timed(found) and self.window is None:
            return None
        if self.emit is not None and self.window is None:
            rule = (
                "the rows of a join come as soon as they are known; only a window join waits for its windows"
            )
            raise self.parser.fail("EMIT", rule, "leave it out", self.emit.span)
        if self.names[0] == self.names[1] or not all(self.names):
            raise self._fail(
                "a join", "the sides of a join have different names", "add AS and a name to each"
            )
        how = _HOWS.get(self.join.kind)
        if how is None:
            raise self._fail(self.join.kind, f"a join is one of {', '.join(_HOWS)}", "use one of these")
        stages, match, times = self._match(found)
        stages, times = self._of_results(stages, times)
        condition, more = self._rest(found, how)
        where = None if self._where_is_on() else self.select.where
        texts = [*more, *([] if where is None else [self._referring(where, None)])]
        items = tuple(self._referring(item.expr, item.alias) for item in self.select.items)
        return JoinStage(
            *stages,
            (self.sides[0].name or "", self.sides[1].name or ""),
            tuple(found.keys),
            times,
            match,
            how,
            condition,
            tuple(texts),
            items,
            self.spark,
        )

    def _fail(self, given: str, rule: str, remedy: str, node: exp.Expr | None = None) -> SqlError:
        span = self.join.span if node is None else self.parser.span_of(node)
        return self.parser.fail(given, rule, remedy, span)

    # ON

    def _conditions(self) -> Conditions:
        """Returns the parts of ON."""
        found = Conditions([(name, name) for name in self.join.using])
        parts = [] if self.join.on is None else list(conjuncts(self.join.on.node))
        if self._where_is_on():
            assert self.select.where is not None
            parts += conjuncts(self.select.where.node)
        if self.join.match_condition is not None:
            parts += conjuncts(self.join.match_condition.node)
        for part in parts:
            pair = self._equal(part)
            if pair is not None:
                found.keys.append(pair)
                continue
            compared, whole = self._compared(part)
            found.compared += [(one, part) for one in compared]
            if not whole:
                found.rest.append(part)
        return found

    def _where_is_on(self) -> bool:
        """Returns whether WHERE may say how the sides are joined: in an inner join without further words."""
        plain = _HOWS.get(self.join.kind) == "inner" and not is_join(self.join)
        return plain and self.select.where is not None and not has_aggregate(self.select.where.node)

    def _column(self, node: exp.Expr) -> tuple[str, str] | None:
        """Returns side and name of a column that stands behind the name of its side."""
        node = node.unnest() if isinstance(node, exp.Paren) else node
        if not isinstance(node, exp.Column) or not node.table or node.args.get("db"):
            return None
        side = node.table.lower()
        if side in self.members:
            return "left", joined_name(node)
        return (_SIDES[self.names.index(side)], node.name) if side in self.names else None

    def _equal(self, node: exp.Expr) -> tuple[str, str] | None:
        if not isinstance(node, exp.EQ):
            return None
        columns = dict(one for one in (self._column(node.this), self._column(node.expression)) if one)
        if len(columns) == 2:
            return columns["left"], columns["right"]
        both = [one.unnest() for one in (node.this, node.expression)]
        names = [one.name for one in both if isinstance(one, exp.Column) and not one.table]
        return (names[0], names[1]) if len(names) == 2 and names[0].lower() == names[1].lower() else None

    def _compared(self, node: exp.Expr) -> tuple[list[Compared], bool]:
        """Returns the comparisons of both sides in a condition, and whether it says nothing else."""
        node = node.unnest() if isinstance(node, exp.Paren) else node
        pairs: list[tuple[Any, Any, Any]] = []
        if isinstance(node, exp.Between):
            low, high = node.args["low"], node.args["high"]
            pairs = [(exp.GTE, node.this, low), (exp.LTE, node.this, high)]
        elif type(node) in _MIRRORED:
            pairs = [(type(node), node.this, node.expression)]
        elif isinstance(node, exp.EQ):
            pairs = [(exp.GTE, node.this, node.expression), (exp.LTE, node.this, node.expression)]
        found = [one for pair in pairs if (one := self._comparison(*pair)) is not None]
        return found, bool(found) and len(found) == len(pairs)

    def _comparison(self, kind: Any, one: exp.Expr, other: exp.Expr) -> Compared | None:
        distance = self._distance(kind, one, other) or self._distance(_MIRRORED[kind], other, one)
        if distance is not None:
            return distance
        first, second = self._shifted(one), self._shifted(other)
        if first is None or second is None or first[0] == second[0]:
            return None
        if first[0] == "left":
            first, second, kind = second, first, _MIRRORED[kind]
        return Compared(kind, second[1], first[1], second[2] - first[2], bool(first[3] or second[3]))

    def _distance(self, kind: Any, one: exp.Expr, other: exp.Expr) -> Compared | None:
        """Returns what `b.ts - a.ts <= INTERVAL ...` says of the columns."""
        one, other = one.unnest(), other.unnest()
        if not isinstance(one, exp.Sub) or not is_interval(other):
            return None
        first, second = self._column(one.this), self._column(one.expression)
        if first is None or second is None or first[0] == second[0]:
            return None
        us = self.parser.duration_of(Expr(other, self.parser.span_of(other))).us
        if first[0] == "left":
            return Compared(_MIRRORED[kind], first[1], second[1], -us, shifted=True)
        return Compared(kind, second[1], first[1], us, shifted=True)

    def _shifted(self, node: exp.Expr) -> tuple[str, str, int, bool] | None:
        """Returns side, name and shift in microseconds of a column, plus or minus an interval."""
        node = node.unnest() if isinstance(node, exp.Paren) else node
        column = self._column(node)
        if column is not None:
            return (*column, 0, False)
        if not isinstance(node, (exp.Add, exp.Sub)):
            return None
        one, other = node.this, node.expression
        if isinstance(node, exp.Add) and is_interval(one.unnest()):
            one, other = other, one
        inner = self._shifted(one)
        if inner is None or not is_interval(other.unnest()):
            return None
        length = self.parser.duration_of(Expr(other, self.parser.span_of(other))).us
        return inner[0], inner[1], inner[2] + (length if isinstance(node, exp.Add) else -length), True

    def _timed(self, found: Conditions) -> bool:
        return any(one.shifted for one, _ in found.compared)

    # Matches

    def _match(self, found: Conditions) -> tuple[tuple[Stage, Stage], Any, tuple[str | None, str | None]]:
        stages = self.sides[0].stage, self.sides[1].stage
        own: tuple[str | None, str | None] = (self.sides[0].time, self.sides[1].time)
        if self.window is not None:
            return self.window  # type: ignore[no-any-return]
        system = getattr(self.join.right, "system_time", None)
        if any(one is not None for one in (system, self.join.last, self.join.within)):
            found.rest += _distinct(node for _, node in found.compared)
        make = (
            self._as_of
            if "ASOF" in self.join.kind or self.join.match_condition is not None
            else self._interval
        )
        if system is not None:
            if function_name(system.node) in _NOW or system.node.name.lower() in _NOW:
                return stages, LastRows(1), own
            column = self._column(system.node)
            if column is None or column[0] != "left":
                rule = "FOR SYSTEM_TIME AS OF has the event time of the left side"
                raise self._fail("FOR SYSTEM_TIME AS OF", rule, "write its table and name", system.node)
            return stages, AsOf(), (column[1], own[1])
        if self.join.last is not None:
            return stages, *self._last(own)
        if self.join.within is not None:
            lower, upper = self.join.within
            return stages, self._made(lambda: Interval(Duration(-lower.us), upper)), own
        return stages, *make(found)

    def _of_results(
        self, stages: tuple[Stage, Stage], times: tuple[str | None, str | None]
    ) -> tuple[tuple[Stage, Stage], tuple[str | None, str | None]]:
        """Returns the sides, and their event times: those of operators have them under names of their own."""
        made = [
            timed(stage, time) if time is not None and is_ours(stage) else (stage, time)
            for stage, time in zip(stages, times, strict=True)
        ]
        return (made[0][0], made[1][0]), (made[0][1], made[1][1])

    def _made(self, make: Any) -> Any:
        try:
            return make()
        except SqlError:
            raise
        except SpecError as error:
            raise self._fail(error.given, error.rule, error.remedy) from None

    def _times(self, found: Conditions) -> tuple[str, str, list[Compared]]:
        """Returns the columns of the event times, and the comparisons of these. Others become the rest."""
        if not found.compared:
            rule = "ON or MATCH_CONDITION compares the event times of both sides"
            raise self._fail(
                "a join", rule, "write for example b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
            )
        pair = self._pair(found)
        bounds = [one for one, _ in found.compared if one.pair == pair]
        found.rest += _distinct(node for one, node in found.compared if one.pair != pair)
        return bounds[0].left, bounds[0].right, bounds

    def _pair(self, found: Conditions) -> tuple[str, str]:
        """Returns the columns of both sides that are the event times, in lower case."""
        marked = tuple((side.time or "").lower() for side in self.sides)
        pairs = [one.pair for one, _ in found.compared if one.shifted]
        pairs += [one.pair for one, _ in found.compared if one.pair == marked]
        others = [one.pair for one, _ in found.compared]
        if not pairs and len({*others}) > 1 and self.join.match_condition is None:
            rule = "one of the comparisons in ON is that of the event times"
            raise self._fail("several comparisons", rule, "write it as MATCH_CONDITION (a.ts >= b.ts)")
        return (pairs or others[-1:])[0]

    def _interval(self, found: Conditions) -> tuple[Any, tuple[str, str]]:
        first, second, bounds = self._times(found)
        lower = [(one.us, one.kind is exp.GT) for one in bounds if one.kind in (exp.GT, exp.GTE)]
        upper = [(one.us, one.kind is exp.LT) for one in bounds if one.kind in (exp.LT, exp.LTE)]
        if not lower or not upper:
            rule = "a join of streams has a range of time with both bounds, so that its state ends"
            missing = "lower" if not lower else "upper"
            raise self._fail(f"no {missing} bound", rule, "add one, such as b.ts <= a.ts + INTERVAL '1' DAY")
        low, high = max(lower), min(upper, key=lambda one: (one[0], not one[1]))
        closed: Any = {(False, False): "both", (True, False): "right", (False, True): "left"}.get(
            (low[1], high[1]), "neither"
        )
        return self._made(lambda: Interval(low[0], high[0], closed)), (first, second)

    def _as_of(self, found: Conditions) -> tuple[Any, tuple[str, str]]:
        first, second, bounds = self._times(found)
        plain = [one for one in bounds if not one.shifted]
        if len(plain) != 1:
            rule = "it has one inequality of both times, and may have a limit of their distance"
            raise self._fail("ASOF JOIN", rule, "write MATCH_CONDITION (a.ts >= b.ts)")
        backward = plain[0].kind in (exp.LT, exp.LTE)
        limits = [self._limit(one, backward=backward) for one in bounds if one.shifted]
        return self._made(
            lambda: AsOf(
                "backward" if backward else "forward",
                min(limits) if limits else None,
                allow_exact_matches=plain[0].kind in (exp.LTE, exp.GTE),
            )
        ), (first, second)

    def _limit(self, bound: Compared, *, backward: bool) -> int:
        """Returns the tolerance that an inequality with an interval says, in microseconds."""
        kinds, us = ((exp.GT, exp.GTE), -bound.us) if backward else ((exp.LT, exp.LTE), bound.us)
        if bound.kind not in kinds or us < 0:
            rule = "an inequality with an interval limits the distance of the times of an ASOF JOIN"
            raise self._fail("ASOF JOIN", rule, "write for example b.ts >= a.ts - INTERVAL '5' MINUTES")
        return us - (bound.kind in (exp.GT, exp.LT))

    def _last(self, own: tuple[str | None, str | None]) -> tuple[Any, tuple[str | None, str | None]]:
        """Returns the match of `JOIN t OVER (...)`."""
        assert self.join.last is not None
        kind, length, time = self.join.last
        if kind == "latest":
            return self._made(lambda: Latest(length)), own
        if kind == "rows":
            return self._made(lambda: LastRows(int(length))), own
        both = (own[0] or time, own[1] or time)
        return self._made(lambda: Interval(Duration(-length.us), 0)), both

    def _window(self, found: Conditions) -> Any:
        """Returns the match of a window join, None if the bounds of windows are not compared."""
        bounds = {("window_start", "window_start"), ("window_end", "window_end")}
        given = {(one.lower(), other.lower()) for one, other in found.keys}
        inner = [_assigned(side.stage) for side in self.sides]
        if not bounds <= given or None in inner:
            return None
        one, other = inner
        assert one is not None
        assert other is not None
        if one.window != other.window:
            raise self._fail(
                "two windows", "the sides of a window join have the same windows", "write them alike"
            )
        fields = emission(self.emit, self.parser.fail)
        fields.pop("on_time", None)  # a window join emits what has changed, and nothing else
        found.keys[:] = [pair for pair in found.keys if tuple(map(str.lower, pair)) not in bounds]
        found.rest += _distinct(node for _, node in found.compared)
        stages = tuple(_without_bounds(side.stage) for side in self.sides)
        return stages, self._made(lambda: SameWindow(one.window, **fields)), (one.time, other.time)

    # The rest

    def _rest(self, found: Conditions, how: str) -> tuple[Any, list[Referring]]:
        """Returns the condition of the join, and conditions on its rows."""
        if how == "inner" and "ASOF" not in self.join.kind:
            spans = [self.parser.span_of(node) for node in found.rest]
            return None, [
                self._referring(Expr(node, span), None) for node, span in zip(found.rest, spans, strict=True)
            ]
        return self._made(lambda: self._condition(found.rest)), []

    def _condition(self, rest: list[exp.Expr]) -> Any:
        made = None
        try:
            for node in rest:
                made = self._term(node) if made is None else made & self._term(node)
        except (TypeError, AttributeError):
            rule = "each comparison in ON of an outer join reads a column"
            raise self._fail("a comparison of constants", rule, "leave it out") from None
        return made

    def _term(self, node: exp.Expr) -> Any:
        node = node.unnest() if isinstance(node, exp.Paren) else node
        column, known = self._column(node), constant(node)
        if column is not None:
            return left(column[1]) if column[0] == "left" else right(column[1])
        if known is not None:
            return known[0]
        return self._operation(node)

    def _operation(self, node: exp.Expr) -> Any:
        if isinstance(node, exp.Not):
            return ~self._term(node.this)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return self._term(node.this).is_null()
        if isinstance(node, exp.NullSafeEQ):
            return self._term(node.this).eq_null_safe(self._term(node.expression))
        known_values = [constant(one) for one in node.expressions] if isinstance(node, exp.In) else []
        if known_values and None not in known_values:
            return self._term(node.this).is_in([one[0] for one in known_values if one is not None])
        if isinstance(node, exp.Between):
            value = self._term(node.this)
            return (value >= self._term(node.args["low"])) & (value <= self._term(node.args["high"]))
        if type(node) in _TERMS:
            return _TERMS[type(node)](self._term(node.this), self._term(node.expression))
        text = self.parser.characters(self.parser.span_of(node))
        rule = "ON of an outer join compares columns of its tables and constants"
        raise self._fail(
            text, rule, "compute it in a query in FROM; columns have the names of their tables", node
        )

    def _referring(self, expr: Expr, alias: str | None) -> Referring:
        """Returns an expression that is cut where columns stand."""
        sql, parser = self.parser.sql, self.parser
        original = parser.characters(expr.span)
        if isinstance(expr.node, exp.Star):
            if not original.endswith("*"):
                raise parser.fail(original, "`*` has all columns of a join", "name the columns", expr.span)
            table = original.rpartition(".")[0].strip("` ") or None
            first = self.join.using if table is None else ()
            return Referring(("*", *first), ((table, "*"),), None, original)
        pieces, columns, at = list[str](), list[tuple[str | None, str]](), expr.span.start
        for node in sorted(expr.node.find_all(exp.Column), key=lambda one: parser.span_of(one).start):
            span, known = parser.span_of(node), self._column(node)
            if known is None and node.table:
                continue
            pieces.append(sql[at : span.start])
            inner = node.table.lower() in self.members
            columns.append(
                (self.sides[0].name, joined_name(node)) if inner else (node.table or None, node.name)
            )
            at = span.end
        name = alias
        if name is None and isinstance(expr.node, exp.Column):
            name = expr.node.name
        return Referring((*pieces, sql[at : expr.span.end]), tuple(columns), name, original)


def _distinct(nodes: Iterable[exp.Expr]) -> list[exp.Expr]:
    return list({id(node): node for node in nodes}.values())


def _assigned(stage: Stage) -> AssignedStage | None:
    """Returns the windows of the rows of a stage; None if its rows have none, or it renames their bounds."""
    if isinstance(stage, RowsStage):
        names = {one.text for one in stage.outputs or ()}
        whole = stage.outputs is None or "*" in names or {"window_start", "window_end"} <= names
        return _assigned(stage.input) if whole else None
    return stage if isinstance(stage, AssignedStage) else None


def _without_bounds(stage: Any) -> Stage:
    """Returns the rows without the bounds of their windows."""
    if isinstance(stage, AssignedStage):
        return stage.input
    outputs = stage.outputs
    if outputs is not None:
        outputs = tuple(one for one in outputs if not one.text.startswith("window_"))
    return replace(stage, input=_without_bounds(stage.input), outputs=outputs)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class ResolvedJoin:
    """A join whose columns are known: the specification, the conditions on its rows, and the SELECT list."""

    spec: JoinOperator
    where: tuple[str, ...]
    outputs: tuple[OutputColumn, ...]


def resolved(
    stage: JoinStage, columns: Mapping[str, Sequence[str]], times: tuple[str | None, str | None]
) -> ResolvedJoin:
    """Returns the specification of a join.

    Args:
        stage: the join.
        columns: the columns of "left" and "right".
        times: the columns of the event times, None where rows have none.

    Raises:
        SqlError: if a column is of neither side, or of both.
    """
    return _Resolver(stage, columns).resolved(times)


class _Resolver:
    def __init__(self, stage: JoinStage, columns: Mapping[str, Sequence[str]]) -> None:
        self.stage, self.columns = stage, columns
        self.selected: dict[tuple[str, str], Selected] = {}

    def resolved(self, times: tuple[str | None, str | None]) -> ResolvedJoin:
        stage = self.stage
        where = tuple(self._text(one) for one in stage.where)
        outputs = tuple(one for item in stage.items for one in self._outputs(item))
        if not self.selected:
            self._name("left", self.columns["left"][0])
        sides = [
            Side(keys=[pair[place] for pair in stage.keys], event_time=times[place]) for place in range(2)
        ]
        spec = JoinOperator(
            left=sides[0],
            right=sides[1],
            match=stage.match,
            how=stage.how,  # type: ignore[arg-type]
            condition=stage.condition,
            select=self.selected.values(),
            timestamp=stage.timestamp,
        )
        return ResolvedJoin(spec, where, outputs)

    def _outputs(self, item: Referring) -> Iterable[OutputColumn]:
        if item.columns and item.columns[0][1] == "*":
            first = [
                OutputColumn(self._reference(None, name), self._own(name), name) for name in item.parts[1:]
            ]
            taken = {name.lower() for name in item.parts[1:]}
            return [*first, *(one for one in self._star(item.columns[0][0]) if one.original not in taken)]
        return [OutputColumn(self._text(item), item.name, item.original)]

    def _star(self, table: str | None) -> Iterator[OutputColumn]:
        sides = _SIDES[:1] if self.stage.how in ("semi", "anti") else _SIDES
        for side, name in zip(_SIDES, self.stage.names, strict=True):
            if side in sides and (table is None or table.lower() == name.lower()):
                for column in self.columns[side]:
                    yield OutputColumn(quoted(self._name(side, column)), column, column.lower())

    def _own(self, column: str) -> str:
        """Returns the name of a key as the left side writes it."""
        return next((one for one in self.columns["left"] if one.lower() == column.lower()), column)

    def _text(self, item: Referring) -> str:
        text = item.parts[0]
        for reference, part in zip(item.columns, item.parts[1:], strict=True):
            text += self._reference(*reference) + part
        return text

    def _reference(self, table: str | None, column: str) -> str:
        names = [name.lower() for name in self.stage.names]
        if table is not None:
            return quoted(self._name(_SIDES[names.index(table.lower())], column))
        sides = [side for side in _SIDES if column.lower() in map(str.lower, self.columns[side])]
        if self.stage.how in ("semi", "anti"):
            sides = sides[:1]
        if len(sides) == 2 and (column.lower(), column.lower()) in {
            (one.lower(), other.lower()) for one, other in self.stage.keys
        }:
            return quoted(self._name("either" if self.stage.how != "inner" else "left", column))
        if len(sides) != 1:
            known = column.lower() in ("window_start", "window_end", "timing", "join_time", "missing", "op")
            if known and not sides:
                return quoted(column)
            rule = f"a column is of one table: {dict(self.columns)}"
            raise SqlError(column, rule, "write the name of its table before it")
        return quoted(self._name(sides[0], column))

    def _name(self, side: str, column: str) -> str:
        """Returns the name that a column has in the rows of the join."""
        kind: Any = side
        one, other = self.stage.names
        shown = {"left": f"{one}.{column}", "right": f"{other}.{column}", "either": column}[side]
        known = self.selected.get((side, column.lower()))
        if known is None:
            own = next(
                (name for name in self.columns.get(side, ()) if name.lower() == column.lower()), column
            )
            known = self.selected[side, column.lower()] = Selected(kind, own, shown)
        return known.name
