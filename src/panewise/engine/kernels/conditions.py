"""Conditions over pairs of rows, compiled to expressions of Polars (semantics 38).

Polars has three truth values, as SQL does, and orders floats as Spark does: NaN equals NaN, and is above all
other numbers. Two things differ, and are computed here:

- Whole numbers of Polars wrap around. So each operation on them is a step of its own, which checks the range.
- Decimals of Polars are compared at one scale, at which they may not fit 38 digits. So decimals are compared
  as the whole numbers that they are stored as.

A condition becomes a list of steps, each of which adds the result of one operation on whole numbers as a
column, and one expression over these columns and those of the pairs.

Invariant: whatever an expression reads is exact, or a double. A step whose result leaves 64 bits raises, and
decimals, whose digits the check of the specification bounds, stay within 128 bits. So values are compared as
on Spark. Cost: a pass over the pairs for each node, and for each step two more, which find the range of its
operands and that of its result.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import polars as pl

from panewise.errors import InputError
from panewise.spec.column_types import Type
from panewise.spec.conditions import (
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
    SideName,
    sql_text,
)
from panewise.spec.conditions.operand_types import digits_of_result

ColumnNames: TypeAlias = Callable[[SideName, str], str]
Operator: TypeAlias = Callable[[Any, Any], Any]  # of expressions, or of numbers

_MATCHES: Final = "__matches"
_RESULT: Final = "__result"  # begins the names of the results of arithmetic
_LONG: Final = 2**63
_DIGITS: Final = 38  # of a decimal in 128 bits
_LONG_DIGITS: Final = 19
_PLAIN: Final = ("bigint", "string", "timestamp")  # literals whose equality needs no rule
_COMPARE: Final[dict[str, Operator]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTE: Final[dict[str, Operator]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


@dataclass(frozen=True)
class _Value:
    """A compiled value: an expression of Polars, and the kind of its results.

    Attributes:
        expr: the expression. It results in 64-bit integers, 64-bit floats, unscaled decimals in 128 bits, or
            other values.
        kind: "integer" (also timestamps and intervals), "double", "decimal", "other", or "null" for a column
            without values.
        digits: precision and scale of whole numbers and decimals.
    """

    expr: pl.Expr
    kind: str
    digits: tuple[int, int] = (_LONG_DIGITS, 0)


@dataclass(frozen=True)
class _Step:
    """One operation on whole numbers, whose result becomes a column."""

    node: Arithmetic
    first: pl.Expr
    second: pl.Expr
    name: str

    def run(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Returns the pairs with the result as a new column.

        The ranges of the operands nearly always show that no result leaves 64 bits. If they do not show it,
        the results are computed in 128 bits, where no result of two 64-bit numbers overflows.

        Raises:
            InputError: if a result does not fit in 64 bits.
        """
        first, second = self.first, self.second
        if not all(-_LONG <= bound < _LONG for bound in self._bounds(pairs)):
            first, second = first.cast(pl.Int128), second.cast(pl.Int128)
        results = pairs.with_columns(_COMPUTE[self.node.op](first, second).alias(self.name))
        low, high = results[self.name].min(), results[self.name].max()
        for bound in (low, high):
            if isinstance(bound, int) and not -_LONG <= bound < _LONG:
                raise _overflow(self.node, bound)
        return results.with_columns(pl.col(self.name).cast(pl.Int64))

    def _bounds(self, pairs: pl.DataFrame) -> list[int]:
        """Returns the results of the extreme operands: minimum or maximum with minimum or maximum.

        All results lie between the least and the greatest of these four, as sums, differences and products
        are monotone in each operand. Returns an empty list if an operand is always null.
        """
        ends = [
            [operand.min().alias(f"{n}min"), operand.max().alias(f"{n}max")]
            for n, operand in enumerate((self.first, self.second))
        ]
        low, high, others_low, others_high = pairs.select(*ends[0], *ends[1]).row(0)
        if low is None or others_low is None:
            return []
        compute = _COMPUTE[self.node.op]
        return [compute(bound, other) for bound in (low, high) for other in (others_low, others_high)]


@dataclass(frozen=True)
class CompiledCondition:
    """A condition that is compiled for the columns of a frame of pairs."""

    _steps: tuple[_Step, ...]
    _expr: pl.Expr

    def matches(self, pairs: pl.DataFrame) -> pl.Series:
        """Returns for each pair whether the condition is true; without nulls.

        Raises:
            InputError: if a result of arithmetic on whole numbers does not fit in 64 bits.
        """
        for step in self._steps:
            pairs = step.run(pairs)
        return pairs.with_columns(self._expr.fill_null(False).alias(_MATCHES))[_MATCHES]


def compile_condition(
    condition: Node, column_name: ColumnNames, schema: Mapping[str, pl.DataType]
) -> CompiledCondition:
    """Returns the condition compiled for pairs of rows.

    Args:
        condition: a condition that :func:`panewise.spec.conditions.as_condition` has checked, and
            :func:`panewise.spec.conditions.check_condition` for these columns.
        column_name: returns the name of a column in the frame of pairs, given its side and its name there.
        schema: the types of the columns in the frame of pairs.
    """
    steps: list[_Step] = []
    expr = _Compiler(column_name, schema, steps).value(condition).expr
    return CompiledCondition(tuple(steps), expr)


@dataclass(frozen=True)
class _Compiler:
    column_name: ColumnNames
    schema: Mapping[str, pl.DataType]
    steps: list[_Step]

    def value(self, node: Node) -> _Value:
        """Returns a compiled node. Each operation on whole numbers is a step, whose result is a column."""
        match node:
            case Column(side=side, name=name):
                return _column(self.column_name(side, name), self.schema)
            case Literal():
                return _literal(node)
            case Arithmetic(first=first, second=second):
                return self._computed(node, self.value(first), self.value(second))
        return _Value(self._condition(node), "other")

    def _condition(self, node: Node) -> pl.Expr:
        """Returns a compiled node whose results are truth values. Null is unknown."""
        match node:
            case Comparison(op=op, first=first, second=second):
                return _compared(op, self.value(first), self.value(second))
            case And(parts=parts):
                return pl.all_horizontal([self.value(part).expr for part in parts])
            case Or(parts=parts):
                return pl.any_horizontal([self.value(part).expr for part in parts])
            case Not(part=part):
                return ~self.value(part).expr
            case IsNull(value=inner):
                return self.value(inner).expr.is_null()
            case Between(value=inner, low=low, high=high):
                value = self.value(inner)
                return _compared(">=", value, self.value(low)) & _compared("<=", value, self.value(high))
        assert isinstance(node, In)
        return self._in(node)

    def _in(self, node: In) -> pl.Expr:
        value, options = self.value(node.value), node.options
        plain = [option.value for option in options if isinstance(option, Literal) and option.type in _PLAIN]
        if len(plain) == len(options) and value.kind in ("integer", "other"):
            return value.expr.is_in(plain)
        return pl.any_horizontal([_compared("=", value, self.value(option)) for option in options])

    def _computed(self, node: Arithmetic, first: _Value, second: _Value) -> _Value:
        """Returns a compiled arithmetic operation. The kinds of the operands decide how it is computed."""
        kinds, compute = {first.kind, second.kind}, _COMPUTE[node.op]
        if "null" in kinds:
            return _Value(pl.lit(None, dtype=pl.Boolean), "null")
        if "double" in kinds:
            return _Value(compute(_double(first), _double(second)), "double")
        if "decimal" in kinds:
            digits = digits_of_result(node.op, first.digits, second.digits)
            if node.op == "*":
                return _Value(_unscaled(first) * _unscaled(second), "decimal", digits)
            return _Value(compute(_scaled(first, digits[1]), _scaled(second, digits[1])), "decimal", digits)
        name = f"{_RESULT}{len(self.steps)}"
        self.steps.append(_Step(node, first.expr, second.expr, name))
        return _Value(pl.col(name), "integer")


def _column(name: str, schema: Mapping[str, pl.DataType]) -> _Value:
    """Returns a compiled column, in the widest type of its kind."""
    dtype, expr = schema[name], pl.col(name)
    if dtype.is_integer():
        return _Value(expr if dtype == pl.Int64 else expr.cast(pl.Int64), "integer")
    if dtype.is_float():
        return _Value(expr if dtype == pl.Float64 else expr.cast(pl.Float64), "double")
    if isinstance(dtype, pl.Decimal):
        return _Value(expr.to_physical(), "decimal", (dtype.precision or _DIGITS, dtype.scale))
    if isinstance(dtype, pl.Datetime | pl.Duration):
        assert dtype.time_unit == "us"
        return _Value(expr.to_physical(), "integer")
    return _Value(expr, "null" if dtype == pl.Null else "other")


def _literal(node: Literal) -> _Value:
    value = node.python
    match node.type:
        case "bigint" | "timestamp":
            return _Value(pl.lit(value, dtype=pl.Int64), "integer", (len(str(abs(value))), 0))
        case "double":
            return _Value(pl.lit(value, dtype=pl.Float64), "double")
        case "boolean" | "string" | "date":
            return _Value(pl.lit(value), "other")
    digits = Type(node.type).digits
    unscaled = int(str(node.value).replace(".", ""))
    return _Value(pl.lit(unscaled, dtype=pl.Int128), "decimal", digits)


def _overflow(node: Arithmetic, result: int) -> InputError:
    rule = "a result of whole numbers fits in 64 bits (semantics 38.14)"
    remedy = "cast a column to DOUBLE or DECIMAL(20,0) before the join"
    return InputError(f"{sql_text(node)} = {result}", rule, remedy)


def _double(value: _Value) -> pl.Expr:
    """Returns the nearest double of each number.

    A division by a power of ten would round a decimal twice, so it is read from its text.
    """
    if value.kind == "decimal":
        return (value.expr.cast(pl.String) + f"e-{value.digits[1]}").cast(pl.Float64)
    return value.expr if value.kind == "double" else value.expr.cast(pl.Float64)


def _unscaled(value: _Value) -> pl.Expr:
    return value.expr if value.kind == "decimal" else value.expr.cast(pl.Int128)


def _scaled(value: _Value, scale: int) -> pl.Expr:
    """Returns a whole number or a decimal as an unscaled decimal of a scale that is not smaller."""
    more = scale - value.digits[1]
    return _unscaled(value) * pl.lit(10**more, dtype=pl.Int128) if more else _unscaled(value)


def _compared(op: str, first: _Value, second: _Value) -> pl.Expr:
    """Returns a comparison of two values, in a kind that contains both. It is null if a value is null."""
    if op == "<=>":
        both_null = first.expr.is_null() & second.expr.is_null()
        return _compared("=", first, second).fill_null(False) | both_null
    kinds, compare = {first.kind, second.kind}, _COMPARE[op]
    if "null" in kinds:
        return pl.lit(None, dtype=pl.Boolean)
    if "decimal" in kinds and "double" not in kinds:
        return _compared_decimals(op, first, second)
    values = (_double(first), _double(second)) if "double" in kinds else (first.expr, second.expr)
    comparison: pl.Expr = compare(*values)
    return comparison


def _compared_decimals(op: str, first: _Value, second: _Value) -> pl.Expr:
    """Returns the comparison of decimals, or of decimals with whole numbers, by their exact values."""
    scale = max(first.digits[1], second.digits[1])
    if all(value.digits[0] - value.digits[1] + scale <= _DIGITS for value in (first, second)):
        comparison: pl.Expr = _COMPARE[op](_scaled(first, scale), _scaled(second, scale))
        return comparison
    # At one scale they may not fit in 128 bits. So the digits before the point and those after it are
    # compared separately.
    (whole, rest), (other_whole, other_rest) = (_split(value, scale) for value in (first, second))
    same = whole == other_whole
    if op in ("=", "!="):
        equal = same & (rest == other_rest)
        return equal if op == "=" else ~equal
    exact: pl.Expr = _COMPARE[op[0]](whole, other_whole) | (same & _COMPARE[op](rest, other_rest))
    return exact


def _split(value: _Value, scale: int) -> tuple[pl.Expr, pl.Expr]:
    """Returns the greatest whole number that is not above the value, and the rest at the given scale."""
    unit = pl.lit(10 ** value.digits[1], dtype=pl.Int128)
    more = pl.lit(10 ** (scale - value.digits[1]), dtype=pl.Int128)
    whole = _unscaled(value)
    return whole // unit, whole % unit * more
