"""Checks the queries of a script: their syntax, their columns, and their watermarks (semantics 46.43)."""

from dataclasses import dataclass, replace
from typing import Final

from panewise.errors import SpecError, SqlError
from panewise.spec import Entry, counted
from panewise.sql.compile import compile_sql
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.script.column_check import ColumnCheck
from panewise.sql.script.known_tables import UNKNOWN, KnownTable, Tables, tables_read
from panewise.sql.script.statements import Insert, SqlScript
from panewise.sql.stages import UNSORTED, WATERMARKED, CompiledQuery, JoinStage, OurStage, has_operator, walk
from panewise.sql.text.recognize import is_sparks, says_windows

_ONLY_WRITTEN: Final = frozenset({"kafka", "console"})


@dataclass(frozen=True)
class CheckedQuery:
    """A query of a script.

    Attributes:
        compiled: its stages, None if Spark alone runs it.
        known: what is known about its rows.
        has_outputs: whether it may have outputs such as late rows, also those of a view that it reads.
        warnings: what its user should know, though nothing is refused.
    """

    compiled: CompiledQuery | None
    known: KnownTable
    has_outputs: bool
    warnings: tuple[SqlError, ...] = ()


def checked_query(script: SqlScript, span: TextSpan, tables: Tables, endless: Insert | None) -> CheckedQuery:
    """Returns what is known about a query.

    Args:
        script: the script.
        span: the query.
        tables: the tables that the script has declared before it.
        endless: a query before it that never ends by itself, None if there is none.

    Raises:
        SqlError: if the query breaks a rule.
    """
    text = script.query(span)
    _check_sinks(script, text, tables, endless)
    reads_a_result, streaming = tables.reads_a_result(text), tables.reads_a_stream(text)
    of_spark = is_sparks(text) and not streaming  # what operators refuse of it, Spark runs
    try:
        compiled = compile_sql(text)
    except SpecError:
        if says_windows(text) and not of_spark:
            raise
        return CheckedQuery(None, replace(UNKNOWN, streaming=streaming), reads_a_result)
    check = ColumnCheck(text, tables.readable, closed=tables.closed, operators=not of_spark)
    known = check.known_table(compiled.stage)
    _check_watermarks(compiled, check)
    if compiled.tail is not None and known.streaming:
        raise compiled.tail_error(*UNSORTED)
    own = has_operator(compiled.stage)
    return CheckedQuery(compiled if own else None, known, own or reads_a_result, tuple(check.warnings))


def _check_sinks(script: SqlScript, text: str, tables: Tables, endless: Insert | None) -> None:
    """Refuses to read a sink that has no rows yet, or that cannot be read.

    A read waits for all queries before it, so they have to end by themselves.
    """
    for name, token in tables_read(text).items():
        if name not in tables.sinks:
            continue
        format_, error = tables.sinks[name].statement.format, None
        if format_ in _ONLY_WRITTEN:
            error = f"a script cannot read a table of {format_}", "write its rows to files or to memory, too"
        elif name not in tables.written:
            error = "a table is read behind the INSERT INTO that writes it", "write the INSERT INTO before it"
        elif endless is not None:
            rule = f"a table is read once all queries before it have ended, and {endless.table} does not"
            error = rule, "SET panewise.trigger = 'available now' before it"
        if error is not None:
            raise script.fail(name, *error, TextSpan(token.start, token.end + 1))


def _check_watermarks(compiled: CompiledQuery, check: ColumnCheck) -> None:
    """Checks that a stream has a watermark if its operator waits for one."""
    for stage in walk(compiled.stage):
        if not isinstance(stage, OurStage) or isinstance(stage, JoinStage):
            continue
        entry = next(iter(stage.spec.ports.values()))
        if not _needs_watermark(entry) or has_operator(stage.input):
            continue
        known = check.known_table(stage.input)
        if known.streaming and known.watermarks is not None and not _has_watermark(entry, known.watermarks):
            name = entry.time_columns[0]
            own = name == WATERMARKED
            rule = "a stream whose windows wait for the watermark has one, of the event time"
            remedy = "write WATERMARK {} DELAY OF INTERVAL '10' SECONDS behind the table, or in the view"
            fault = "a stream without a watermark" + ("" if own else f" of {name}")
            raise check.fail(fault, rule, remedy.format("ts" if own else name), name)


def _has_watermark(entry: Entry, watermarks: frozenset[str]) -> bool:
    """Returns whether the event time of an input has a watermark. It may be whatever column has one."""
    times = {name.lower() for name in entry.time_columns}
    return bool(watermarks) if WATERMARKED in times else bool(watermarks & times)


def _needs_watermark(entry: Entry) -> bool:
    """Returns whether the windows of an input wait for the watermark of the stream."""
    return entry.time != "processing" and not counted(entry.window) and bool(entry.time_columns)
