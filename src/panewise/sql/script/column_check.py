"""The columns of stages, as far as the text and the declared tables show them (semantics 46.43).

A column whose type depends on a function of Spark has no known type. A query that Spark alone runs has no
known columns. What is not known is not checked, so that nothing is refused that Spark would run.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from panewise.errors import SpecError, SqlError
from panewise.families import INPUT
from panewise.spec import parts
from panewise.spec.column_types import Type
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.column_syntax import Names, column_of, columns_read, generates, star_of
from panewise.sql.joins import resolved
from panewise.sql.parsing.error_places import error_at
from panewise.sql.script.known_tables import UNKNOWN, KnownColumn, KnownColumns, KnownTable
from panewise.sql.stages import (
    WATERMARKED,
    AssignedStage,
    JoinStage,
    OutputColumn,
    OverStage,
    QueryStage,
    Ranked,
    RowsStage,
    SingleInputStage,
    SparkStage,
    TableStage,
    WatermarkedStage,
    WindowsStage,
)
from panewise.sql.text.named_places import first_place, placed
from panewise.sql.windows.panes import BOUND_OF, WINDOW_COLUMNS

_TIMESTAMP: Final = Type("timestamp")
T = TypeVar("T")


class ColumnCheck:
    """Checks the columns that a query reads, and returns those of its rows.

    Args:
        sql: the query, for the places of errors.
        tables: what is known about tables, by lower-case names.
        closed: whether there are no other tables than these and those with a database.
        operators: whether operators run the query for sure. Spark runs a query over a batch that they refuse,
            so of such a query only the names of columns are checked.

    Attributes:
        warnings: what its user should know of a query that Spark runs.
    """

    def __init__(
        self, sql: str, tables: Mapping[str, KnownTable], *, closed: bool = False, operators: bool = True
    ) -> None:
        self.sql, self.tables, self.closed, self.operators = sql, tables, closed, operators
        self.warnings: list[SqlError] = []

    def known_table(self, stage: QueryStage) -> KnownTable:
        """Returns the columns of a stage.

        Raises:
            SqlError: if it reads a column that its input does not have, or one of a wrong type.
        """
        match stage:
            case TableStage():
                return self._table(stage)
            case SparkStage():
                return self._of_spark(stage)
            case WatermarkedStage():
                return self._watermarked(self.known_table(stage.input), stage)
            case RowsStage():
                rows = self._filtered(stage, self.known_table(stage.input))
                return rows if stage.outputs is None else self._selected(rows, stage.outputs, stage.alias)
            case AssignedStage():
                return self._assigned(stage)
            case JoinStage():
                return self._joined(stage)
            case OverStage():
                return self._over(stage)
        assert isinstance(stage, SingleInputStage)
        return self._windows(stage)

    # Stages of Spark

    def _table(self, stage: TableStage) -> KnownTable:
        known = self.tables.get((stage.name or stage.text).lower())
        if known is None:
            self._check_place(stage)
            return UNKNOWN
        if stage.columns and known.columns is not None:
            pairs = zip(stage.columns, known.columns, strict=False)
            known = replace(known, columns=tuple(KnownColumn(name, column.type) for name, column in pairs))
        return self._watermarked(known, stage)

    def _check_place(self, stage: TableStage) -> None:
        """Refuses a table that is not declared, unless its name says where Spark has it."""
        if self.closed and stage.name is not None and "." not in stage.name:
            rule = f"a table is one of the script: {sorted(self.tables)}"
            remedy = "declare it, or write its catalog and database before it"
            raise self.fail(f"a table {stage.name}", rule, remedy, stage.name)

    def _watermarked(self, known: KnownTable, stage: TableStage | WatermarkedStage) -> KnownTable:
        """Returns a table with the column of its WATERMARK."""
        if stage.watermark is None:
            return known
        name, text = stage.watermark.name, stage.watermark.computed
        self._check(known, [in_backticks(name) if text is None else text], stage.alias)
        if text is not None:
            known = known.with_columns(KnownColumn(name))
        watermarks = None if known.watermarks is None else known.watermarks | {name.lower()}
        return replace(known, watermarks=watermarks)

    def _of_spark(self, stage: SparkStage) -> KnownTable:
        inputs = [self.known_table(table) for table, _ in stage.tables]
        streaming, endless = any(table.streaming for table in inputs), stage.endless
        if streaming and endless is not None:
            raise endless.error()
        if stage.unbounded is not None and sum(table.streaming for table in inputs) > 1:
            self.warnings.append(stage.unbounded.error())
        return replace(UNKNOWN, streaming=streaming)

    def _assigned(self, stage: AssignedStage) -> KnownTable:
        _ = stage.fixed  # which is refused if it is none
        rows = self.known_table(stage.input)
        self._check(rows, [in_backticks(stage.time)], None)
        return rows.with_columns(*(KnownColumn(name, _TIMESTAMP) for name in WINDOW_COLUMNS))

    def _filtered(self, stage: RowsStage | SingleInputStage, known: KnownTable) -> KnownTable:
        self._check(known, [] if stage.where is None else [stage.where], stage.alias)
        return known

    def _selected(
        self, known: KnownTable, outputs: Iterable[OutputColumn], alias: str | None, new: Iterable[str] = ()
    ) -> KnownTable:
        """Returns the rows of a SELECT list. A `*` leaves the columns `new` out."""
        columns, names = list[KnownColumn](), set[str]()
        hidden = {name.lower() for name in new}
        complete = known.columns is not None
        for output in outputs:
            self._check(known, [output.text], alias, {column.name for column in columns})
            new_columns = self._columns_of(known, output, alias, hidden)
            complete = complete and new_columns is not None
            columns += new_columns or ()
            names |= _with_watermark(known, output, new_columns or ())
        watermarks = None if known.watermarks is None or not complete else frozenset(names)
        return KnownTable(tuple(columns) if complete else None, known.streaming, watermarks)

    def _columns_of(
        self, known: KnownTable, output: OutputColumn, alias: str | None, hidden: set[str]
    ) -> KnownColumns | None:
        """Returns the columns that an expression of a SELECT list makes, None if they are not known."""
        star, column = star_of(output.text), column_of(output.text)
        if star is not None:
            whole = star.table is None or (alias is not None and star.table.lower() == alias.lower())
            rows = known.columns if whole else None  # the fields of a struct are not known
            return None if rows is None else tuple(_without(rows, star.without | hidden))
        if generates(output.text):
            return None
        name = output.name or (None if column is None else column[-1])
        return (KnownColumn(name, None if column is None else _type(known, column, alias)),)

    # Operators

    def _windows(self, stage: SingleInputStage) -> KnownTable:
        rows = self._filtered(stage, self.known_table(stage.input))
        exploded = stage.exploded if isinstance(stage, WindowsStage) else None
        if exploded is not None:
            rows = rows.with_columns(KnownColumn(exploded.name))
        self._operator(stage, rows)
        ranked = stage.ranked if isinstance(stage, WindowsStage) else None
        columns = _emitted(stage.outputs or ()) if ranked is None else self._ranked(ranked, rows, stage.alias)
        return KnownTable(columns, rows.streaming, None)

    def _ranked(self, ranked: Ranked, rows: KnownTable, alias: str | None) -> KnownColumns | None:
        """Returns the columns of the rows of a Top-N, None if a `*` stands for columns that are not known."""
        fields: KnownColumns | None = tuple(map(KnownColumn, ranked.lists))
        if ranked.of_structs:
            fields = self._selected(rows, ranked.fields, alias).columns
        if fields is None:
            return None
        others = [KnownColumn(name, _TIMESTAMP if text in BOUND_OF else None) for name, text in ranked.others]
        rank = [] if ranked.rank is None else [KnownColumn(ranked.rank)]
        op = [KnownColumn("op")] if ranked.retracts else []
        return (*ranked.in_order(fields, others, rank), *op)

    def _over(self, stage: OverStage) -> KnownTable:
        rows = self._filtered(stage, self.known_table(stage.input))
        self._operator(stage, rows)
        both = rows.with_columns(*(KnownColumn(column.name) for column in stage.spec.columns))
        both, new = replace(both, watermarks=None), stage.new_columns
        return both if stage.outputs is None else self._selected(both, stage.outputs, stage.alias, new)

    def _operator(self, stage: SingleInputStage, rows: KnownTable) -> None:
        """Checks the columns that an operator reads."""
        self._check(rows, [column.text for column in stage.computed], stage.alias)
        self._check_spec(stage.spec, {INPUT: rows}, {column.name for column in stage.computed})

    def _check_spec(self, spec: Any, rows: Mapping[str, KnownTable], computed: Iterable[str] = ()) -> None:
        own = {WATERMARKED, *(name.lower() for name in computed)}
        for port, entry in spec.ports.items():
            missing = [name for name in entry.columns_read if name.lower() not in own]
            self._check(rows[port], map(in_backticks, missing), None)
        types = {
            port: {name: type_ for name, type_ in known.types.items() if name.lower() not in own}
            for port, known in rows.items()
        }
        if self.operators:
            self._placing(lambda: parts(spec).check_types(spec, types))

    def _joined(self, stage: JoinStage) -> KnownTable:
        sides = {"left": self.known_table(stage.left), "right": self.known_table(stage.right)}
        streaming = any(table.streaming for table in sides.values())
        mixed = len({table.streaming for table in sides.values()}) > 1 and stage.spark is not None
        names = {side: table.names for side, table in sides.items()}
        times = tuple(
            time if time is not None else next(iter(sides[side].watermarks or ()), None)
            for side, time in zip(sides, stage.times, strict=True)
        )
        if None in names.values() or mixed or None in times or not self.operators:
            return replace(UNKNOWN, streaming=streaming)
        join = self._placing(lambda: resolved(stage, names, times))  # type: ignore[arg-type]
        self._check_spec(join.spec, sides)
        return KnownTable(_emitted(join.outputs), streaming, None)

    # Errors

    def _placing(self, work: Callable[[], T]) -> T:
        """Returns what `work` returns; an error of an operator gets the place of its column."""
        try:
            return work()
        except SpecError as error:
            raise placed(error, self.sql) from None

    def _check(
        self,
        known: KnownTable,
        texts: Iterable[str],
        alias: str | None,
        before: Iterable[str | None] = (),
    ) -> None:
        """Checks that the columns in expressions are known. `before` are those of the SELECT list so far."""
        names = known.names
        if names is None:
            return
        lower = {name.lower() for name in (*names, *before) if name is not None}
        for text in texts:
            for column in columns_read(text):
                if not _is_known(column, lower, alias):
                    rule = f"the columns are {names}"
                    raise self.fail(f"a column {'.'.join(column)}", rule, "correct the name", column[-1])

    def fail(self, what: str, rule: str, remedy: str, *names: str) -> SqlError:
        """Returns an error at the first of these names."""
        return error_at(SqlError(what, rule, remedy), self.sql, first_place(self.sql, *names))


def _emitted(outputs: Iterable[OutputColumn]) -> KnownColumns | None:
    """Returns the columns of what an operator emits, None if a `*` stands for some."""
    outputs = tuple(outputs)
    if any(star_of(output.text) is not None for output in outputs):
        return None
    times = dict.fromkeys(WINDOW_COLUMNS, _TIMESTAMP)
    return tuple(KnownColumn(output.name, times.get(output.name or "")) for output in outputs)


def _without(columns: KnownColumns, names: Iterable[str]) -> Iterator[KnownColumn]:
    return (column for column in columns if column.name is None or column.name.lower() not in names)


def _with_watermark(known: KnownTable, output: OutputColumn, columns: KnownColumns) -> set[str]:
    """Returns the selected columns that have a watermark, by their new names."""
    known_names, column = known.watermarks or frozenset(), column_of(output.text)
    if star_of(output.text) is not None:
        return {column.name.lower() for column in columns if column.name is not None} & known_names
    has_one = column is not None and column[-1].lower() in known_names
    return {(columns[0].name or "").lower()} if has_one and columns else set()


def _type(known: KnownTable, column: Names, alias: str | None) -> Type | None:
    """Returns the type of a column, None if it is a field of a struct, or is not known."""
    own = column[1:] if alias is not None and column[0].lower() == alias.lower() else column
    types = {name.lower(): type_ for name, type_ in known.types.items()}
    return types.get(own[0].lower()) if len(own) == 1 else None


def _is_known(column: Names, names: set[str], alias: str | None) -> bool:
    first = column[0].lower()
    if first in names or len(column) == 1:
        return first in names
    return (alias is None or first == alias.lower()) and column[1].lower() in names
