"""Options of a table, WITH (order = 'id'), as fields of the operator that reads it (semantics 46.11)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec import Position
from panewise.sql.parsing.intervals import length_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.relations import RUN_OPTIONS
from panewise.sql.parsing.syntax import NamedTable, Source, TableFunction, TextSpan

DELETES: Final = (  # where the option `deletes` may stand, and what to do elsewhere
    "deletes is an option of the tables of a join OVER (LATEST)",
    "leave it out, or leave the rows out in WHERE",
)
LATENESS: Final = "allowed_lateness"
TWICE: Final = (
    "the lateness of a query is given once, in EMIT or as an option of its table",
    "leave one of them out",
)
_BOOLEANS: Final = {"true": True, "false": False}


def options_of(
    source: Source | None, parser: QueryParser, *, joined: bool = False, windowed: bool = False
) -> dict[str, Any]:
    """Returns the options of the table of an operator as fields of its specification.

    Args:
        source: the table.
        parser: the parser.
        joined: whether it is a side of a join, which may have `deletes` and an allowed lateness.
        windowed: whether the operator has windows with an allowed lateness.

    Raises:
        SqlError: for a value that an option does not have.
    """
    if isinstance(source, TableFunction):
        return options_of(source.data, parser, joined=joined, windowed=windowed)
    if not isinstance(source, NamedTable):
        return {}
    parser.unread.read_options(source)
    fields = [(name, text) for name, text in source.options if name not in RUN_OPTIONS]
    if not joined and "deletes" in dict(fields):
        raise parser.fail("deletes", *DELETES, source.span)
    if not (joined or windowed) and LATENESS in dict(fields):
        rule = "windows and joins have an allowed lateness; other operators take no row behind the watermark"
        raise parser.fail(LATENESS, rule, "leave it out, or give the watermark a longer delay", source.span)
    return _values(fields, source, parser, _value)


def with_options(
    said: Mapping[str, Any], options: Mapping[str, Any], parser: QueryParser, span: TextSpan
) -> dict[str, Any]:
    """Returns the fields that EMIT and the options of the table say.

    Raises:
        SqlError: if both say the allowed lateness.
    """
    if said.keys() & options.keys():
        raise parser.fail(LATENESS, *TWICE, span)
    return {**said, **options}


def run_options_of(table: NamedTable, parser: QueryParser) -> tuple[tuple[str, Any], ...]:
    """Returns the options of a table that say how Spark runs the operator that reads it.

    Raises:
        SqlError: for a value that an option does not have.
    """
    options = [(name, text) for name, text in table.options if name in RUN_OPTIONS]
    return tuple(_values(options, table, parser, _run_value).items())


def max_future_skew_of(table: NamedTable, parser: QueryParser) -> Duration | None:
    """Returns how far the event times of a table may be ahead, None if there is no limit.

    Raises:
        SqlError: if the option is no interval.
    """
    limits = [(name, text) for name, text in table.options if name == "max_future_skew"]
    return _values(limits, table, parser, _value).get("max_future_skew")


def _values(
    options: list[tuple[str, str]], table: NamedTable, parser: QueryParser, value: Callable[[str, str], Any]
) -> dict[str, Any]:
    with parser.placing(table.span):
        return {name: value(name, text) for name, text in options}


def _run_value(name: str, text: str) -> Any:
    if name == "clock":
        return length_of(text)
    if name == "shards":
        if not text.isdigit():
            raise SpecError(f"shards={text}", "shards is a number", "write WITH (shards = 8)")
        return int(text)
    if text not in ("never", "at_end"):
        raise SpecError(f"finish={text}", "finish is 'never' or 'at_end'", "write one of these")
    return text


def _value(name: str, text: str) -> Any:
    columns = tuple(column.strip() for column in text.split(","))
    if name == "order":
        return columns
    if name == "deletes":
        return text
    if name == LATENESS and text.lower() == "unlimited":
        return "unlimited"
    if name in ("max_future_skew", LATENESS):
        return length_of(text)
    if name == "null_keys":
        if text.lower() not in _BOOLEANS:
            raise SpecError(f"null_keys={text}", "null_keys is true or false", "write one of these")
        return _BOOLEANS[text.lower()]
    if len(columns) not in (2, 3):
        rule = "a position has the columns of partition and offset, and may have that of the source"
        raise SpecError(f"position={text}", rule, "write WITH (position = 'partition, offset')")
    source = columns[2] if len(columns) > 2 else None
    return Position(columns[0], columns[1], source)
