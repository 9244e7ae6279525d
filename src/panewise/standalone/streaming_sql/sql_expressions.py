"""Expressions of a text of SQL as expressions of Polars (semantics 46.52)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

import polars as pl

from panewise.errors import PanewiseError, SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.expression_tree import (
    STAR,
    STAR_OF,
    CallNode,
    ColumnNode,
    ConstantNode,
    Node,
    tree_of,
)
from panewise.sql.expressions.function_calls import CASTS
from panewise.sql.expressions.stars import check_left_out
from panewise.standalone.streaming_sql.sql_casts import COMPARISONS, cast_of, with_times
from panewise.standalone.streaming_sql.sql_functions import FUNCTIONS, like_pattern
from panewise.standalone.streaming_sql.sql_regex import matching
from panewise.standalone.streaming_sql.sql_time_functions import field_of_time, truncated
from panewise.standalone.streaming_sql.sql_time_patterns import formatted, parsed
from panewise.standalone.streaming_sql.sql_typed import Function, Typed, refusal

_REPLACED: Final = ("extract", "date_part", "datepart")
PATTERNS: Final[Mapping[str, Callable[[str], Function]]] = {
    "date_format": formatted,
    "to_date": partial(parsed, date=True),
    "to_timestamp": partial(parsed, date=False),
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), matching),
}
_WITHOUT_PATTERN: Final = {"to_date": "date", "to_timestamp": "timestamp"}
# Functions whose results have the type that their values have in common.
_CHOICES: Final = frozenset({"case", "if", "coalesce", "nvl", "nvl2", "ifnull", "greatest", "least"})


@dataclass(frozen=True)
class Scope:
    """The columns that expressions read.

    Attributes:
        columns: the columns with their types.
        alias: the name of the table, None if it has none.
    """

    columns: Mapping[str, pl.DataType]
    alias: str | None = None

    def typed(self, text: str) -> Typed:
        """Returns an expression.

        Raises:
            SqlError: if it has a column that is not there, or a function that is not known here.
        """
        return self.typed_node(tree_of(text))

    def condition(self, text: str) -> pl.Expr:
        """Returns a condition, which selects rows for which it is true.

        Raises:
            SqlError: if its values are neither true, false nor null.
        """
        value = self.typed(text)
        if not isinstance(value.dtype, (pl.Boolean, pl.Null)):
            raise refusal(
                f"{text} of {value.dtype}", "rows are selected by a condition, which is true or false"
            )
        return value.expr.cast(pl.Boolean)

    def column(self, name: str) -> pl.Expr:
        """Returns a column. Case has no effect.

        Raises:
            SqlError: if it is not there.
        """
        return self._column((name,)).expr

    def typed_node(self, node: Node) -> Typed:
        """Returns an expression that is a tree."""
        match node:
            case ColumnNode(names):
                return self._column(names)
            case ConstantNode(value):
                return self._typed(pl.lit(value, dtype=_dtype(value)))
            case _:
                return self._call(node)

    def _typed(self, expr: pl.Expr) -> Typed:
        try:
            schema = pl.LazyFrame(schema=self.columns).select(value=expr).collect_schema()
        except pl.exceptions.PolarsError as error:
            said = str(error).split("\n", 1)[0]
            raise refusal(said, "in process Polars computes expressions, and refuses this one") from None
        dtype = schema["value"]
        if not expr.meta.root_names() and not dtype.is_nested():
            # Functions of Python would have one value of constants, whatever the number of rows is.
            expr = pl.lit(pl.select(expr).item(), dtype=dtype)
        return Typed(expr, dtype)

    def _column(self, names: tuple[str, ...]) -> Typed:
        """Returns a column, or a field of one. The name of the table may precede."""
        known = {name.lower(): name for name in self.columns}
        rest = names
        alias = (self.alias or "").lower()
        if len(names) > 1 and names[0].lower() == alias and names[1].lower() in known:
            rest = names[1:]  # the table precedes a column of its name
        elif names[0].lower() not in known and len(names) > 1:
            of_table = self.alias is None or names[0].lower() == alias
            rest = names[1:] if of_table else names
        first = known.get(rest[0].lower())
        if sum(column.lower() == rest[0].lower() for column in self.columns) > 1:
            rule = "case has no effect in names of columns, so this one means several"
            raise SqlError(f"a column {'.'.join(names)}", rule, "rename one of them before")
        if first is None:
            rule = f"the columns are {list(self.columns)}"
            raise SqlError(f"a column {'.'.join(names)}", rule, "correct the name")
        value = Typed(pl.col(first), self.columns[first])
        for name in rest[1:]:
            value = self._field(value, name)
        return value

    def _field(self, value: Typed, name: str) -> Typed:
        fields = value.dtype.fields if isinstance(value.dtype, pl.Struct) else []
        field = next((known for known in fields if known.name.lower() == name.lower()), None)
        if field is None:
            rule = f"the fields are {[known.name for known in fields]}"
            raise SqlError(f"a field {name}", rule, "correct the name")
        return self._typed(value.expr.struct.field(field.name))

    def _call(self, call: CallNode) -> Typed:
        name = call.name
        if name in CASTS and len(call.arguments) == 1:
            return self._cast(CallNode("cast", (*call.arguments, ConstantNode(name))))
        if name == "as":
            return self.typed_node(call.arguments[0])
        special = self._special().get(name)
        if special is not None:
            return special(call)
        function = FUNCTIONS.get(name)
        if function is None:
            known = sorted({*FUNCTIONS, *_REPLACED, *PATTERNS, "date_trunc"})
            rule = f"in process there are the functions {', '.join(known)}"
            raise refusal(f"{name}(...)", rule)
        return self._apply(
            name, function, [self.typed_node(argument) for argument in call.arguments], call.arguments
        )

    def _special(self) -> dict[str, Callable[[CallNode], Typed]]:
        """Returns the functions that look at more than the types of their arguments."""
        return {
            "struct": self._struct,
            "named_struct": self._named_struct,
            "cast": self._cast,
            "try_cast": self._cast,
            "like": self._like,
            "ilike": self._like,
            "date_trunc": self._date_trunc,
            **dict.fromkeys(_REPLACED, self._date_part),
            **dict.fromkeys(PATTERNS, self._with_pattern),
        }

    def _apply(self, name: str, function: Function, values: Sequence[Typed], nodes: Sequence[Node]) -> Typed:
        """Returns a call. Constants are DOUBLE beside a DOUBLE, and DECIMAL beside a DECIMAL."""
        if any(value.is_float for value in values):
            values = self._constants(values, nodes, Decimal, float)
        elif name not in _CHOICES and any(value.is_decimal for value in values):
            values = self._constants(values, nodes, int, Decimal)
        values = with_times(values, nodes) if name in COMPARISONS else values
        try:
            return self._typed(function(name, values))
        except (TypeError, ValueError) as error:
            if isinstance(error, PanewiseError):
                raise
            raise refusal(
                f"{name} of {len(values)} arguments", "a function has the arguments of Spark's"
            ) from None

    def _constants(
        self, values: Sequence[Typed], nodes: Sequence[Node], kind: type[Any], wanted: type[Any]
    ) -> list[Typed]:
        """Returns values in which the constants of a type are those of another one."""
        return [
            self.typed_node(ConstantNode(wanted(node.value)))
            if isinstance(node, ConstantNode) and type(node.value) is kind
            else value
            for value, node in zip(values, nodes, strict=True)
        ]

    def _struct(self, call: CallNode) -> Typed:
        fields: list[pl.Expr] = []
        for number, node in enumerate(call.arguments):
            if node == STAR or (isinstance(node, CallNode) and node.name == STAR_OF):
                fields += self._star(node)
                continue
            name = f"col{number + 1}"
            if isinstance(node, ColumnNode):
                name = node.names[-1]
            if isinstance(node, CallNode) and node.name == "as":
                name = str(_constant(node.arguments[1]))
            fields.append(self.typed_node(node).expr.alias(name))
        return self._typed(pl.struct(*fields))

    def _star(self, node: CallNode) -> list[pl.Expr]:
        """Returns the columns for which `*` and `t.* EXCEPT (...)` stand."""
        table, *without = map(_constant, node.arguments or (ConstantNode(None),))
        if table is not None and table.lower() != (self.alias or "").lower():
            raise SqlError(f"{table}.*", f"the rows are those of {self.alias}", "correct the name")
        if without:
            check_left_out(f"* EXCEPT ({', '.join(map(in_backticks, without))})", self.columns)
        return [pl.col(name) for name in self.columns if name.lower() not in without]

    def _named_struct(self, call: CallNode) -> Typed:
        """Returns a struct of names and values in turn."""
        names = [_constant(node) for node in call.arguments[::2]]
        values = [self.typed_node(node).expr for node in call.arguments[1::2]]
        if len(names) != len(values) or not all(isinstance(name, str) for name in names):
            raise refusal("named_struct", "its arguments are constant names and values, in turn")
        return self._typed(pl.struct(value.alias(name) for name, value in zip(names, values, strict=True)))

    def _cast(self, call: CallNode) -> Typed:
        """Returns a cast whose result no rule of formatting or rounding decides."""
        node, kind = call.arguments
        return self._typed(cast_of(self.typed_node(node), str(_constant(kind)), node))

    def _like(self, call: CallNode) -> Typed:
        pattern = _constant(call.arguments[1])
        value = self.typed_node(call.arguments[0])
        if not isinstance(pattern, str) or not value.is_text:
            raise refusal("LIKE", "in process a text is compared with a constant pattern")
        text = value.expr.cast(pl.String)
        if call.name == "ilike":
            text, pattern = text.str.to_lowercase(), pattern.lower()
        return self._typed(text.str.contains(like_pattern(pattern)))

    def _date_part(self, call: CallNode) -> Typed:
        return self._of_word(call, field_of_time, "in process a field is a year, month, day, hour or minute")

    def _date_trunc(self, call: CallNode) -> Typed:
        return self._of_word(call, truncated, "in process a unit is one from second to year")

    def _with_pattern(self, call: CallNode) -> Typed:
        """Returns a call whose last argument is a constant pattern. Without one it is a cast."""
        if len(call.arguments) == 1 and call.name in _WITHOUT_PATTERN:
            kind = ConstantNode(_WITHOUT_PATTERN[call.name])
            return self._cast(CallNode("cast", (*call.arguments, kind)))
        pattern = _constant(call.arguments[1]) if len(call.arguments) == 2 else None
        if not isinstance(pattern, str):
            raise refusal(f"{call.name}(...)", "in process it takes a value and a constant pattern")
        function = PATTERNS[call.name](pattern)
        return self._typed(function(call.name, [self.typed_node(call.arguments[0])]))

    def _of_word(self, call: CallNode, function_of: Callable[[str], Function | None], rule: str) -> Typed:
        """Returns a call whose first argument is a constant that decides the function, such as a unit."""
        word = str(_constant(call.arguments[0])) if call.arguments else ""
        function = function_of(word)
        if function is None or len(call.arguments) != 2:
            raise refusal(f"{call.name}({word!r}, ...)", rule)
        return self._typed(function(call.name, [self.typed_node(call.arguments[1])]))


def _constant(node: Node) -> Any:
    return node.value if isinstance(node, ConstantNode) else None


def _dtype(value: object) -> pl.DataType | None:
    """Returns the type of a constant if it is not the one that Polars takes."""
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        return pl.Decimal(max(len(digits) + int(exponent) + scale, scale), scale)
    if isinstance(value, bool) or not isinstance(value, (int, timedelta)):
        return None
    if isinstance(value, timedelta):
        return pl.Duration("us")
    return pl.Int32() if -(2**31) <= value < 2**31 else pl.Int64()
