"""The names that Spark gives to columns of a SELECT list without AS (semantics 46.105)."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import ParseError

from panewise.errors import SqlError
from panewise.sql.expressions.function_calls import CASTS, OPERATORS, function_name
from panewise.sql.parsing.parser import QueryParser, parse_expression
from panewise.sql.stages import OutputColumn
from panewise.sql.text.pieces import one_line
from panewise.sql.windows.panes import STRUCTS, window_call

_OPERATORS: Final[Mapping[type[exp.Expr], str]] = {**OPERATORS, exp.And: "AND", exp.Or: "OR"}
_UPPER: Final = frozenset({"rank", "dense_rank", "percent_rank", "floor", "ceil", "sqrt", "power"})
_OTHER: Final = {"array_agg": "collect_list", "ceiling": "ceil", "pow": "power"}
# Functions with further arguments that Spark adds or leaves out.
_ADDED: Final = {"round": "0", "percentile": "1"}
_FIRST_ARGUMENT: Final = frozenset(
    {"first", "last", "first_value", "last_value", "any_value", "approx_count_distinct"}
)
_NUMBERINGS: Final = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "ntile"})
_SHIFTS: Final = {"lag": -1, "lead": 1}
_UNKNOWN: Final = frozenset({"unix_timestamp", "to_timestamp", "make_interval", "date_part", "datepart"})
_TO_THE_END: Final = "2147483647"  # the length that Spark adds to a substring
_DIGITS: Final = {"DAY": 1, "HOUR": 2, "MINUTE": 2, "SECOND": 2}


class _UnknownNameError(Exception):
    """Spark's name of an expression is not known here."""


def output_name(output: OutputColumn) -> str:
    """Returns the name of a column of a SELECT list: that of the query, or Spark's, or else the text."""
    if output.name is not None:
        return output.name
    return spark_name(output.original) or one_line(output.original)


@lru_cache(maxsize=1024)
def spark_name(text: str) -> str | None:
    """Returns the name that Spark gives to an expression, None if it is not known here.

    >>> spark_name("COUNT(*)"), spark_name("sum(t.v * 2) / 3"), spark_name("from_json(v, 'a INT')[0]")
    ('count(1)', '(sum((v * 2)) / 3)', None)
    """
    try:
        expr, parser = parse_expression(text)
        node, names = expr.node, _Names(parser)
        if isinstance(node, exp.Column):
            return node.name
        plain = isinstance(node, (exp.Cast, exp.TryCast)) and isinstance(node.this, exp.Column)
        return names.name(node.this if plain else node)
    except (_UnknownNameError, SqlError, ParseError):
        return None


class _Names:
    def __init__(self, parser: QueryParser) -> None:
        self.parser = parser
        self.special: dict[type[exp.Expr], Callable[[Any], str]] = {
            exp.Column: self._column,
            exp.Dot: self._field,
            exp.Literal: self._literal,
            exp.Null: lambda node: "NULL",
            exp.Boolean: lambda node: str(bool(node.this)).lower(),
            exp.Paren: lambda node: self.name(node.this),
            exp.Neg: self._negative,
            exp.Not: self._not,
            exp.NEQ: lambda node: f"(NOT ({self.name(node.this)} = {self.name(node.expression)}))",
            exp.Is: self._is,
            exp.NullSafeNEQ: lambda node: f"(NOT ({self.name(node.this)} <=> {self.name(node.expression)}))",
            exp.IntDiv: lambda node: f"({self.name(node.this)} div {self.name(node.expression)})",
            exp.In: self._in,
            exp.Between: lambda node: self._list("between", node.this, node.args["low"], node.args["high"]),
            exp.Like: self._like,
            exp.ILike: lambda node: self._negated(node, self._list("ilike", node.this, node.expression)),
            exp.DPipe: lambda node: self._list("concat", node.this, node.expression),
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Trim: self._trim,
            exp.Extract: lambda node: f"extract({node.this.name} FROM {self.name(node.expression)})",
            exp.Substring: self._substring,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Filter: lambda node: (
                f"{self.name(node.this)} FILTER (WHERE {self.name(node.expression.this)})"
            ),
            exp.Window: self._over,
            exp.IgnoreNulls: self._ignoring,
        }

    def name(self, node: exp.Expr) -> str:
        """Returns the name of an expression in another one."""
        kind = type(node)
        if kind in _OPERATORS:
            return self._operator(node, _OPERATORS[kind])
        if kind in self.special:
            return self.special[kind](node)
        name = function_name(node)
        if name is None:
            raise _UnknownNameError
        return self._call(name, list(node.expressions))

    def _list(self, name: str, *nodes: exp.Expr) -> str:
        return f"{name}({', '.join(map(self.name, nodes))})"

    def _column(self, node: exp.Column) -> str:
        """Returns the name without its table. Before a field it is not known whether a table stands there."""
        if len(node.parts) > 2:
            raise _UnknownNameError
        of_window = node.table.lower() in STRUCTS  # which hardly is the name of a table
        return f"{node.table}.{node.name}" if of_window else node.name

    def _field(self, node: exp.Dot) -> str:
        """Returns the bound in a call of a window: Spark names it by the column with both bounds."""
        if window_call(node) is None:
            raise _UnknownNameError
        return f"window.{node.expression.name}"

    def _literal(self, node: exp.Literal) -> str:
        text = str(node.this)
        if not node.is_string and not text.replace(".", "").isdigit():
            raise _UnknownNameError
        return text

    def _operator(self, node: Any, operator: str) -> str:
        """Returns an operation. Spark writes those of times and intervals without parentheses."""
        if node.expression.key == "interval":
            return f"{self.name(node.this)} {operator} {self._interval(node.expression)}"
        return f"({self.name(node.this)} {operator} {self.name(node.expression)})"

    def _interval(self, node: exp.Expr) -> str:
        written = self.parser.characters_of(node).upper().removesuffix("S").split()
        unit = written[-1].strip("'").removesuffix("S")
        number = written[-2].strip("'") if len(written) == 3 else ""
        if unit not in _DIGITS or not number.isdigit():
            raise _UnknownNameError
        return f"INTERVAL '{number.zfill(_DIGITS[unit])}' {unit}"

    def _negative(self, node: exp.Neg) -> str:
        inner = self.name(node.this)
        return f"-{inner}" if isinstance(node.this, exp.Literal) else f"(- {inner})"

    def _not(self, node: exp.Not) -> str:
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return f"({self.name(node.this.this)} IS NOT NULL)"
        return f"(NOT {self.name(node.this)})"

    def _is(self, node: exp.Is) -> str:
        """Returns IS NULL, or IS TRUE and the like, which are `<=>` on Spark."""
        if isinstance(node.expression, exp.Null):
            return f"({self.name(node.this)} IS NULL)"
        return f"({self.name(node.this)} <=> {self.name(node.expression)})"

    def _in(self, node: exp.In) -> str:
        if not node.expressions:
            raise _UnknownNameError
        return f"({self.name(node.this)} {self._list('IN ', *node.expressions)})"

    def _like(self, node: exp.Like) -> str:
        return self._negated(node, f"{self.name(node.this)} LIKE {self.name(node.expression)}")

    def _negated(self, node: exp.Expr, text: str) -> str:
        return f"(NOT {text})" if node.args.get("negate") else text

    def _cast(self, node: exp.Cast) -> str:
        """Returns CAST or TRY_CAST. One of a literal may be a constant with a type."""
        kind = node.args["to"].sql("spark").upper()
        if self.parser.characters_of(node)[:1].isdigit():
            return self._suffixed(str(node.this.name), kind)
        if isinstance(node.this, exp.Literal):
            if kind != "DATE" or type(node) is exp.TryCast:
                raise _UnknownNameError
            return f"DATE '{node.this.name}'"
        word = "TRY_CAST" if node.args.get("safe") else "CAST"
        return f"{word}({self.name(node.this)} AS {kind})"

    def _suffixed(self, text: str, kind: str) -> str:
        """Returns a number with a suffix, such as 2L or 1.5D. Spark leaves the suffix out."""
        if kind not in ("DOUBLE", "FLOAT"):
            return text
        if not 1e-3 <= float(text) < 1e7:
            raise _UnknownNameError  # Java writes it with an exponent
        return repr(float(text))

    def _trim(self, node: exp.Trim) -> str:
        if [*node.iter_expressions()] != [node.this]:
            raise _UnknownNameError
        return self._list("trim", node.this)

    def _case(self, node: exp.Case) -> str:
        text = "CASE"
        for branch in node.args["ifs"]:
            condition = self.name(branch.this)
            if node.this is not None:
                condition = f"({self.name(node.this)} = {condition})"
            text += f" WHEN {condition} THEN {self.name(branch.args['true'])}"
        default = node.args.get("default")
        return f"{text} END" if default is None else f"{text} ELSE {self.name(default)} END"

    def _substring(self, node: exp.Substring) -> str:
        parts = node.this, node.args.get("start"), node.args.get("length")
        texts = [self.name(part) for part in parts if part is not None]
        return f"substring({', '.join([*texts, *(() if len(texts) > 2 else (_TO_THE_END,))])})"

    def _if(self, node: exp.If) -> str:
        default = node.args.get("false")
        if default is None:
            raise _UnknownNameError
        return f"(IF({self.name(node.this)}, {self.name(node.args['true'])}, {self.name(default)}))"

    def _ignoring(self, node: exp.IgnoreNulls) -> str:
        """Returns a call with IGNORE NULLS, which Spark leaves out but for `nth_value`."""
        name = function_name(node.this) or ""
        if name == "nth_value":
            return f"{self.name(node.this)} ignore nulls"
        if name in ("first_value", "last_value"):
            return self._call(name.removesuffix("_value"), list(node.this.expressions))
        return self.name(node.this)

    def _call(self, name: str, arguments: list[exp.Expr]) -> str:
        if name in _UNKNOWN:
            raise _UnknownNameError
        if name in STRUCTS:
            return name
        if name in CASTS and len(arguments) == 1:
            return self.name(arguments[0])
        if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            return "count(1)"
        if name in ("isnull", "isnotnull") and len(arguments) == 1:
            return f"({self.name(arguments[0])} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
        if name in _FIRST_ARGUMENT:
            arguments = arguments[:1]
        distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = list(arguments[0].expressions)
        texts = [self.name(argument) for argument in arguments]
        texts += [_ADDED[name]] if name in _ADDED and len(texts) == (1 if name == "round" else 2) else []
        shown = _OTHER.get(name, name)
        shown = shown.upper() if shown in _UPPER else shown
        return f"{shown}({'DISTINCT ' if distinct else ''}{', '.join(texts)})"

    def _over(self, node: exp.Window) -> str:
        if node.args.get("alias") is not None:
            raise _UnknownNameError
        name = function_name(_called(node)) or ""
        partition = [self.name(part) for part in node.args.get("partition_by") or ()]
        order = node.args.get("order")
        parts = [f"PARTITION BY {', '.join(partition)}"] if partition else []
        if order is not None:
            parts.append(f"ORDER BY {', '.join(map(self._ordered, order.expressions))}")
        call = self._shift(node, name) if name in _SHIFTS else self.name(node.this)
        return f"{call} OVER ({' '.join([*parts, self._frame(node, name)])})"

    def _ordered(self, node: exp.Expr) -> str:
        """Returns a column of ORDER BY, with its direction and the place of its nulls."""
        descends = bool(node.args.get("desc"))
        nulls = "FIRST" if node.args.get("nulls_first", not descends) else "LAST"
        return f"{self.name(node.this)} {'DESC' if descends else 'ASC'} NULLS {nulls}"

    def _shift(self, node: exp.Window, name: str) -> str:
        texts = [self.name(argument) for argument in _called(node).expressions]
        return f"{name}({', '.join([*texts, *('1', 'NULL')[len(texts) - 1 :]])})"

    def _frame(self, node: exp.Window, name: str) -> str:
        spec = node.args.get("spec")
        if name in _SHIFTS:
            arguments = _called(node).expressions
            n = int(self.name(arguments[1])) if len(arguments) > 1 else 1
            return "ROWS BETWEEN {0} FOLLOWING AND {0} FOLLOWING".format(n * _SHIFTS[name])
        if spec is None:
            if node.args.get("order") is None and node.args.get("alias") is None:
                return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
            kind = "ROWS" if name in _NUMBERINGS else "RANGE"
            return f"{kind} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        if spec.args.get("exclude") is not None:
            raise _UnknownNameError
        start = self._bound(spec, "start")
        end = "CURRENT ROW" if spec.args.get("end") is None else self._bound(spec, "end")
        return f"{str(spec.args['kind']).upper()} BETWEEN {start} AND {end}"

    def _bound(self, spec: exp.Expr, which: str) -> str:
        value, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
        if isinstance(value, exp.Expr):
            value = self._interval(value) if value.key == "interval" else self.name(value)
        return f"{value} {side}".strip()


def _called(window: exp.Window) -> exp.Expr:
    """Returns the call of a function over a window, without IGNORE NULLS."""
    call: exp.Expr = window.this
    return call.this if isinstance(call, exp.IgnoreNulls) else call
