"""The columns of stages, as far as the text and the declared tables show them (semantics 46.43).

A column whose type depends on a function of Spark has no known type. A query that Spark alone runs has no
known columns. What is not known is not checked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from sqlglot import exp

from panewise.errors import SpecError, SqlError
from panewise.families import INPUT
from panewise.spec import parts
from panewise.spec.column_types import Type
from panewise.sql.expressions import tokens_of
from panewise.sql.function_calls import column_name, columns_in, function_name
from panewise.sql.joins import resolved
from panewise.sql.parser import QueryParser
from panewise.sql.spark_names import output_name
from panewise.sql.stages import (
    AssignedStage,
    JoinStage,
    MarkedStage,
    OutputColumn,
    OverStage,
    RowsStage,
    SingleInputStage,
    SparkStage,
    Stage,
    TableStage,
    WindowsStage,
)
from panewise.sql.texts import quoted

Types: TypeAlias = dict[str, Type | None]  # by column; None where the type is not known

_TIMESTAMP: Final = Type("timestamp")
_SPARKS: Final = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
    "varchar": "string",
}
_NAMED: Final = re.compile(r"[`']([^`']+)[`']|(?:event time|key|order|gap|offset) (\w+)")  # columns in errors
_WITH_UNIT: Final = frozenset(
    {"timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff"}
)


def type_of(text: str) -> Type:
    """Returns the type that a column has in a statement.

    >>> type_of("Decimal(10, 2)"), type_of("LONG"), type_of("ARRAY<STRUCT<a: INT>>")
    (Type(name='decimal(10,2)'), Type(name='bigint'), Type(name='array<struct<a:int>>'))
    """
    lower = re.sub(r"\s*([<>(),:])\s*", r"\1", " ".join(text.split()).lower())
    word = re.match(r"\w+", lower)
    name = _SPARKS.get(word[0], word[0]) if word is not None else lower
    behind = lower[len(word[0]) :] if word is not None else ""
    if name == "string" and behind.startswith("("):
        behind = ""
    return Type(f"{name}{behind or ('(10,0)' if name == 'decimal' else '')}")


@dataclass(frozen=True)
class KnownTable:
    """What a script declares about a table.

    Attributes:
        columns: the columns with their types, None if they are not known.
        streaming: whether it is a stream.
        watermarks: the columns with a watermark, None if that is not known.
    """

    columns: Types | None
    streaming: bool
    watermarks: frozenset[str] | None = frozenset()


UNKNOWN: Final = KnownTable(None, streaming=False, watermarks=None)


class ColumnCheck:
    """Checks the columns that a query reads, and returns those of its rows.

    Args:
        sql: the query, for the places of errors.
        tables: what is known about tables, by lower-case names.
        closed: whether there are no other tables than these and those with a database.
    """

    def __init__(self, sql: str, tables: Mapping[str, KnownTable], *, closed: bool = False) -> None:
        self.sql, self.tables, self.closed = sql, tables, closed

    def known_table(self, stage: Stage) -> KnownTable:
        """Returns the columns of a stage.

        Raises:
            SqlError: if it reads a column that its input does not have, or one of a wrong type.
        """
        match stage:
            case TableStage():
                return self._table(stage)
            case SparkStage():
                return self._of_spark(stage)
            case MarkedStage():
                return self._marked(self.known_table(stage.input), stage)
            case RowsStage():
                rows = self._filtered(stage, self.known_table(stage.input))
                return rows if stage.outputs is None else self._selected(rows, stage.outputs, stage.alias)
            case AssignedStage():
                _ = stage.fixed  # which is refused if it is none
                rows = self._with(
                    self.known_table(stage.input), ("window_start", "window_end", "window_time")
                )
                self._check(rows, [stage.time], None)
                return rows
            case JoinStage():
                return self._joined(stage)
            case OverStage():
                return self._over(stage)
            case SingleInputStage():
                return self._windows(stage)

    def _table(self, stage: TableStage) -> KnownTable:
        known = self.tables.get((stage.name or stage.text).lower())
        if known is None:
            self._check_place(stage)
            return UNKNOWN
        if stage.columns and known.columns is not None:
            known = replace(known, columns=dict(zip(stage.columns, known.columns.values(), strict=False)))
        return self._marked(known, stage)

    def _check_place(self, stage: TableStage) -> None:
        """Refuses a table that is not declared, unless its name says where Spark has it."""
        if self.closed and stage.name is not None and "." not in stage.name:
            rule = f"a table is one of the script: {sorted(self.tables)}"
            remedy = "declare it, or write its catalog and database before it"
            raise self.fail(f"a table {stage.name}", rule, remedy, stage.name)

    def _marked(self, known: KnownTable, stage: TableStage | MarkedStage) -> KnownTable:
        if stage.watermark is None:
            return known
        name, _, text = stage.watermark
        if text is None:
            self._check(known, [quoted(name)], stage.alias)
        else:
            known = self._with(known, (name,))
        marked = None if known.watermarks is None else known.watermarks | {name.lower()}
        return replace(known, watermarks=marked)

    def _of_spark(self, stage: SparkStage) -> KnownTable:
        inputs = [self.known_table(table) for table, _ in stage.tables]
        streaming = any(table.streaming for table in inputs)
        endless = stage.endless
        if streaming and endless is not None:
            place = {"start": endless.start, "end": endless.end}
            raise SqlError(endless.given, endless.rule, endless.remedy, sql=self.sql, **place)
        return replace(UNKNOWN, streaming=streaming)

    def _filtered(self, stage: Any, known: KnownTable) -> KnownTable:
        self._check(known, [] if stage.where is None else [stage.where], stage.alias)
        return known

    def _with(self, known: KnownTable, names: Iterable[str]) -> KnownTable:
        if known.columns is None:
            return known
        return replace(known, columns={**known.columns, **dict.fromkeys(names, _TIMESTAMP)})

    def _selected(
        self, known: KnownTable, outputs: Iterable[OutputColumn], alias: str | None, new: Iterable[str] = ()
    ) -> KnownTable:
        outputs = tuple(outputs)
        self._check(
            known,
            [output.text for output in outputs if not output.text.endswith(")") or "*" not in output.text],
            alias,
        )
        if known.columns is None:
            return known
        columns, hidden = Types(), {name.lower() for name in new}
        for output in outputs:
            if output.text.endswith("*"):
                columns |= {
                    name: type_ for name, type_ in known.columns.items() if name.lower() not in hidden
                }
            else:
                columns[output_name(output)] = _of_column(known.columns, output.text)
        remaining = {name.lower() for name in columns}
        marks = None if known.watermarks is None else known.watermarks & remaining
        return replace(known, columns=columns, watermarks=marks)

    def _windows(self, stage: SingleInputStage) -> KnownTable:
        rows = self._filtered(stage, self.known_table(stage.input))
        exploded = stage.exploded if isinstance(stage, WindowsStage) else None
        if exploded is not None and rows.columns is not None:
            rows = replace(rows, columns={**rows.columns, exploded.name: None})
        self._operator(stage, rows)
        outputs = stage.outputs or ()
        names = [output_name(output) for output in outputs]
        times = {f"window_{end}" for end in ("start", "end", "time")}
        columns = {name: _TIMESTAMP if name in times else None for name in names}
        ranked = stage.ranked if isinstance(stage, WindowsStage) else None
        known = ranked is None and not any(output.text.endswith("*") for output in outputs)
        return KnownTable(columns if known else None, rows.streaming, None)

    def _over(self, stage: OverStage) -> KnownTable:
        rows = self._filtered(stage, self.known_table(stage.input))
        self._operator(stage, rows)
        new = [column.name for column in stage.spec.columns]
        if rows.columns is None:
            return replace(rows, watermarks=None)
        both = replace(rows, columns={**rows.columns, **dict.fromkeys(new)}, watermarks=None)
        return both if stage.outputs is None else self._selected(both, stage.outputs, stage.alias, new)

    def _operator(self, stage: SingleInputStage, rows: KnownTable) -> None:
        """Checks the columns that an operator reads."""
        self._check(rows, [column.text for column in stage.computed], stage.alias)
        self._check_spec(stage.spec, {INPUT: rows}, {column.name for column in stage.computed})

    def _check_spec(self, spec: Any, rows: Mapping[str, KnownTable], computed: Iterable[str] = ()) -> None:
        computed = {name.lower() for name in computed}
        for port, entry in spec.ports.items():
            known = rows[port]
            if known.columns is not None:
                missing = [name for name in entry.columns_read if name.lower() not in computed]
                self._check(known, map(quoted, missing), None)
        types = {
            port: {name: type_ for name, type_ in (known.columns or {}).items() if type_ is not None}
            for port, known in rows.items()
        }
        try:
            parts(spec).check_types(spec, types)
        except SpecError as error:
            raise self._placed(error) from None

    def _placed(self, error: SpecError) -> SqlError:
        names = [name for pair in _NAMED.findall(error.given) for name in pair if name]
        return self.fail(error.given, error.rule, error.remedy, *names)

    def _joined(self, stage: JoinStage) -> KnownTable:
        sides = {"left": self.known_table(stage.left), "right": self.known_table(stage.right)}
        streaming = any(side_table.streaming for side_table in sides.values())
        mixed = len({side_table.streaming for side_table in sides.values()}) > 1 and stage.spark is not None
        columns = {
            side: list(side_table.columns)
            for side, side_table in sides.items()
            if side_table.columns is not None
        }
        if len(columns) < 2 or mixed:
            return replace(UNKNOWN, streaming=streaming)
        times = tuple(
            time if time is not None else next(iter(sides[side].watermarks or ()), None)
            for side, time in zip(sides, stage.times, strict=True)
        )
        if None in times:
            return replace(UNKNOWN, streaming=streaming)
        try:
            join = resolved(stage, columns, times)  # type: ignore[arg-type]
        except SqlError as error:
            raise (error if error.line is not None else self._placed(error)) from None
        except SpecError as error:
            raise self._placed(error) from None
        self._check_spec(join.spec, sides)
        return KnownTable({output_name(output): None for output in join.outputs}, streaming, None)

    # Expressions

    def _check(self, known: KnownTable, texts: Iterable[str], alias: str | None) -> None:
        """Checks that the columns in expressions are known."""
        if known.columns is None:
            return
        names = {name.lower() for name in known.columns}
        for text in texts:
            for column in _columns_in(text):
                if not _is_known(column, names, alias):
                    rule = f"the columns are {list(known.columns)}"
                    raise self.fail(f"a column {'.'.join(column)}", rule, "correct the name", column[-1])

    def fail(self, what: str, rule: str, remedy: str, *names: str) -> SqlError:
        """Returns an error at the first of these names."""
        start, end = self._place(names)
        return SqlError(what, rule, remedy, sql=self.sql, start=start, end=end)

    def _place(self, names: Iterable[str]) -> tuple[int | None, int | None]:
        """Returns where one of these names stands in the text first."""
        wanted = {name.lower() for name in names}
        token = next((token for token in tokens_of(self.sql) if token.text.lower() in wanted), None)
        return (None, None) if token is None else (token.start, token.end + 1)


def _of_column(columns: Types, text: str) -> Type | None:
    """Returns the type of an expression that is a column; None for all others."""
    name = text.strip("`").rpartition(".")[2].strip("`").lower()
    return next((type_ for known, type_ in columns.items() if known.lower() == name), None)


def _is_known(column: tuple[str, ...], names: set[str], alias: str | None) -> bool:
    first = column[0].lower()
    if first in names or len(column) == 1:
        return first in names
    return (alias is None or first == alias.lower()) and column[1].lower() in names


def _columns_in(text: str) -> Iterator[tuple[str, ...]]:
    """Yields the columns of an expression, each with the names before it."""
    if text.endswith("*"):
        return
    parser = QueryParser(dialect="spark")
    parser.begin(text, tokens_of(text))
    for node in columns_in(parser.expr().node):
        column = tuple(part.name for part in node.parts)
        if len(column) == 1 and column_name(node, frozenset()) is None:  # such as CURRENT_DATE
            continue
        if not _in_lambda(node) and not _is_unit(node):
            yield column


def _in_lambda(node: exp.Expr) -> bool:
    return node.find_ancestor(exp.Lambda, exp.Query) is not None


def _is_unit(node: exp.Expr) -> bool:
    """Returns whether a name is the unit of a function, such as MINUTE in timestampdiff(MINUTE, a, b)."""
    call = node.parent
    return call is not None and function_name(call) in _WITH_UNIT and call.expressions[0] is node
