"""Functions over windows of a whole input, as Spark has them on a batch (semantics 46.170).

A whole input has a last row, and may have any order. So the event time of an operator is the place of a row
in the order of a window, as a whole number: equal rows have one place, and nulls have places, too.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from panewise import functions as F
from panewise.errors import SqlError
from panewise.spec import Frame, OverColumn
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import constant, function_name, is_arrival
from panewise.sql.over.compiler import OverCompiler
from panewise.sql.over.frames import OverKey, order_terms
from panewise.sql.over.whole_frames import LENGTH, ROWS, WholeFrameReader
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Select
from panewise.sql.sources import OperatorInput
from panewise.sql.stages import OverStage, QueryStage, RowPlace
from panewise.sql.text.pieces import normal, one_line

_NUMBERS: Final = ("row_number", "rank", "dense_rank")
_SHARES: Final = {
    "percent_rank": "coalesce(({rank} - 1) / nullif({all} - 1, 0), CAST(0 AS DOUBLE))",
    "cume_dist": "{reached} / {all}",
}
_TILE: Final = """CASE WHEN {row} <= ({all} % {n}) * ({all} div {n} + 1)
    THEN CAST(({row} - 1) div ({all} div {n} + 1) + 1 AS INT)
    ELSE CAST({all} % {n} + ({row} - 1 - ({all} % {n}) * ({all} div {n} + 1))
        div coalesce(nullif({all} div {n}, 0), 1) + 1 AS INT) END"""


class WholeCompiler(OverCompiler):
    """Makes the stages of functions over windows of a whole input."""

    frames: WholeFrameReader

    def __init__(self, parser: QueryParser, select: Select, rows: OperatorInput) -> None:
        super().__init__(parser, select, rows, {})
        self.frames = WholeFrameReader(parser)
        self.positions: dict[str, RowPlace] = {}

    def position(self, key: OverKey) -> RowPlace | None:
        """Returns the place that is the event time of an operator; None for the order of arrival."""
        return self.positions.get(key.order[0]) if key.order else None

    def _timed(self, input: QueryStage) -> QueryStage:  # noqa: A002 - as there
        return input

    def _add(self, window: exp.Window) -> None:
        function, known = function_name(window.this), normal(self.parser.characters_of(window))
        if known in self.names or (function not in _SHARES and function != "ntile"):
            super()._add(window)
            if function in _NUMBERS:  # which is a BIGINT of the operator
                self.texts[known] = f"CAST({in_backticks(self.names[known])} AS INT)"
            return
        self.names[known] = one_line(self.parser.characters_of(window)).replace("`", "")
        columns: dict[str, tuple[Any, Frame | None]] = {
            "row": (F.row_number(), None),
            "rank": (F.rank(), None),
            "all": (F.count(), Frame("rows", -ROWS, ROWS)),
            "reached": (F.count(), Frame("range", None, 0)),
        }
        text, names = self._formula(window, function), dict[str, str]()
        key = self._key(self._described(window))
        for part, (what, frame) in columns.items():
            names[part] = in_backticks(f"{part} of {self.names[known]}")
            if f"{{{part}}}" in text:
                column = OverColumn(what.alias(f"{part} of {self.names[known]}"), frame)
                self.operators.setdefault(key, []).append(column)
        self.texts[known] = f"({text.format(**names, n=self._buckets(window))})"

    def _formula(self, window: exp.Window, function: str | None) -> str:
        """Returns the formula of a function that counts its partition."""
        if function in _SHARES and not window.this.expressions:
            return _SHARES[function]
        if function == "ntile" and self._buckets(window) > 0:
            return _TILE
        rule = f"{function} has the arguments of Spark's {function}"
        shown = self.parser.characters_of(window)
        raise self.parser.fail(shown, rule, "see pyspark", self._span(window))

    def _buckets(self, window: exp.Window) -> int:
        arguments = window.this.expressions
        known = constant(arguments[0]) if len(arguments) == 1 else None
        return known[0] if known is not None and type(known[0]) is int else 0

    def _key(self, window: exp.Expr) -> OverKey:
        """Returns the columns of PARTITION BY, and the place in ORDER BY."""
        partition, terms = self._partition(window), order_terms(window)
        if is_arrival(terms):
            self.frames.check_arrival(window, terms[0])
            return OverKey(partition, (), (), ())
        return OverKey(partition, (self._place(window, partition, terms),), (), ())

    def _place(self, window: exp.Expr, partition: tuple[str, ...], terms: list[exp.Expr]) -> str:
        """Returns the column of the place of a row."""
        unit = self.frames.unit(window, window) if isinstance(window, exp.Window) else None
        if unit is not None and len(terms) != 1:
            rule = "the length of a RANGE is counted from one value"
            raise self.parser.fail("RANGE", rule, "order by one column", self._span(window))
        position = RowPlace(
            f"place {len(self.positions) + 1}",
            partition,
            tuple(self.parser.characters_of(term.this) for term in terms),
            tuple(bool(term.args.get("desc")) for term in terms),
            tuple(not term.args.get("nulls_first", True) for term in terms),
            unit,  # type: ignore[arg-type]
        )
        same = [known for known in self.positions.values() if replace(known, name=position.name) == position]
        place = same[0] if same else position
        self.positions[place.name] = place
        return place.name

    def _operator(self, key: OverKey, columns: list[OverColumn]) -> Any:
        position = self.position(key)
        if position is not None and position.unit is not None:
            frames = [column.frame for column in columns if column.frame is not None]
            bounds = (bound for frame in frames for bound in (frame.start, frame.end) if bound is not None)
            reach = max((abs(bound) for bound in bounds if abs(bound) < LENGTH), default=0)
            apart = any(frame.kind == "range" and not _has_own_row(frame) for frame in frames)
            self.positions[position.name] = replace(position, reach=reach, apart=apart)
        return super()._operator(key, columns)


def _has_own_row(frame: Frame) -> bool:
    """Returns whether a frame has the present row."""
    return (frame.start or 0) <= 0 <= (frame.end or 0)


def over_whole(
    parser: QueryParser, select: Select, rows: OperatorInput, options: Mapping[str, Any]
) -> QueryStage:
    """Returns the stages of a SELECT with functions over windows of a whole input.

    Those of an event time are the operators that a stream has. Only the tables show whether a column is one.

    Raises:
        SqlError: if a part breaks a rule.
    """
    try:
        streamed = OverCompiler(parser, select, rows, options).stage()
    except SqlError:
        if options:
            raise
        return WholeCompiler(parser, select, rows).stage()
    if options or not isinstance(streamed, OverStage):
        return streamed
    try:
        whole = WholeCompiler(parser, select, rows).stage()
    except SqlError:
        return streamed
    return replace(streamed, whole=whole)
