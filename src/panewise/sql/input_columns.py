"""The columns that an operator reads: plain ones by name, others are computed by Spark before it."""

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from panewise.spec import Aggregate
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import (
    CallSyntax,
    check_no_window,
    column_name,
    columns_in,
    constant,
    has_aggregate,
    plain_name,
)
from panewise.sql.expressions.functions import AggregateCall, aggregate_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Expr
from panewise.sql.stages import Computed
from panewise.sql.text.pieces import normal, one_line


@dataclass
class InputColumns:
    """The columns that an operator reads: plain ones by name, others are computed.

    Attributes:
        parser: the parser, which knows the text.
        aliases: the names by which expressions call the source.
        computed: the computed columns, by the normal texts of their expressions.
        computed_names: the names of the computed columns.
        spellings: the names of plain columns, by their lower-case ones.
        bounds: the lower-case names of columns that are bounds of windows.
    """

    parser: QueryParser
    aliases: frozenset[str]
    computed: dict[str, Computed] = field(default_factory=dict)
    computed_names: set[str] = field(default_factory=set)
    spellings: dict[str, str] = field(default_factory=dict)
    bounds: frozenset[str] = frozenset()

    def reads_bounds(self, node: exp.Expr) -> bool:
        """Returns whether an expression reads a bound of windows."""
        names = (plain_name(column, self.aliases) for column in columns_in(node))
        return not self.bounds.isdisjoint(names)

    def name_of(self, expr: Expr) -> str:
        """Returns the name of the column with the value of an expression."""
        name = column_name(expr.node, self.aliases)
        return self.add(self.parser.characters(expr.span)) if name is None else self.spelling(name)

    def spelling(self, name: str) -> str:
        """Returns a name as the query spells it first: names that differ in case are one column."""
        return self.spellings.setdefault(name.lower(), name)

    def add(self, text: str, name: str | None = None) -> str:
        """Returns the name of the column with the value of a text."""
        shown = one_line(text) if name is None else name
        known = self.computed.setdefault(normal(text, self.aliases), Computed(shown, text))
        self.computed_names.add(known.name)
        return known.name

    def mask(self, condition: str, column: str) -> str:
        """Returns the name of a column that is null where a condition is not true."""
        texts = {computed.name: computed.text for computed in self.computed.values()}
        test, value = (texts.get(name, in_backticks(name)) for name in (condition, column))
        return self.add(f"CASE WHEN {test} THEN {value} END", f"{column} FILTER (WHERE {condition})")

    def aggregate(self, call: CallSyntax) -> Aggregate:
        """Returns the aggregate of a call.

        Raises:
            SqlError: if panewise does not have it.
        """
        with self.parser.placing(call.span):
            return aggregate_of(self._call(call), self.mask)

    def _call(self, call: CallSyntax) -> AggregateCall:
        self._check_arguments(call)
        values = list(call.arguments)
        if call.within is not None:
            self._check_within(call)
            values = [*(ordered.this for ordered in call.within.expressions), *values]
        if call.name == "count" and not call.distinct and len(values) == 1 and _counts_all(values[0]):
            values = []
        constants: tuple[Any, ...] = ()
        while len(values) > 1 and (known := constant(values[-1])) is not None:
            constants, values = (*known, *constants), values[:-1]
        places = [self.parser.expr_of(value) for value in values]
        columns = tuple(map(self.name_of, places))
        if call.name == "count" and len(places) > 1:
            columns = (self._all_of(places, distinct=call.distinct),)
        condition = None if call.condition is None else self.name_of(self.parser.expr_of(call.condition))
        return AggregateCall(call.name, columns, constants, call.distinct, call.ignore_nulls, condition)

    def _check_arguments(self, call: CallSyntax) -> None:
        """Refuses aggregates and functions over windows in an aggregate."""
        for node in (*call.arguments, call.condition):
            if node is not None and self.reads_bounds(node):
                rule = "a bound of a window is the same for all its rows, and no column of them"
                text = self.parser.characters(call.span)
                remedy = "write the bound without an aggregate"
                raise self.parser.fail(text, rule, remedy, call.span)
            if node is not None and has_aggregate(node):
                rule = "an aggregate is computed from rows, not from aggregates"
                text = self.parser.characters(call.span)
                raise self.parser.fail(text, rule, "aggregate again in a query over this one", call.span)
            if node is not None:
                check_no_window(node, self.parser, "an aggregate")

    def _check_within(self, call: CallSyntax) -> None:
        """Refuses an order of WITHIN GROUP that would change the value."""
        assert call.within is not None
        if any(ordered.args.get("desc") for ordered in call.within.expressions):
            rule = f"{call.name} has its values in ascending order"
            remedy = "leave DESC out; percentile_cont(p) of descending values is that of 1 - p"
            raise self.parser.fail("WITHIN GROUP (ORDER BY ... DESC)", rule, remedy, call.span)

    def _all_of(self, places: list[Expr], *, distinct: bool) -> str:
        """Returns the name of a column that is null if one of several values is null."""
        texts = [self.parser.characters(place.span) for place in places]
        test = " AND ".join(f"({text}) IS NOT NULL" for text in texts)
        value = f"struct({', '.join(texts)})" if distinct else "1"
        return self.add(f"CASE WHEN {test} THEN {value} END", f"({', '.join(map(one_line, texts))})")


def _counts_all(node: exp.Expr) -> bool:
    """Returns whether `count` of this argument counts all rows: of `*`, or of a constant."""
    known = constant(node)
    return isinstance(node, exp.Star) or (known is not None and known[0] is not None)
