"""DISTINCT, and ROW_NUMBER() = 1 in the order of event time, as deduplications (semantics 46.33)."""

from collections.abc import Callable
from typing import Any, Literal

from sqlglot import exp

from panewise.spec import DeduplicateOperator
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import column_name, is_arrival, windows_in
from panewise.sql.first_rows.pattern import Pattern, is_row_number, same_text
from panewise.sql.input_columns import InputColumns
from panewise.sql.over.named_windows import described
from panewise.sql.parsing.emit import CHANGES, PLAIN
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Select, SelectItem
from panewise.sql.sources import OperatorInput
from panewise.sql.stages import DeduplicateStage, OutputColumn


def order_of_first(pattern: Pattern, time: str | None, parser: QueryParser) -> tuple[str, str] | None:
    """Returns `by` and `keep` of the deduplication that a query is.

    None if it takes other rows, or has an order or an EMIT that a deduplication does not have.
    """
    window, words = described(pattern.window, pattern.inner.windows, parser), _words(pattern.emit)
    order = window.args.get("order")
    if pattern.function != "row_number" or pattern.n != 1 or not window.args.get("partition_by"):
        return None
    if order is None or len(order.expressions) != 1 or pattern.inner.having:
        return None
    ordered, plain = order.expressions[0], words <= PLAIN | CHANGES
    descends = bool(ordered.args.get("desc"))
    if is_arrival(order.expressions):
        return ("arrival", "last" if descends else "first") if plain else None
    name = column_name(ordered.this, frozenset()) or ""
    timed = time is not None and name.lower() == time.lower() and ordered.args.get("nulls_first", True)
    return ("event_time", "first") if timed and plain and not descends else None


def _words(emit: Emit | None) -> set[tuple[str, ...]]:
    return set() if emit is None else emit.words


class DeduplicateCompiler:
    """Compiles a SELECT to a deduplication.

    Args:
        parser: the parser, which knows the text.
        select: the SELECT whose FROM and WHERE it has.
        source: its input.
        emit: its EMIT clause.
        options: further fields of the specification.
    """

    def __init__(
        self,
        parser: QueryParser,
        select: Select,
        source: OperatorInput,
        emit: Emit | None,
        options: dict[str, Any],
    ) -> None:
        self.parser, self.select, self.source, self.emit, self.options = parser, select, source, emit, options
        self.columns = InputColumns(parser, source.names)

    def first_rows(self, pattern: Pattern, by: str, keep: str) -> DeduplicateStage:
        """Returns the first or the last row of each key.

        Raises:
            SqlError: for another function over a window.
        """
        window = described(pattern.window, pattern.inner.windows, self.parser)
        keys = [self._name(node) for node in window.args["partition_by"]]
        emit = "at_once" if (by, keep) == ("arrival", "first") else "retracting"
        if by == "event_time" and _words(self.emit) & PLAIN:
            emit = "complete"
        listed = (self._number_or_column(item, pattern) for item in self.select.items)
        outputs = [output for output in listed if output is not None]
        if emit == "retracting":
            outputs.append(OutputColumn("op", "op", "op"))
        spec = self._spec(keys, lambda: {"by": by, "keep": keep, "emit": emit})
        return self._stage(spec, tuple(outputs))

    def distinct(self) -> DeduplicateStage:
        """Returns the different rows of a SELECT DISTINCT, which names its columns."""
        names: list[str] = []
        outputs: list[OutputColumn] = []
        for item in self.select.items:
            name = self.columns.name_of(item.expr)
            plain = column_name(item.expr.node, self.source.names)
            names.append(name)
            text = self.parser.characters(item.expr.span)
            outputs.append(OutputColumn(in_backticks(name), item.alias or plain, text))
        return self._stage(self._spec(list(dict.fromkeys(names)), dict), tuple(outputs))

    def _name(self, node: exp.Expr) -> str:
        return self.columns.name_of(self.parser.expr_of(node))

    def _spec(self, keys: list[str], more: Callable[[], dict[str, Any]]) -> DeduplicateOperator:
        """Returns the specification. With the event time as a key, the watermark ends its groups."""
        time = self.source.time
        bounded = time is not None and time.lower() in {name.lower() for name in keys}
        within: int | Literal["unlimited"] = 1 if bounded else "unlimited"
        with self.parser.placing(self.select.span):
            return DeduplicateOperator(keys=keys, within=within, event_time=time, **more(), **self.options)

    def _stage(self, spec: DeduplicateOperator, outputs: tuple[OutputColumn, ...]) -> DeduplicateStage:
        where = self.select.where
        return DeduplicateStage(
            self.source.stage,
            self.source.alias,
            None if where is None else self.parser.characters(where.span),
            tuple(column for column in self.columns.computed.values() if column.name in spec.columns_read),
            spec,
            outputs,
        )

    def _number_or_column(self, item: SelectItem, pattern: Pattern) -> OutputColumn | None:
        """Returns a column; None for a number that the result does not have."""
        text = self.parser.characters(item.expr.span)
        if is_row_number(item.expr.node) and same_text(item.expr.node, pattern.window, self.parser):
            hidden = item.alias is not None and pattern.rank is None
            return None if hidden else OutputColumn("1", item.alias, text)
        if windows_in(item.expr.node):
            rule = (
                "a query that removes duplicates has one function over a window, that which numbers its rows"
            )
            raise self.parser.fail(text, rule, "compute it in a query in FROM", item.span)
        if item.is_star:
            return OutputColumn(text, None, text)
        return OutputColumn(text, item.alias or column_name(item.expr.node, self.source.names), text)
