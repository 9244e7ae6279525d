"""The syntax of a query: values that know which characters of the text they stand for.

Nothing here is made into text again. Expressions reach Spark as the characters that the user wrote.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlglot import exp

from panewise.chrono import Duration

# The words of joins, with what the join is for its operator.
HOWS: Final[Mapping[str, Any]] = {
    "JOIN": "inner",
    "INNER JOIN": "inner",
    **{f"{side} {word}JOIN": side.lower() for side in ("LEFT", "RIGHT", "FULL") for word in ("", "OUTER ")},
    **{f"{side}{kind} JOIN": kind.lower() for side in ("", "LEFT ") for kind in ("SEMI", "ANTI")},
    "CROSS JOIN": "inner",
    "ASOF JOIN": "inner",
    "ASOF INNER JOIN": "inner",
    "LEFT ASOF JOIN": "left",
    **{
        f"ASOF {kind} {word}JOIN": kind.lower()
        for kind in ("LEFT", "RIGHT", "FULL")
        for word in ("", "OUTER ")
    },
    **{f"ASOF {kind} JOIN": kind.lower() for kind in ("SEMI", "ANTI")},
}


@dataclass(frozen=True)
class TextSpan:
    """Characters of the text, from `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Expr:
    """An expression: its tree, and its characters."""

    node: exp.Expr
    span: TextSpan


@dataclass(frozen=True)
class SelectItem:
    """A column of a SELECT, with the name that AS gives it."""

    expr: Expr
    alias: str | None
    span: TextSpan

    @property
    def name(self) -> str | None:
        """The name that AS or a column without AS says, None for another expression."""
        return self.alias or (self.expr.node.name if isinstance(self.expr.node, exp.Column) else None)

    @property
    def is_star(self) -> bool:
        """Whether it stands for several columns, as `*` and `t.*` do."""
        return isinstance(self.expr.node, exp.Star)


@dataclass(frozen=True)
class Watermark:
    """WATERMARK column DELAY OF interval. `name` is the column, `computed` its expression if it has one."""

    name: str
    delay: Expr
    computed: Expr | None
    span: TextSpan


@dataclass(frozen=True)
class CqlWindow:
    """A window of CQL after a table.

    Attributes:
        kind: "rows", "range", "unbounded" or "now".
        length: the number of rows, or a duration; None for the others.
        slide: how far two windows are apart, None if each row makes one.
        partition_by: the columns by which rows are counted.
        time: the column of the event time, None if it is that of WATERMARK.
        span: its characters.
    """

    kind: str
    length: Any
    slide: Any
    partition_by: tuple[Expr, ...]
    time: str | None
    span: TextSpan


@dataclass(frozen=True)
class NamedTable:
    """A table by its name, or anything else of which only Spark knows what it is, such as VALUES.

    `options` are those of WITH that are for the operator, by lower-case names.
    """

    text: TextSpan
    name: str | None
    alias: str | None
    columns: tuple[str, ...]
    watermark: Watermark | None
    span: TextSpan
    options: tuple[tuple[str, str], ...] = ()
    system_time: Expr | None = None
    window: CqlWindow | None = None


@dataclass(frozen=True)
class Derived:
    """A query in parentheses."""

    query: "Query"
    alias: str | None
    columns: tuple[str, ...]
    watermark: Watermark | None
    span: TextSpan
    system_time: Expr | None = None


@dataclass(frozen=True)
class Argument:
    """An argument of a window function: an expression, or a number of rows. `name` is lower case."""

    name: str | None
    value: Expr
    rows: bool


@dataclass(frozen=True)
class TableFunction:
    """TUMBLE, HOP, CUMULATE or SESSION over a table.

    `implied` says that it was a clause WINDOW, which GROUP BY does not name; `grace` is that of this clause.
    """

    function: str
    data: "Source"
    partition_by: tuple[Expr, ...]
    time: Expr | None
    arguments: tuple[Argument, ...]
    alias: str | None
    name: TextSpan
    span: TextSpan
    implied: bool = False
    grace: Expr | None = None


@dataclass(frozen=True)
class JoinedRows:
    """Which rows of a table are joined: `OVER (...)` after it.

    Attributes:
        kind: "rows", "range" or "latest".
        length: a number of rows, a duration, or how long the newest row can be joined.
        time: the column of ORDER BY, None if there is none.
    """

    kind: str
    length: Any
    time: str | None


@dataclass(frozen=True)
class Join:
    """A join of two sources.

    Attributes:
        left: the left source.
        right: the right source.
        kind: the words of the join.
        on: the condition of ON.
        using: the columns of USING.
        span: its characters.
        match_condition: the condition of MATCH_CONDITION.
        within: the lengths of WITHIN: how far the right row may be before and after the left one.
        grace: the length of GRACE PERIOD after it, the allowed lateness of both sides.
        last: the rows of `OVER (...)`.
    """

    left: "Source"
    right: "Source"
    kind: str
    on: Expr | None
    using: tuple[str, ...]
    span: TextSpan
    match_condition: Expr | None = None
    within: tuple[Duration, Duration] | None = None
    last: JoinedRows | None = None
    grace: Duration | None = None


Source: TypeAlias = NamedTable | Derived | TableFunction | Join


@dataclass(frozen=True)
class Group:
    """GROUP BY: its expressions, and its sets if there are GROUPING SETS, CUBE or ROLLUP.

    A set has the positions of its expressions. `every` means GROUP BY ALL.
    """

    expressions: tuple[Expr, ...]
    sets: tuple[tuple[int, ...], ...] | None
    every: bool
    span: TextSpan


@dataclass(frozen=True)
class Phrase:
    """A part of EMIT: its words, with an interval or number where one was given."""

    words: tuple[str, ...]
    value: Any
    span: TextSpan


@dataclass(frozen=True)
class Emit:
    """The EMIT clause."""

    phrases: tuple[Phrase, ...]
    span: TextSpan

    @property
    def words(self) -> set[tuple[str, ...]]:
        """The words of its parts."""
        return {phrase.words for phrase in self.phrases}


@dataclass(frozen=True)
class Select:
    """A SELECT. `others` are its further clauses, which only Spark knows, such as LATERAL VIEW.

    `windows` are the named windows of the clause WINDOW.
    """

    items: tuple[SelectItem, ...]
    distinct: bool
    source: Source | None
    where: Expr | None
    group: Group | None
    having: Expr | None
    qualify: Expr | None
    others: tuple[tuple[str, TextSpan], ...]
    span: TextSpan
    source_span: TextSpan | None = None
    windows: tuple[exp.Expr, ...] = ()
    windows_span: TextSpan | None = None

    @property
    def aliases(self) -> dict[str, Expr]:
        """The expressions of the SELECT list that AS names, by these names in lower case."""
        return {item.alias.lower(): item.expr for item in self.items if item.alias is not None}

    @property
    def expressions(self) -> list[Expr]:
        """The expressions of the SELECT list, and of WHERE, HAVING and QUALIFY."""
        others = [self.where, self.having, self.qualify]
        return [*(item.expr for item in self.items), *(expr for expr in others if expr is not None)]


@dataclass(frozen=True)
class SetOperation:
    """UNION, EXCEPT or INTERSECT."""

    word: Literal["UNION", "EXCEPT", "INTERSECT"]
    every: bool
    left: "Body"
    right: "Body"
    span: TextSpan


@dataclass(frozen=True)
class Opaque:
    """A query that only Spark knows, such as VALUES."""

    span: TextSpan


@dataclass(frozen=True)
class Streamed:
    """ISTREAM, DSTREAM or RSTREAM of a query: its insertions, its deletions, or its whole contents."""

    word: Literal["ISTREAM", "DSTREAM", "RSTREAM"]
    query: "Query"
    span: TextSpan


Body: TypeAlias = "Select | SetOperation | Opaque | Query | Streamed"


@dataclass(frozen=True)
class Cte:
    """A named query of WITH."""

    name: str
    columns: tuple[str, ...]
    query: "Query"


@dataclass(frozen=True)
class Query:
    """A whole query: WITH, a body, what follows the body (ORDER BY, LIMIT), and EMIT.

    Attributes:
        order: the expressions of ORDER BY.
    """

    ctes: tuple[Cte, ...]
    body: Body
    tail: tuple[tuple[str, TextSpan], ...]
    emit: Emit | None
    span: TextSpan
    order: tuple[Expr, ...] = ()
