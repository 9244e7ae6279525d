"""GROUPING SETS, CUBE and ROLLUP: each row is repeated for every set, before the operator (46.17)."""

from typing import Final

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import function_name
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Expr
from panewise.sql.stages import Computed
from panewise.sql.text.pieces import normal

SET: Final = "grouping set"  # the column with the number of the set


class Sets:
    """The sets of a GROUP BY.

    Args:
        parser: the parser, for errors.
        sets: the positions of the expressions of each set; None if there is one set, of all expressions.
    """

    def __init__(self, parser: QueryParser, sets: tuple[tuple[int, ...], ...] | None) -> None:
        self.parser, self.sets = parser, sets
        self.places: dict[str, int] = {}  # the positions of keys, by their normal texts

    @property
    def exploded(self) -> Computed | None:
        """The column with the number of the set, which repeats rows; None if there is one set."""
        if self.sets is None:
            return None
        return Computed(SET, f"explode(array({', '.join(map(str, range(len(self.sets))))}))")

    @property
    def number_key(self) -> dict[str, str]:
        """The number of the set as a key, so that nulls of the rows differ from those of the sets."""
        return {} if self.sets is None else {normal(in_backticks(SET)): SET}

    def key(self, number: int, text: str, plain: str) -> str | None:
        """Returns the expression of a key: null in the sets that do not have it. None if all have it.

        `plain` is its normal text.
        """
        if self.sets is None:
            return None
        self.places[plain] = number
        return f"CASE WHEN {self._with(number)} THEN {text} END"

    def check_window(self, number: int, expr: Expr) -> None:
        """Refuses sets without the window.

        Raises:
            SqlError: if a set does not have it.
        """
        if self.sets is not None and not all(number in places for places in self.sets):
            rule = "every set of GROUP BY has the window"
            remedy = "write the window before GROUPING SETS, CUBE or ROLLUP"
            raise self.parser.fail(self.parser.characters(expr.span), rule, remedy, expr.span)

    def grouping(self, node: exp.Expr, wanted: list[str], keys: list[str]) -> str:
        """Returns the expression over panes of a call of `grouping` or `grouping_id`, with Spark's type.

        Raises:
            SqlError: if it reads another expression than a key.
        """
        kind = "TINYINT" if function_name(node) == "grouping" else "BIGINT"
        if self.sets is None:
            return f"CAST(0 AS {kind})"
        wanted = wanted or [key for key in keys if key in self.places]
        numbers = [self.places.get(key) for key in wanted]
        if None in numbers:
            rule = "the arguments of GROUPING and GROUPING_ID are keys of GROUP BY"
            span = self.parser.span_of(node)
            raise self.parser.fail(self.parser.characters(span), rule, "name one of these", span)
        bits = [
            f"CASE WHEN {self._with(number or 0)} THEN 0 ELSE {2**place} END"
            for place, number in enumerate(reversed(numbers))
        ]
        return f"CAST({' + '.join(bits)} AS {kind})"

    def _with(self, number: int) -> str:
        """Returns the condition that a row is of a set that has this expression."""
        having = [str(place) for place, places in enumerate(self.sets or ()) if number in places]
        return f"{in_backticks(SET)} IN ({', '.join(having)})" if having else "FALSE"
