"""TUMBLE, HOP, CUMULATE and SESSION, and Spark's window(...) and session_window(...), as windows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec import AnyWindow, Calendar, Cumulating, Hopping, Session, Tumbling, rows
from panewise.sql.expressions.function_calls import is_interval
from panewise.sql.parsing.intervals import EXACT, CalendarLength, calendar_length
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Argument, Expr, NamedTable, TableFunction, TextSpan

# The names of the arguments, in the order in which they are given by position.
_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "TUMBLE": ("size", "offset"),
    "HOP": ("slide", "size", "offset"),
    "CUMULATE": ("step", "size", "offset"),
    "SESSION": ("gap",),
}
# Arguments that may be left out. Those of calendars have names.
_OPTIONAL: Final = ("offset", "zone", "week_start")
_CALENDAR: Final = ("zone", "week_start")
_SYNONYMS: Final = {"hop": "slide", "start": "offset", "window_size": "size", "window_slide": "slide"}
_EXAMPLES: Final = {
    "TUMBLE": "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)",
    "HOP": "HOP(TABLE t, DESCRIPTOR(ts), SLIDE => INTERVAL '5' MINUTES, SIZE => INTERVAL '1' HOUR)",
    "CUMULATE": "CUMULATE(TABLE t, DESCRIPTOR(ts), STEP => INTERVAL '1' HOUR, SIZE => INTERVAL '1' DAY)",
    "SESSION": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '30' MINUTES)",
}


@dataclass(frozen=True)
class WindowSyntax:
    """The window of a query.

    Attributes:
        window: the windows.
        time: the column of the event time, None if rows alone make the windows.
        function: the function that made it, in upper case.
        span: its characters.
    """

    window: AnyWindow
    time: Expr | None
    function: str
    span: TextSpan


def window_of_table(table: TableFunction, parser: QueryParser) -> WindowSyntax:
    """Returns the windows of a window function in FROM.

    Raises:
        SqlError: for arguments that the function does not have, or that make no windows.
    """
    values = _arguments(table, parser)
    windows: dict[str, Callable[[], AnyWindow]] = {
        "TUMBLE": lambda: _tumbling(values),
        "HOP": lambda: _hopping(values),
        "CUMULATE": lambda: Cumulating(values["size"], values["step"], _origin(values.get("offset"))),
        "SESSION": lambda: _session(values["gap"]),
    }
    missing = [name for name in _ORDER[table.function] if name not in (*_OPTIONAL, *values)]
    if missing:
        rule = f"{table.function} has the arguments {', '.join(_ORDER[table.function]).upper()}"
        raise parser.fail(f"no {missing[0].upper()}", rule, f"write {_EXAMPLES[table.function]}", table.name)
    with parser.placing(table.span):
        return WindowSyntax(windows[table.function](), table.time, table.function, table.span)


def identifies(window: Any, bounds: Iterable[str]) -> bool:
    """Returns whether these bounds in GROUP BY or PARTITION BY distinguish the windows of a key.

    Windows of CUMULATE have their start in common, all others differ in each bound.

    >>> identifies(Tumbling("1 hour"), ["window_start"])
    True
    >>> identifies(Cumulating("1 day", "1 hour"), ["window_start"])
    False
    """
    names = {*bounds}
    if isinstance(window, Cumulating):
        return "window_start" in names and len(names) > 1
    return bool(names)


def _arguments(table: TableFunction, parser: QueryParser) -> dict[str, Any]:
    known, values = _ORDER[table.function], dict[str, Any]()
    for number, argument in enumerate(table.arguments):
        plain = known[number] if number < len(known) else None
        synonyms = {**_SYNONYMS, "size": "gap"} if table.function == "SESSION" else _SYNONYMS
        name = plain if argument.name is None else synonyms.get(argument.name, argument.name)
        tumbles = table.function == "TUMBLE"
        if name is None or name in values or not (name in known or (tumbles and name in _CALENDAR)):
            rule = f"after the table and the column, {table.function} has {', '.join(known).upper()}"
            remedy = f"write {_EXAMPLES[table.function]}"
            raise parser.fail(parser.characters(argument.value.span), rule, remedy, argument.value.span)
        if name in _CALENDAR:
            values[name] = _text(argument, parser)
        else:
            values[name] = _value(argument, parser, calendar=tumbles and name == "size")
    return values


def _text(argument: Argument, parser: QueryParser) -> str:
    """Returns the text of an argument of a calendar."""
    node = argument.value.node
    if not (isinstance(node, exp.Literal) and node.is_string):
        text = parser.characters(argument.value.span)
        rule = "the zone and the first day of the week are strings"
        raise parser.fail(text, rule, "write ZONE => 'Europe/Berlin'", argument.value.span)
    return str(node.this)


def _value(argument: Argument, parser: QueryParser, *, calendar: bool) -> Any:
    if not argument.rows:
        length = calendar_length(parser.characters(argument.value.span)) if calendar else None
        return parser.duration_of(argument.value) if length is None else length
    try:
        return rows(int(argument.value.node.name))
    except (SpecError, ValueError):
        rule = "windows of rows have one row or more"
        text = parser.characters(argument.value.span)
        raise parser.fail(text, rule, "write for example 100 ROWS", argument.value.span) from None


def _tumbling(values: Mapping[str, Any]) -> AnyWindow:
    """Returns windows of a length, or those of a calendar: of months and longer units, or in a time zone."""
    size, named = values["size"], {name: values[name] for name in _CALENDAR if name in values}
    if isinstance(size, CalendarLength) and (named or size.unit not in EXACT):
        if "offset" in values:
            raise SpecError("OFFSET", "the windows of a calendar begin with its units", "leave it out")
        return Calendar(size.unit, size.n, **named)
    if named:
        rule = "the windows of a calendar have a size in days, weeks, months, quarters or years"
        raise SpecError(", ".join(named).upper(), rule, "write SIZE => INTERVAL '1' DAY, or leave it out")
    if isinstance(size, CalendarLength):
        size = size.exact
    return Tumbling(size, _origin(values.get("offset")))


def _origin(offset: Any) -> int:
    if offset is None:
        return 0
    return offset.us if isinstance(offset, Duration) else int(offset.n)


def _hopping(values: Mapping[str, Any]) -> Hopping:
    size, slide = values["size"], values["slide"]
    lengths = [length.us if isinstance(length, Duration) else length.n for length in (slide, size)]
    same = isinstance(size, Duration) == isinstance(slide, Duration)
    return Hopping(size, slide, _origin(values.get("offset")), gaps=same and lengths[0] > lengths[1])


def _session(gap: Any) -> Session:
    return Session(gap, touching="merge") if isinstance(gap, Duration) else Session(gap)


def window_of_call(
    node: exp.Expr, name: str, parser: QueryParser, gap_column: Callable[[str, str], str]
) -> WindowSyntax:
    """Returns the windows of Spark's window(...) or session_window(...).

    `gap_column` adds a column, given its expression and name: that of a gap which depends on the row.

    Raises:
        SqlError: for other arguments than Spark has.
    """
    span, arguments = parser.span_of(node), node.expressions
    if name.upper() in _ORDER:
        return _group_window(node, name.upper(), parser)
    wanted = "window(ts, '1 hour' [, '10 minutes' [, '5 minutes']])"
    if name == "session_window":
        wanted = "session_window(ts, '30 minutes')"
    least, most = (2, 2) if name == "session_window" else (2, 4)
    if not least <= len(arguments) <= most:
        raise parser.fail(parser.characters(span), f"{name} is written as in Spark", f"write {wanted}", span)
    time = parser.expr_of(arguments[0])
    if name == "session_window" and not (isinstance(arguments[1], exp.Literal) or is_interval(arguments[1])):
        text, gap = parser.characters(time.span), parser.characters_of(arguments[1])
        column = gap_column(f"(({text} + CAST(({gap}) AS INTERVAL)) - {text})", "gap of the session")
        return WindowSyntax(Session(column, touching="merge"), time, name.upper(), span)
    if len(arguments) == 2 and name == "window":
        length = calendar_length(parser.characters_of(arguments[1]))
        if length is not None and length.unit not in EXACT:
            return WindowSyntax(Calendar(length.unit, length.n), time, name.upper(), span)
    values = [parser.duration_of(parser.expr_of(argument)) for argument in arguments[1:]]
    with parser.placing(span):
        return WindowSyntax(_spark_window(name, values), time, name.upper(), span)


def _group_window(node: exp.Expr, function: str, parser: QueryParser) -> WindowSyntax:
    """Returns the windows of TUMBLE, HOP, CUMULATE or SESSION in GROUP BY, which have no table."""
    places = [parser.expr_of(place) for place in node.expressions]
    span = parser.span_of(node)
    untimed = not places or is_interval(places[0].node) or isinstance(places[0].node, exp.Literal)
    time, lengths = (None, places) if untimed else (places[0], places[1:])
    read = NamedTable(span, None, None, (), None, span)
    arguments = tuple(Argument(None, length, rows=False) for length in lengths)
    return window_of_table(TableFunction(function, read, (), time, arguments, None, span, span), parser)


def _spark_window(name: str, values: list[Duration]) -> AnyWindow:
    if name == "session_window":
        return Session(values[0], touching="merge")
    origin = values[2].us if len(values) > 2 else 0
    if len(values) == 1 or values[0] == values[1]:
        return Tumbling(values[0], origin)
    return Hopping(values[0], values[1], origin)
