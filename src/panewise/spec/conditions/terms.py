"""What users write conditions with: columns of both sides, and operators that build nodes."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from panewise.errors import SpecError
from panewise.spec.column_expressions import name_of
from panewise.spec.conditions import nodes
from panewise.spec.conditions.literals import Literal, literal_of
from panewise.spec.conditions.operand_types import check_condition
from panewise.spec.conditions.text import sql_text
from panewise.spec.fields import several

# A Term, or a value of Python that becomes a literal.
TermLike: TypeAlias = Any

_NO_TRUTH: Final = (
    "a condition has no truth value before there are rows, which Python's and, or, not, in and a < b < c need"
)
_WRITE: Final = (
    "write & for and, | for or, ~ for not, each comparison in parentheses, and .between() or .is_in()"
)


class Term:
    """A value or a condition over a pair of rows, made by :func:`left` and :func:`right`.

    Its operators return terms, as those of PySpark's Column do: `+ - *` compute, `== != < <= > >=` compare,
    and `& | ~` combine conditions. So terms cannot be compared or hashed as values; their nodes can.

    Attributes:
        node: the node of the specification.

    >>> (left("a") + 1 <= right("b")) & ~right("c").is_null()
    <Term left.a + 1 <= right.b AND right.c IS NOT NULL>
    """

    __slots__ = ("node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: nodes.Node) -> None:
        self.node = node

    def __eq__(self, other: TermLike) -> "Term":  # type: ignore[override]
        return self._compared("=", other)

    def __ne__(self, other: TermLike) -> "Term":  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: TermLike) -> "Term":
        return self._compared("<", other)

    def __le__(self, other: TermLike) -> "Term":
        return self._compared("<=", other)

    def __gt__(self, other: TermLike) -> "Term":
        return self._compared(">", other)

    def __ge__(self, other: TermLike) -> "Term":
        return self._compared(">=", other)

    def _compared(self, op: str, other: TermLike) -> "Term":
        return Term(nodes.Comparison(op, self.node, _node(other)))

    def eq_null_safe(self, other: TermLike) -> "Term":
        """Returns equality in which null equals null, as `<=>` of Spark. It is never null."""
        return self.is_null() if other is None else self._compared("<=>", other)

    def is_null(self) -> "Term":
        """Returns whether the value is null."""
        return Term(nodes.IsNull(self.node))

    def is_not_null(self) -> "Term":
        """Returns whether the value is not null."""
        return Term(nodes.Not(nodes.IsNull(self.node)))

    def between(self, low: TermLike, high: TermLike) -> "Term":
        """Returns whether the value is from `low` to `high`, both included."""
        return Term(nodes.Between(self.node, _node(low), _node(high)))

    def is_in(self, values: Iterable[TermLike]) -> "Term":
        """Returns whether the value equals one of the values."""
        if isinstance(values, (set, frozenset)):  # the order, which is stored, must not depend on the process
            values = sorted(values, key=repr)
        return Term(nodes.In(self.node, tuple(map(_node, several("is_in", values)))))

    def isin(self, *values: TermLike) -> "Term":
        """Returns whether the value equals one of the values, which are given one by one or as a list."""
        only = values[0] if len(values) == 1 else None
        return self.is_in(only if isinstance(only, (list, tuple, set, frozenset)) else values)

    isNull, isNotNull, eqNullSafe = is_null, is_not_null, eq_null_safe  # noqa: N815 - PySpark's names

    def __add__(self, other: TermLike) -> "Term":
        return Term(nodes.Arithmetic("+", self.node, _node(other)))

    def __sub__(self, other: TermLike) -> "Term":
        return Term(nodes.Arithmetic("-", self.node, _node(other)))

    def __mul__(self, other: TermLike) -> "Term":
        return Term(nodes.Arithmetic("*", self.node, _node(other)))

    def __radd__(self, other: TermLike) -> "Term":
        return Term(nodes.Arithmetic("+", _node(other), self.node))

    def __rsub__(self, other: TermLike) -> "Term":
        return Term(nodes.Arithmetic("-", _node(other), self.node))

    def __rmul__(self, other: TermLike) -> "Term":
        return Term(nodes.Arithmetic("*", _node(other), self.node))

    def __neg__(self) -> "Term":
        return 0 - self

    def __and__(self, other: TermLike) -> "Term":
        return Term(nodes.And((*_parts(nodes.And, self.node), *_parts(nodes.And, _node(other)))))

    def __or__(self, other: TermLike) -> "Term":
        return Term(nodes.Or((*_parts(nodes.Or, self.node), *_parts(nodes.Or, _node(other)))))

    def __rand__(self, other: TermLike) -> "Term":
        return Term(_node(other)) & self

    def __ror__(self, other: TermLike) -> "Term":
        return Term(_node(other)) | self

    def __invert__(self) -> "Term":
        return Term(nodes.Not(self.node))

    def __bool__(self) -> bool:
        raise SpecError(f"bool({sql_text(self.node)})", _NO_TRUTH, _WRITE)

    def __repr__(self) -> str:
        return f"<Term {sql_text(self.node)}>"


def _refused(op: str) -> Callable[[Term, Any], Term]:
    def refuse(self: Term, other: Any) -> Term:
        rule = "the arithmetic of conditions is + - * (semantics 38.13)"
        raise SpecError(f"{op} with {sql_text(self.node)}", rule, "compute it as a column before the join")

    return refuse


for _name, _op in {"truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}.items():
    setattr(Term, f"__{_name}__", _refused(_op))
    setattr(Term, f"__r{_name}__", _refused(_op))


def left(name: str) -> Term:
    """Returns the value of a column of the left row.

    >>> left("amount") > right("limit")
    <Term left.amount > right.limit>
    """
    return _column("left", name)


def right(name: str) -> Term:
    """Returns the value of a column of the right row."""
    return _column("right", name)


def _column(side: nodes.SideName, name: str) -> Term:
    """Returns a column's term. As elsewhere, the name may stand in backticks (semantics 35.2)."""
    return Term(nodes.Column(side, name_of(name) if isinstance(name, str) else name))


def _node(value: TermLike) -> nodes.Node:
    if isinstance(value, Term):
        return value.node
    return value if isinstance(value, nodes.Node) else literal_of(value)


def _parts(kind: type[nodes.And] | type[nodes.Or], node: nodes.Node) -> tuple[nodes.Node, ...]:
    """Returns the parts of a node of this kind, so that a & b & c is one node; else the node itself."""
    return node.parts if isinstance(node, (nodes.And, nodes.Or)) and isinstance(node, kind) else (node,)


def as_condition(value: TermLike) -> nodes.Node:
    """Returns the node of a condition that a user gives, after a check of all that needs no column types.

    Raises:
        SpecError: if the value is not a condition, reads no column, cannot have the types of its operators
            and literals, or is nested too deeply.

    >>> as_condition(left("a") == 1)
    Comparison(op='=', first=Column(side='left', name='a'), second=Literal(type='bigint', value=1))
    """
    if not isinstance(value, (Term, nodes.Node)) or isinstance(value, Literal):
        rule = "a condition compares columns of both sides"
        raise SpecError(f"condition={value!r}", rule, "write one such as left('amount') > right('limit')")
    node = _node(value)
    if nodes.depth(node) > nodes.MAX_DEPTH:
        raise nodes.too_deep(f"a condition {nodes.depth(node)} deep")
    if not nodes.columns_of_side(node, "left") and not nodes.columns_of_side(node, "right"):
        rule = "a condition reads a column (semantics 38.1)"
        raise SpecError(f"condition {sql_text(node)}", rule, "leave it out, or compare a column")
    check_condition(node, {}, {})
    return node
