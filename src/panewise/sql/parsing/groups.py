"""GROUP BY, with GROUPING SETS, CUBE and ROLLUP."""

from typing import Final, TypeAlias

from sqlglot import TokenType, exp

from panewise.sql.parsing.expressions import ExpressionParser
from panewise.sql.parsing.syntax import Expr, Group
from panewise.sql.parsing.window_tables import check_name

MAX_SETS: Final = 1_024  # of GROUP BY
_Set: TypeAlias = tuple[int, ...]  # the positions of its expressions


def group_by(parser: ExpressionParser) -> Group:
    """Parses the expressions and the sets after GROUP BY."""
    index = parser.index
    if parser.take_words("ALL"):
        return Group((), None, True, parser.span_from(index))
    clause = _GroupClause(parser)
    sets = clause.sets()
    span = parser.span_from(index)
    return Group(tuple(clause.expressions), None if sets is None else tuple(sets), False, span)


class _GroupClause:
    """Parses the parts of GROUP BY, and collects their different expressions."""

    def __init__(self, parser: ExpressionParser) -> None:
        self.parser, self.expressions = parser, list[Expr]()

    def sets(self) -> list[_Set] | None:
        """Parses all parts. Returns their sets, None if all expressions are one set."""
        sets: list[_Set] | None = None
        while True:
            further = self._grouping()
            if further is not None:
                self._check_sets((len(sets) if sets else 1) * len(further))
            else:
                first = len(self.expressions)
                self.expressions += self._keys()
                further = None if sets is None else [tuple(range(first, len(self.expressions)))]
            if further is not None:
                sets = [(*each, *more) for each in sets or [()] for more in further]
            if not self.parser.take(TokenType.COMMA):
                return self._suffix() if sets is None else sets
            if sets is None and self._grouping_ahead():
                sets = [tuple(range(len(self.expressions)))]

    def _keys(self) -> list[Expr]:
        """Parses a key, or several in parentheses."""
        check_name(self.parser)
        expr = self.parser.expr("an expression follows GROUP BY")
        node = expr.node.unnest()
        if isinstance(node, exp.Tuple):
            return [self.parser.expr_of(inner) for inner in node.expressions]
        return [expr if node is expr.node else self.parser.expr_of(node)]

    def _check_sets(self, count: int) -> None:
        """Refuses a GROUP BY that would repeat each row too often."""
        if count > MAX_SETS:
            rule = f"each row is repeated for every set of GROUP BY, at most {MAX_SETS:,} times"
            raise self.parser.unexpected(rule, "name the sets that you need: GROUPING SETS ((a, b), (a))")

    def _grouping_ahead(self) -> bool:
        return self.parser.at_word("GROUPING", "SETS") or any(
            self.parser.at_word(word) and self.parser.at(TokenType.L_PAREN, ahead=1)
            for word in ("CUBE", "ROLLUP")
        )

    def _suffix(self) -> list[_Set] | None:
        """Parses WITH CUBE, WITH ROLLUP, or GROUPING SETS after the expressions."""
        numbers = tuple(range(len(self.expressions)))
        if self.parser.take_words("WITH", "ROLLUP"):
            return _rollup([(number,) for number in numbers])
        if self.parser.take_words("WITH", "CUBE"):
            self._check_sets(2 ** len(numbers))
            return _cube([(number,) for number in numbers])
        return self._grouping() if self._grouping_ahead() else None

    def _grouping(self) -> list[_Set] | None:
        """Parses GROUPING SETS, CUBE or ROLLUP; returns its sets. It adds what is new to the expressions."""
        if not self._grouping_ahead():
            return None
        word = self.parser.word().split()[0]
        if not self.parser.take_words("GROUPING", "SETS"):
            self.parser.take_words(word)
        self.parser.required(
            TokenType.L_PAREN, f"{word} has its sets in parentheses", f"write {word} ((a, b), (a))"
        )
        parts = self.parser.separated(self._set) if not self.parser.at(TokenType.R_PAREN) else ((),)
        self.parser.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        flat = [number_set for part in parts for number_set in (part if isinstance(part, list) else [part])]
        expand = {"CUBE": _cube, "ROLLUP": _rollup}.get(word)
        self._check_sets(2 ** len(flat) if word == "CUBE" else len(flat))
        return flat if expand is None else expand(flat)

    def _set(self) -> _Set | list[_Set]:
        inner = self._grouping()
        if inner is not None:
            return inner
        if not self.parser.take(TokenType.L_PAREN):
            return (self._number(self.parser.expr()),)
        numbers: _Set = ()
        if not self.parser.at(TokenType.R_PAREN):
            numbers = tuple(self._number(expr) for expr in self.parser.separated(self.parser.expr))
        self.parser.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        return numbers

    def _number(self, expr: Expr) -> int:
        text = self.parser.characters(expr.span).lower()
        for number, known in enumerate(self.expressions):
            if self.parser.characters(known.span).lower() == text:
                return number
        self.expressions.append(expr)
        return len(self.expressions) - 1


def _rollup(parts: list[_Set]) -> list[_Set]:
    return [
        tuple(number for part in parts[:length] for number in part) for length in range(len(parts), -1, -1)
    ]


def _cube(parts: list[_Set]) -> list[_Set]:
    sets: list[_Set] = [()]
    for part in reversed(parts):
        sets = [(*part, *rest) for rest in sets] + sets
    return sets
