"""The parts of ON: equal columns, comparisons of a column of each side, and the rest."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from panewise.sql.expressions.function_calls import constant, is_interval
from panewise.sql.joins.open_conditions import is_open
from panewise.sql.joins.side_columns import SideColumns, without_parentheses

MIRRORED: Final[Mapping[Any, Any]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}


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
    """The parts of ON: equal columns, comparisons of columns with their nodes, and the rest.

    `open` are equal columns of which one has no table. A comparison of USING has no node, as its key says the
    same.
    """

    keys: list[tuple[str, str]] = field(default_factory=list)
    compared: list[tuple[Compared, exp.Expr | None]] = field(default_factory=list)
    rest: list[exp.Expr] = field(default_factory=list)
    open: list[exp.Expr] = field(default_factory=list)

    @property
    def timed(self) -> bool:
        """Whether a comparison has an interval, so that it is one of times."""
        return any(compared.shifted for compared, _ in self.compared)

    def add_key(self, pair: tuple[str, str]) -> None:
        """Adds a pair of equal columns, if it is not there yet."""
        if tuple(map(str.lower, pair)) not in {tuple(map(str.lower, key)) for key in self.keys}:
            self.keys.append(pair)

    def add_rest(self, nodes: Iterable[exp.Expr | None]) -> None:
        """Adds to the rest the conditions that are not in it yet."""
        known = {id(node) for node in self.rest}
        self.rest += {id(node): node for node in nodes if node is not None and id(node) not in known}.values()


class ConditionReader:
    """Reads the conditions of a join."""

    def __init__(self, columns: SideColumns) -> None:
        self.columns = columns

    def read(self, parts: Iterable[exp.Expr], using: tuple[str, ...], *, plain: bool) -> Conditions:
        """Returns the parts of ON.

        Args:
            parts: the parts of ON.
            using: the columns of USING. In a `plain` join event times among them are a range of time, too.
            plain: whether the join says how rows match in ON or USING alone.
        """
        conditions = Conditions([(name, name) for name in using])
        for name in using if plain else ():
            if self._are_times((name, name)):
                conditions.compared += [(compared, None) for compared in _equal_times(name, name)]
        for part in parts:
            pair = self._equal(part)
            if pair is not None and self._are_times(pair):
                conditions.compared += [(comparison, part) for comparison in _equal_times(*pair)]
                continue
            if pair is not None:
                conditions.add_key(pair)
                continue
            if _is_open_equality(part):
                conditions.open.append(part)
                continue
            comparisons, whole = self._compared(part)
            computed = None if comparisons else self._computed(part)
            if computed is not None:
                conditions.add_key(computed)
                continue
            conditions.compared += [(comparison, part) for comparison in comparisons]
            if not whole:
                conditions.rest.append(part)
        return conditions

    def _are_times(self, pair: tuple[str, str]) -> bool:
        """Returns whether two columns are the event times that WATERMARK names on both sides."""
        times = [side.time for side in self.columns.sides]
        return [name.lower() for name in pair] == [time.lower() for time in times if time is not None]

    def _equal(self, node: exp.Expr) -> tuple[str, str] | None:
        node = without_parentheses(node)
        if not isinstance(node, exp.EQ):
            return None
        both = [without_parentheses(operand) for operand in (node.this, node.expression)]
        columns = dict(side for side in map(self.columns.side_of, both) if side)
        if len(columns) == 2:
            return columns["left"], columns["right"]
        names = [operand.name for operand in both if isinstance(operand, exp.Column) and not operand.table]
        return (names[0], names[1]) if len(names) == 2 and names[0].lower() == names[1].lower() else None

    def _computed(self, node: exp.Expr) -> tuple[str, str] | None:
        """Returns the columns of an equality of expressions, each over one side; they are computed before."""
        node = without_parentheses(node)
        if not isinstance(node, exp.EQ):
            return None
        both = node.this, node.expression
        if {self.columns.side_of_all(operand) for operand in both} != {"left", "right"}:
            return None
        sides = [self.columns.side_of(operand) or self.columns.computed_of(operand) for operand in both]
        names = dict(side for side in sides if side is not None)
        return (names["left"], names["right"]) if len(names) == 2 else None

    def _compared(self, node: exp.Expr) -> tuple[list[Compared], bool]:
        """Returns the comparisons of both sides in a condition, and whether it says nothing else."""
        node = without_parentheses(node)
        pairs: list[tuple[Any, Any, Any]] = []
        if isinstance(node, exp.Between):
            low, high = node.args["low"], node.args["high"]
            pairs = [(exp.GTE, node.this, low), (exp.LTE, node.this, high)]
        elif type(node) in MIRRORED:
            pairs = [(type(node), node.this, node.expression)]
        elif isinstance(node, exp.EQ):
            pairs = [(exp.GTE, node.this, node.expression), (exp.LTE, node.this, node.expression)]
        comparisons = [comparison for pair in pairs if (comparison := self._comparison(*pair)) is not None]
        return comparisons, bool(comparisons) and len(comparisons) == len(pairs)

    def _comparison(self, kind: Any, low: exp.Expr, high: exp.Expr) -> Compared | None:
        distance = self._distance(kind, low, high) or self._distance(MIRRORED[kind], high, low)
        if distance is not None:
            return distance
        first, second = self._shifted(low), self._shifted(high)
        if first is None or second is None or first[0] == second[0]:
            return None
        if first[0] == "left":
            first, second, kind = second, first, MIRRORED[kind]
        return Compared(kind, second[1], first[1], second[2] - first[2], bool(first[3] or second[3]))

    def _distance(self, kind: Any, difference: exp.Expr, limit: exp.Expr) -> Compared | None:
        """Returns what `b.ts - a.ts <= INTERVAL ...` says of the columns."""
        difference, limit = difference.unnest(), limit.unnest()
        if not isinstance(difference, exp.Sub) or not is_interval(limit):
            return None
        first, second = map(self.columns.side_of, (difference.this, difference.expression))
        if first is None or second is None or first[0] == second[0]:
            return None
        us = self._us(limit)
        if first[0] == "left":
            return Compared(MIRRORED[kind], first[1], second[1], -us, shifted=True)
        return Compared(kind, second[1], first[1], us, shifted=True)

    def _shifted(self, node: exp.Expr) -> tuple[str, str, int, bool] | None:
        """Returns side, name and shift in microseconds of a column, plus or minus an interval."""
        node = without_parentheses(node)
        column = self.columns.side_of(node)
        if column is not None:
            return (*column, 0, False)
        if not isinstance(node, (exp.Add, exp.Sub)):
            return None
        value, shift = node.this, node.expression
        if isinstance(node, exp.Add) and is_interval(value.unnest()):
            value, shift = shift, value
        inner = self._shifted(value)
        if inner is None or not is_interval(shift.unnest()):
            return None
        length = self._us(shift)
        return inner[0], inner[1], inner[2] + (length if isinstance(node, exp.Add) else -length), True

    def _us(self, node: exp.Expr) -> int:
        parser = self.columns.parser
        return parser.duration_of(parser.expr_of(node)).us


def _equal_times(left: str, right: str) -> list[Compared]:
    """Returns the comparisons that an equality of event times is."""
    return [Compared(kind, left, right, 0, shifted=True) for kind in (exp.GTE, exp.LTE)]


def is_always_true(node: exp.Expr) -> bool:
    """Returns whether a condition is TRUE, or the equality of a constant with itself, as in `1 = 1`.

    >>> is_always_true(exp.true()), is_always_true(exp.column("v"))
    (True, False)
    """
    node = without_parentheses(node)
    if isinstance(node, exp.EQ):
        first, second = constant(node.this), constant(node.expression)
        return first is not None and first == second and first != (None,)
    known = constant(node)
    return known is not None and known[0] is True


def _is_open_equality(node: exp.Expr) -> bool:
    """Returns whether an expression is an equality of two columns, of which one has no table."""
    node = without_parentheses(node)
    if not isinstance(node, exp.EQ):
        return False
    both = [without_parentheses(operand) for operand in (node.this, node.expression)]
    return all(isinstance(operand, exp.Column) for operand in both) and is_open(node)
