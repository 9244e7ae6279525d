"""Options of a table, WITH (order = 'id'), as fields of the operator that reads it (semantics 46.11)."""

from typing import Any, Final

from panewise.errors import SpecError
from panewise.spec import Position
from panewise.sql.intervals import duration
from panewise.sql.parser import QueryParser
from panewise.sql.syntax import NamedTable, Source, TableFunction

_BOOLEANS: Final = {"true": True, "false": False}


def options_of(source: Source | None, parser: QueryParser) -> dict[str, Any]:
    """Returns the options of the table of an operator as fields of its specification.

    Raises:
        SqlError: for a value that an option does not have.
    """
    if isinstance(source, TableFunction):
        return options_of(source.data, parser)
    if not isinstance(source, NamedTable):
        return {}
    parser.optional.pop(source.span.start, None)
    try:
        return {name: _value(name, text) for name, text in source.options}
    except SpecError as error:
        raise parser.fail(error.given, error.rule, error.remedy, source.span) from None


def check_options_read(parser: QueryParser) -> None:
    """Refuses options of tables that no operator has read.

    Raises:
        SqlError: at the first such table.
    """
    for table in parser.optional.values():
        rule = "options of a table are those of the operator that reads it, and here Spark alone does"
        names = ", ".join(name for name, _ in table.options)
        raise parser.fail(names, rule, "leave WITH out", table.span)


def _value(name: str, text: str) -> Any:
    columns = tuple(column.strip() for column in text.split(","))
    if name == "order":
        return columns
    if name == "max_future_skew":
        return duration(text if text.upper().startswith("INTERVAL") else f"'{text}'")
    if name == "null_keys":
        if text.lower() not in _BOOLEANS:
            raise SpecError(f"null_keys={text}", "null_keys is true or false", "write one of these")
        return _BOOLEANS[text.lower()]
    if len(columns) not in (2, 3):
        rule = "a position has the columns of partition and offset, and may have that of the source"
        raise SpecError(f"position={text}", rule, "write WITH (position = 'partition, offset')")
    source = columns[2] if len(columns) > 2 else None
    return Position(columns[0], columns[1], source)
