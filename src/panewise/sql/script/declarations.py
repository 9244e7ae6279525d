"""Checks the sources and the sinks that a script declares (semantics 46.42, 46.44)."""

import difflib
from collections import Counter
from typing import Final

from panewise.chrono import Duration
from panewise.source_options import meant_option
from panewise.sql.expressions.type_names import check_type, type_of
from panewise.sql.parsing.intervals import length_of
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.script.known_tables import KnownColumn, KnownColumns, KnownTable, Tables
from panewise.sql.script.script_settings import at_end_of, trigger_of
from panewise.sql.script.statements import Relation, SinkTable, SourceView, SqlScript
from panewise.sql.script.steps import SinkStep, SourceStep, is_of_format

FILES: Final = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "xml"})
_FORMATS: Final = FILES | {"delta", "kafka", "rate", "socket", "memory", "console", "jdbc", "binaryfile"}
DECODED: Final = ("json", "csv")  # the formats of the values of Kafka
METADATA: Final = ("key", "topic", "partition", "offset", "timestamp")
_FLAT: Final = frozenset({"csv", "text"})  # formats without structs
OF_SOURCES: Final = ("streaming", "value.format", "include", "max_future_skew")  # the others are Spark's
_OF_SINKS: Final = ("checkpoint", "trigger", "finish", "initial_state", "late", "invalid", "counts")
# What is an option of a sink in place of one of Spark's writer, which has no effect here.
_OF_WRITERS: Final = {
    "checkpointlocation": "write checkpoint",
    "outputmode": "say with EMIT what is emitted",
    "queryname": "leave it out; the query has the name of the table",
}
_SINK_OPTIONS: Final = {"memory": frozenset[str](), "console": frozenset({"numrows", "truncate"})}


def source_step(statement: SourceView, script: SqlScript) -> tuple[SourceStep, KnownTable]:
    """Returns the step of a CREATE TABLE of a source, and the columns and watermark of its rows.

    Raises:
        SqlError: if it breaks a rule.
    """
    _check_format(statement, script)
    _check_columns(statement, included(statement), script)
    _check_source_options(statement, script)
    streaming = _is_stream(statement, script)
    columns: KnownColumns | None = None
    if statement.columns is not None:
        declared = (KnownColumn(column.name, type_of(column.type)) for column in statement.columns)
        columns = (*declared, *map(KnownColumn, included(statement)))
    watermarks = frozenset() if statement.watermark is None else frozenset({statement.watermark[0].lower()})
    known = KnownTable(columns, streaming, watermarks)
    names = known.names
    if names is not None and not watermarks <= {name.lower() for name in names}:
        rule = f"the columns are {names}"
        raise script.fail(f"a column {next(iter(watermarks))}", rule, "correct the name", statement.span)
    _check_event_time(statement, script)
    if statement.format in FILES and "path" not in statement.options:
        rule, remedy = "a view of files has a path", "add LOCATION 'path'"
        raise script.fail(statement.name, rule, remedy, statement.name_span)
    return SourceStep(statement, streaming), known


def _check_event_time(statement: SourceView, script: SqlScript) -> None:
    """Refuses a WATERMARK of a column that is no timestamp, which Spark refuses, too."""
    if statement.watermark is None:
        return
    name = statement.watermark[0]
    column = next((each for each in statement.columns or () if each.name.lower() == name.lower()), None)
    if column is not None and not type_of(column.type).name.startswith("timestamp"):
        rule = "the watermark of a view is that of a TIMESTAMP"
        remedy = f"declare {name} so, or write WATERMARK to_timestamp({name}) AS at DELAY OF ... in the query"
        raise script.fail(f"WATERMARK {name}, of the type {column.type}", rule, remedy, column.span)


def _is_stream(statement: SourceView, script: SqlScript) -> bool:
    text = statement.options.get("streaming", "").lower()
    if text not in ("", "true", "false"):
        rule, place = "the option streaming is true or false", statement.option_spans["streaming"]
        raise script.fail(f"streaming={text}", rule, "write one", place)
    untyped = statement.format in FILES and statement.columns is None
    streaming = not untyped if not text else text == "true"
    if streaming and untyped:
        rule = "a stream of files has columns with types, as Spark does not infer those of a stream"
        raise script.fail(statement.name, rule, "write (ts TIMESTAMP, ...)", statement.name_span)
    return streaming


def _check_source_options(statement: SourceView, script: SqlScript) -> None:
    """Refuses options without effect, and checks those by which the values of Kafka become columns."""
    spans, decoded = statement.option_spans, statement.format == "kafka" and statement.columns is not None
    for option, span in spans.items():
        if option in _OF_SINKS:
            rule = f"{option} is an option of a table, to which a query writes"
            raise script.fail(option, rule, "write it there", span)
        alike = difflib.get_close_matches(option, OF_SOURCES, n=1, cutoff=0.8)
        meant = meant_option(option) if statement.format in _FORMATS else None
        if (alike and option not in OF_SOURCES) or meant is not None:
            written = meant or alike[0]
            raise script.fail(option, "there is no option of this name", f"write {written}", span)
        if option in ("value.format", "include") and not decoded:
            rule = f"{option} says how messages of Kafka become the columns of a view"
            raise script.fail(option, rule, "leave it out, or declare columns", span)
    if statement.options.get("value.format", "json").lower() not in DECODED:
        rule = f"the values of Kafka are decoded from one of {list(DECODED)}"
        remedy = "leave the columns out, and decode `value` in a view over this one"
        raise script.fail(statement.options["value.format"], rule, remedy, spans["value.format"])
    _check_skew(statement, script)
    unknown = sorted(set(included(statement)) - set(METADATA))
    if unknown:
        rule = f"a message has {list(METADATA)} besides its value"
        raise script.fail(unknown[0], rule, "include some of these", spans["include"])


def _check_skew(statement: SourceView, script: SqlScript) -> None:
    """Refuses the limit of event times without a watermark, and one that is no interval."""
    span = statement.option_spans.get("max_future_skew")
    if span is None:
        return
    if statement.watermark is None:
        rule = "max_future_skew bounds the event times that move the watermark of a view"
        remedy = "write WATERMARK ts DELAY OF INTERVAL '10' SECONDS behind the columns, or leave it out"
        raise script.fail("max_future_skew", rule, remedy, span)
    with script.placing(span):
        skew_of(statement)


def skew_of(statement: SourceView) -> Duration | None:
    """Returns how far an event time that moves the watermark of a view may be ahead, None for any.

    Raises:
        SpecError: if it is no interval.
    """
    text = statement.options.get("max_future_skew")
    return None if text is None else length_of(text)


def included(statement: SourceView) -> tuple[str, ...]:
    """Returns the columns of a message of Kafka that a view has besides those of its value."""
    text = statement.options.get("include", "")
    return tuple(name.strip().lower() for name in text.split(",") if name.strip())


def _check_format(statement: Relation, script: SqlScript) -> None:
    """Refuses a format that is nearly a known one, but for a name that begins with a known one."""
    name = statement.format
    close = difflib.get_close_matches(name, sorted(_FORMATS), n=1, cutoff=0.75)
    if close and name not in _FORMATS and not name.startswith(close[0]):
        rule = f"the formats of Spark and of panewise are {', '.join(sorted(_FORMATS))}"
        start = script.text.lower().index(name, statement.name_span.end)
        span = TextSpan(start, start + len(name))
        raise script.fail(name, rule, f"write {close[0]}, or the name of the class of another format", span)


def _check_columns(statement: Relation, others: tuple[str, ...], script: SqlScript) -> None:
    """Refuses two columns of one name, and types that Spark does not have.

    Names that differ in case are left to Spark, which has a setting.
    """
    for column in statement.columns or ():
        with script.placing(column.span):
            check_type(column.type)
    names = [column.name for column in statement.columns or ()]
    twice = [name for name, number in Counter(names).items() if number > 1 or name.lower() in others]
    if twice:
        rule = "each column of a table has a name of its own"
        raise script.fail(f"a column {twice[0]} twice", rule, "give one another name", statement.name_span)


def sink_step(statement: SinkTable, tables: Tables, script: SqlScript) -> SinkStep:
    """Returns what a sink becomes.

    Raises:
        SqlError: if it breaks a rule.
    """
    options, spans = statement.options, statement.option_spans
    if has_path(statement) and "path" not in options:
        rule = "a table of files has a path"
        raise script.fail(statement.name, rule, "add LOCATION 'path'", statement.name_span)
    _check_format(statement, script)
    _check_columns(statement, (), script)
    _check_sink_options(statement, script)
    for key, check in (("trigger", trigger_of), ("finish", at_end_of)):
        if key in options:
            with script.placing(spans[key]):
                check(options[key])
    step = SinkStep(statement)
    for output, table in step.outputs.items():
        if table.lower() not in tables.sinks:
            rule = f"the table of {output} rows is created before it is named"
            raise script.fail(f"{output} = {table!r}", rule, "create it before", spans[output])
        format_ = tables.sinks[table.lower()].statement.format
        if format_ in _FLAT and not output.endswith("counts"):
            rule = f"{output} rows have a struct `row`, which {format_} cannot contain"
            raise script.fail(f"{output} = {table!r}", rule, "use json or parquet", spans[output])
    return step


def has_path(statement: SinkTable) -> bool:
    """Returns whether the rows of a table are at a path, which no other table has."""
    return statement.format in (*FILES, "delta")


def _check_sink_options(statement: SinkTable, script: SqlScript) -> None:
    """Refuses options without effect, such as misspelt ones."""
    for key in filter(is_of_format, statement.options):
        remedy = _remedy_of_option(statement, key)
        if remedy is not None:
            rule = f"a {statement.format} table has no such option"
            raise script.fail(key, rule, remedy, statement.option_spans[key])


def _remedy_of_option(statement: SinkTable, key: str) -> str | None:
    """Returns what to do about an option without effect, None if it has one."""
    if key in _OF_WRITERS:
        return _OF_WRITERS[key]
    if key in OF_SOURCES:
        return "write it in the view of a source"
    alike = difflib.get_close_matches(key, _OF_SINKS, n=1, cutoff=0.8)
    if alike:
        return f"write {alike[0]}"
    known = _SINK_OPTIONS.get(statement.format)
    return None if known is None or key in known else f"leave it out; there are {sorted(known)}"
