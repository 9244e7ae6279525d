"""GROUP BY, with GROUPING SETS, CUBE and ROLLUP."""

from typing import Final

from sqlglot import TokenType, exp

from panewise.sql.relations import RelationParser
from panewise.sql.syntax import Expr, Group

MAX_SETS: Final = 1_024  # of GROUP BY


class GroupParser(RelationParser):
    """Parses what follows GROUP BY."""

    def group(self) -> Group:
        """Parses the expressions and the sets."""
        index = self._index
        if self.take_words("ALL"):
            return Group((), None, True, self.span_from(index))
        expressions: list[Expr] = []
        sets: list[tuple[int, ...]] | None = None
        while True:
            further = self._grouping(expressions)
            if further is not None:
                self._check_sets((len(sets) if sets else 1) * len(further))
                sets = (
                    further
                    if sets is None
                    else [(*each_set, *further_set) for each_set in sets for further_set in further]
                )
            else:
                first = len(expressions)
                expressions += self._keys()
                each_set = tuple(range(first, len(expressions)))
                sets = None if sets is None else [(*known_set, *each_set) for known_set in sets]
            if not self.take(TokenType.COMMA):
                break
            if sets is None and self._grouping_ahead():
                sets = [tuple(range(len(expressions)))]
        if sets is None and (further := self._suffix(expressions)) is not None:
            sets = further
        return Group(tuple(expressions), None if sets is None else tuple(sets), False, self.span_from(index))

    def _keys(self) -> list[Expr]:
        """Parses a key, or several in parentheses."""
        expr = self.expr("an expression follows GROUP BY")
        node = expr.node.unnest()
        if isinstance(node, exp.Tuple):
            return [self.expr_of(inner) for inner in node.expressions]
        return [expr if node is expr.node else self.expr_of(node)]

    def _check_sets(self, count: int) -> None:
        """Refuses a GROUP BY that would repeat each row too often."""
        if count > MAX_SETS:
            rule = f"each row is repeated for every set of GROUP BY, at most {MAX_SETS:,} times"
            raise self.unexpected(rule, "name the sets that you need: GROUPING SETS ((a, b), (a))")

    def _grouping_ahead(self) -> bool:
        return self.at_word("GROUPING", "SETS") or any(
            self.at_word(word) and self._next.token_type == TokenType.L_PAREN for word in ("CUBE", "ROLLUP")
        )

    def _suffix(self, expressions: list[Expr]) -> list[tuple[int, ...]] | None:
        """Parses WITH CUBE, WITH ROLLUP, or GROUPING SETS behind the expressions."""
        numbers = tuple(range(len(expressions)))
        if self.take_words("WITH", "ROLLUP"):
            return _rollup([(number,) for number in numbers])
        if self.take_words("WITH", "CUBE"):
            self._check_sets(2 ** len(numbers))
            return _cube([(number,) for number in numbers])
        return self._grouping(expressions) if self._grouping_ahead() else None

    def _grouping(self, expressions: list[Expr]) -> list[tuple[int, ...]] | None:
        """Parses GROUPING SETS, CUBE or ROLLUP; returns its sets. It adds what is new to the expressions."""
        if not self._grouping_ahead():
            return None
        word = self._curr.text.upper().split()[0]
        if not self.take_words("GROUPING", "SETS"):
            self._advance()
        self.required(TokenType.L_PAREN, f"{word} has its sets in parentheses", f"write {word} ((a, b), (a))")
        parts = self.separated(lambda: self._set(expressions)) if not self.at(TokenType.R_PAREN) else ((),)
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        flat = [number_set for part in parts for number_set in (part if isinstance(part, list) else [part])]
        expand = {"CUBE": _cube, "ROLLUP": _rollup}.get(word)
        self._check_sets(2 ** len(flat) if word == "CUBE" else len(flat))
        return flat if expand is None else expand(flat)

    def _set(self, expressions: list[Expr]) -> "tuple[int, ...] | list[tuple[int, ...]]":
        inner = self._grouping(expressions)
        if inner is not None:
            return inner
        if not self.at(TokenType.L_PAREN):
            return (self._number(self.expr(), expressions),)
        self._advance()
        numbers: tuple[int, ...] = ()
        if not self.at(TokenType.R_PAREN):
            numbers = tuple(self._number(expr, expressions) for expr in self.separated(self.expr))
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        return numbers

    def _number(self, expr: Expr, expressions: list[Expr]) -> int:
        text = self.sql[expr.span.start : expr.span.end].lower()
        for number, known in enumerate(expressions):
            if self.sql[known.span.start : known.span.end].lower() == text:
                return number
        expressions.append(expr)
        return len(expressions) - 1


def _rollup(parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [
        tuple(number for part in parts[:length] for number in part) for length in range(len(parts), -1, -1)
    ]


def _cube(parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    sets: list[tuple[int, ...]] = [()]
    for part in reversed(parts):
        sets = [(*part, *rest) for rest in sets] + sets
    return sets
