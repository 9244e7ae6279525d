"""What the statements of a script become, without Spark and without a JVM (semantics 46.40 to 46.47)."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from panewise.errors import SpecError, SqlError
from panewise.spec import Entry, counted
from panewise.spec.describe import describe
from panewise.sql.columns import UNKNOWN, ColumnCheck, KnownTable, Types, type_of
from panewise.sql.compile import compile_sql
from panewise.sql.intervals import duration
from panewise.sql.recognize import is_sparks, says_windows, tables_named
from panewise.sql.script import (
    Insert,
    QueryView,
    Setting,
    Show,
    SinkTable,
    SourceView,
    SparkStatement,
    SqlScript,
    Statement,
    parse_script,
)
from panewise.sql.stages import (
    OURS,
    AssignedStage,
    CompiledQuery,
    JoinStage,
    RowsStage,
    Stage,
    TableStage,
    walk,
)
from panewise.sql.syntax import TextSpan
from panewise.sql.texts import one_line

FILES: Final = frozenset({"parquet", "json", "csv", "orc", "text", "avro", "xml"})
DECODED: Final = ("json", "csv")  # the formats of the values of Kafka
METADATA: Final = ("key", "topic", "partition", "offset", "timestamp")
# The settings of a script. All others are those of the session.
OWN_SETTINGS: Final = ("panewise.checkpoint", "panewise.finish", "panewise.trigger")
_OF_SESSION: Final = ("panewise.cacheMegabytes", "panewise.mirrorMegabytes", "panewise.metrics")
_FINISH: Final = ("at_end", "never")
_AVAILABLE: Final = frozenset({"availablenow", "available now", "available_now", "once"})
_OUTPUT: Final = re.compile(
    r"((first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|operator\d+)_)?"
    r"((left|right)_)?(late|invalid|counts)(@\w+)?"
)
_FLAT: Final = frozenset({"csv", "text"})  # formats without structs
_OWN_OPTIONS: Final = frozenset({"path", "checkpoint", "trigger", "finish"})
_NAMES_OF_OPTIONS: Final = ("checkpoint", "trigger", "finish", "late", "invalid", "counts")
_SINK_OPTIONS: Final = {"memory": frozenset[str](), "console": frozenset({"numrows", "truncate"})}


@dataclass(frozen=True)
class Trigger:
    """When micro-batches run: all that is available and then the end, or at an interval; else at once."""

    available_now: bool = False
    processing_time: str | None = None


@dataclass(frozen=True)
class SourceStep:
    """A source. `streaming` says whether it is read as a stream."""

    statement: SourceView
    streaming: bool


@dataclass(frozen=True)
class ViewStep:
    """A query with a name. Without `compiled` Spark alone runs it."""

    statement: QueryView
    compiled: CompiledQuery | None


@dataclass(frozen=True)
class SinkStep:
    """A sink, with the options that are for its format."""

    statement: SinkTable

    @property
    def options(self) -> dict[str, str]:
        """The options for the format."""
        own = self.statement.options
        return {
            key: text for key, text in own.items() if key not in _OWN_OPTIONS and not _OUTPUT.fullmatch(key)
        }

    @property
    def outputs(self) -> dict[str, str]:
        """The tables of other outputs, such as late rows, by the names of the outputs."""
        return {key: table for key, table in self.statement.options.items() if _OUTPUT.fullmatch(key)}


@dataclass(frozen=True)
class InsertStep:
    """A query that is written to a sink.

    Attributes:
        statement: the statement.
        compiled: the stages, None if Spark alone runs the query.
        sink: the sink of its rows.
        outputs: those of its other outputs, by their names.
        checkpoint: the directory of its checkpoint, None if there is none.
        trigger: when its micro-batches run.
        at_end: whether the end of the stream is the end of the input.
    """

    statement: Insert
    compiled: CompiledQuery | None
    sink: SinkStep
    outputs: Mapping[str, SinkStep]
    checkpoint: str | None
    trigger: Trigger
    at_end: bool


@dataclass(frozen=True)
class ShowStep:
    """A query whose rows are printed, once the queries before it have ended."""

    statement: Show
    compiled: CompiledQuery | None


@dataclass(frozen=True)
class SettingStep:
    """A setting. Those of `OWN_SETTINGS` have had their effect already."""

    statement: Setting


@dataclass(frozen=True)
class SparkStep:
    """A statement that Spark runs as it is."""

    statement: SparkStatement


Step: TypeAlias = SettingStep | SourceStep | ViewStep | SinkStep | InsertStep | ShowStep | SparkStep


@dataclass(frozen=True)
class Application:
    """A checked script: what is to be done for each of its statements, in their order."""

    script: SqlScript
    steps: tuple[Step, ...]

    def explain(self) -> str:
        """Returns what each statement becomes."""
        return "\n\n".join(self._explained(step) for step in self.steps)

    def _explained(self, step: Step) -> str:
        line = self.script.text.count("\n", 0, step.statement.span.start) + 1
        first = one_line(self.script.characters(step.statement.span)).split(" AS SELECT", 1)[0][:70]
        return "\n".join([f"line {line}: {first}", *(f"  {text}" for text in _words(step) if text)])


def compile_script(text: str) -> Application:
    """Returns what the statements of a script become. It needs neither Spark nor the sources.

    Raises:
        SqlError: if a statement breaks a rule. The error shows the place in the script.

    >>> application = compile_script("CREATE TABLE t USING console; INSERT INTO t SELECT 1 AS one")
    >>> [type(step).__name__ for step in application.steps]
    ['SinkStep', 'InsertStep']
    """
    script = parse_script(text)
    return Application(script, tuple(_ScriptCompiler(script).steps()))


@dataclass
class _ScriptCompiler:
    script: SqlScript
    tables: dict[str, KnownTable] = field(default_factory=dict)
    sinks: dict[str, SinkStep] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    claimed: set[tuple[str, str]] = field(
        default_factory=set
    )  # tables, paths and checkpoints that are in use
    results: set[str] = field(default_factory=set)  # the views with windows
    closed: bool = True  # whether there are no tables but those of the script
    waits: Insert | None = None  # a query that never ends by itself

    def steps(self) -> Iterator[Step]:
        """Yields a step for each statement."""
        for statement in self.script.statements:
            try:
                yield self._step(statement)
            except SqlError as error:
                raise self.script.placed(error, statement.span) from None

    def _step(self, statement: Statement) -> Step:
        match statement:
            case Setting():
                return self._setting(statement)
            case SourceView():
                return self._source(statement)
            case SinkTable():
                return self._sink(statement)
            case QueryView():
                self._new(statement.name, statement.name_span)
                compiled, known = self._query(statement.query)
                self.tables[statement.name.lower()] = known
                if self._has_outputs(compiled, statement.query):
                    self.results.add(statement.name.lower())
                return ViewStep(statement, compiled)
            case Insert():
                return self._insert(statement)
            case Show():
                return self._show(statement)
            case SparkStatement():
                self.closed = False  # it may make tables
                return SparkStep(statement)

    # Settings

    def _setting(self, statement: Setting) -> SettingStep:
        key, value, span = statement.key, statement.value, statement.span
        own = next((name for name in OWN_SETTINGS if name == key.lower()), None)
        if own is None and key.lower().startswith("panewise.") and key not in _OF_SESSION:
            rule = f"the settings of panewise are {[*OWN_SETTINGS, *_OF_SESSION]}"
            raise self.script.fail(f"SET {key}", rule, "set one of these", span)
        if own == "panewise.trigger":
            self._trigger(value, span)
        if own == "panewise.finish":
            self._at_end(value, span)
        if own is not None:
            self.settings[own] = value
        return SettingStep(statement)

    def _trigger(self, text: str, span: TextSpan) -> Trigger:
        if text.strip().lower() in _AVAILABLE:
            return Trigger(available_now=True)
        try:
            length = duration(text if text.upper().startswith("INTERVAL") else f"'{text}'")
        except SpecError:
            rule = "a trigger is 'available now', or the interval between micro-batches"
            raise self.script.fail(
                f"trigger {text!r}", rule, "write for example '10 seconds'", span
            ) from None
        return Trigger(processing_time=f"{length.us} microseconds")

    def _at_end(self, text: str, span: TextSpan) -> bool:
        if text.lower() not in _FINISH:
            rule = "finish is at_end or never"
            raise self.script.fail(f"finish {text!r}", rule, "write one of these", span)
        return text.lower() == "at_end"

    # Tables

    def _new(self, name: str, span: TextSpan) -> None:
        if name.lower() in self.tables or name.lower() in self.sinks:
            rule = "each table and view of a script has a name of its own"
            raise self.script.fail(name, rule, "give it another name", span)

    def _source(self, statement: SourceView) -> SourceStep:
        self._new(statement.name, statement.name_span)
        options, format_ = statement.options, statement.format
        text = options.get("streaming", "").lower()
        if text not in ("", "true", "false"):
            rule = "the option streaming is true or false"
            raise self.script.fail(
                f"streaming={text}", rule, "write one", statement.option_spans["streaming"]
            )
        default = format_ not in FILES or statement.columns is not None
        streaming = default if not text else text == "true"
        if streaming and format_ in FILES and statement.columns is None:
            rule = "a stream of files has columns with types, as Spark does not infer those of a stream"
            raise self.script.fail(statement.name, rule, "write (ts TIMESTAMP, ...)", statement.name_span)
        self._check_source(statement)
        columns: Types | None = None
        if statement.columns is not None:
            columns = {column.name: type_of(column.type) for column in statement.columns}
            columns |= dict.fromkeys(included(statement))
        marks = frozenset() if statement.watermark is None else frozenset({statement.watermark[0].lower()})
        if columns is not None and not marks <= {name.lower() for name in columns}:
            rule = f"the columns are {list(columns)}"
            raise self.script.fail(f"a column {next(iter(marks))}", rule, "correct the name", statement.span)
        self.tables[statement.name.lower()] = KnownTable(columns, streaming, marks)
        return SourceStep(statement, streaming)

    def _check_source(self, statement: SourceView) -> None:
        """Checks the options by which the values of Kafka become columns."""
        spans, kafka = statement.option_spans, statement.format == "kafka"
        for option in ("value.format", "include"):
            if option in spans and not (kafka and statement.columns is not None):
                rule = f"{option} says how messages of Kafka become the columns of a view"
                raise self.script.fail(option, rule, "leave it out, or declare columns", spans[option])
        if statement.options.get("value.format", "json").lower() not in DECODED:
            rule = f"the values of Kafka are decoded from one of {list(DECODED)}"
            remedy = "leave the columns out, and decode `value` in a view over this one"
            raise self.script.fail(statement.options["value.format"], rule, remedy, spans["value.format"])
        unknown = sorted(set(included(statement)) - set(METADATA))
        if unknown:
            rule = f"a message has {list(METADATA)} besides its value"
            raise self.script.fail(unknown[0], rule, "include some of these", spans["include"])

    def _sink(self, statement: SinkTable) -> SinkStep:
        self._new(statement.name, statement.name_span)
        options, spans = statement.options, statement.option_spans
        if statement.format in (*FILES, "delta") and "path" not in options:
            rule = "a table of files has a path"
            raise self.script.fail(statement.name, rule, "add LOCATION 'path'", statement.name_span)
        self._check_options(statement)
        if "trigger" in options:
            self._trigger(options["trigger"], spans["trigger"])
        if "finish" in options:
            self._at_end(options["finish"], spans["finish"])
        if statement.format in (*FILES, "delta"):
            self._claim("path", _place(options["path"]), options["path"], spans["path"])
        step = SinkStep(statement)
        for output, table in step.outputs.items():
            if table.lower() not in self.sinks:
                rule = f"the table of {output} rows is created before it is named"
                raise self.script.fail(f"{output} = {table!r}", rule, "create it before", spans[output])
            format_ = self.sinks[table.lower()].statement.format
            if format_ in _FLAT and not output.endswith("counts"):
                rule = f"{output} rows have a struct `row`, which {format_} cannot contain"
                raise self.script.fail(f"{output} = {table!r}", rule, "use json or parquet", spans[output])
        self.sinks[statement.name.lower()] = step
        return step

    # Queries

    def _query(self, span: TextSpan) -> tuple[CompiledQuery | None, KnownTable]:
        """Returns the stages of a query and its columns. The stages are None if Spark alone runs it."""
        text = self.script.query(span)
        self._check_tables(text)
        try:
            compiled = compile_sql(text)
        except SpecError:
            if says_windows(text) and not (is_sparks(text) and not self._streams_in(text)):
                raise
            return None, replace(UNKNOWN, streaming=bool(self._streams_in(text)))
        check = ColumnCheck(text, self._readable, closed=self.closed)
        known = check.known_table(compiled.stage)
        self._check_watermarks(compiled, check)
        own = any(isinstance(stage, OURS) for stage in walk(compiled.stage))
        if compiled.tail is not None and known.streaming:
            rule = "the rows of a stream have no end, so they cannot be sorted or limited"
            remedy = "leave it out, sort in the sink, or use ROW_NUMBER() OVER (...)"
            place = TextSpan(compiled.place, compiled.place + len(compiled.tail))
            raise self.script.fail(compiled.tail, rule, remedy, place)
        return compiled if own else None, known

    @property
    def _readable(self) -> dict[str, KnownTable]:
        """The views of the script, and its sinks, whose columns are not known here."""
        return {**dict.fromkeys(self.sinks, UNKNOWN), **self.tables}

    def _streams_in(self, text: str) -> list[str]:
        names = tables_named(text)
        return [name for name, known in self.tables.items() if known.streaming and name in names]

    def _check_tables(self, text: str) -> None:
        """Refuses to read a sink if a query before it does not end by itself, as a read waits for all."""
        names = tables_named(text)
        for name in self.sinks.keys() & names.keys():
            token = names[name]
            self._check_sink_read(name, TextSpan(token.start, token.end + 1))

    def _check_sink_read(self, name: str, span: TextSpan) -> None:
        if ("table", name) in self.claimed and self.waits is not None:
            rule = f"a table is read once all queries before it have ended, and {self.waits.table} does not"
            raise self.script.fail(name, rule, "SET panewise.trigger = 'available now' before it", span)

    def _check_watermarks(self, compiled: CompiledQuery, check: ColumnCheck) -> None:
        """Checks that a stream has a watermark if its operator waits for one."""
        for stage in walk(compiled.stage):
            if not isinstance(stage, OURS) or isinstance(stage, JoinStage):
                continue
            entry = next(iter(stage.spec.ports.values()))
            if not _waits(entry) or not _reads_a_table(stage.input):
                continue
            known = check.known_table(stage.input)
            times = {name.lower() for name in entry.time_columns}
            if known.streaming and known.watermarks is not None and not known.watermarks & times:
                name = entry.time_columns[0]
                rule = "a stream whose windows wait for the watermark has one, of the event time"
                remedy = (
                    f"write WATERMARK {name} DELAY OF INTERVAL '10' SECONDS behind the table, or in the view"
                )
                raise check.fail(f"a stream without a watermark of {name}", rule, remedy, name)

    def _insert(self, statement: Insert) -> InsertStep:
        name, span = statement.table, statement.name_span
        sink = self.sinks.get(name.lower())
        if sink is None:
            rule = f"rows are added to a table of the script: {sorted(self.sinks)}"
            raise self.script.fail(name, rule, "write CREATE TABLE before it", span)
        compiled, known = self._query(statement.query)
        self._check_count(sink, known, statement)
        outputs = {output: self.sinks[table.lower()] for output, table in sink.outputs.items()}
        if outputs and not self._has_outputs(compiled, statement.query):
            raise self.script.fail(*no_outputs(outputs), span)
        for table in (sink, *outputs.values()):
            self._claim("table", table.statement.name.lower(), table.statement.name, span)
        options = sink.statement.options
        trigger = self._trigger_of(options)
        checkpoint = options.get("checkpoint") or self._checkpoint_of(name)
        if known.streaming and checkpoint is None:
            rule = "a query over a stream has a checkpoint, from which it continues"
            raise self.script.fail(name, rule, "SET panewise.checkpoint = 'directory' before it", span)
        if checkpoint is not None:
            self._claim("checkpoint", _place(checkpoint), checkpoint, span)
        at_end = self._at_end(options.get("finish", self.settings.get("panewise.finish", "never")), span)
        if at_end and known.streaming and not trigger.available_now:
            rule = "only a run that ends can end its input"
            raise self.script.fail("finish = at_end", rule, "SET panewise.trigger = 'available now'", span)
        if known.streaming and not trigger.available_now:
            self.waits = statement
        return InsertStep(statement, compiled, sink, outputs, checkpoint, trigger, at_end)

    def _has_outputs(self, compiled: CompiledQuery | None, query: TextSpan) -> bool:
        """Returns whether a query may have outputs such as late rows, also those of a view that it reads."""
        names = tables_named(self.script.characters(query))
        return compiled is not None or bool(names.keys() & self.results)

    def _check_count(self, sink: SinkStep, known: KnownTable, statement: Insert) -> None:
        """Checks that a query has as many columns as the table that it is written to."""
        wanted = sink.statement.columns
        if wanted is None or known.columns is None or len(known.columns) == len(wanted):
            return
        names = [column.name for column in wanted]
        rule = f"the columns of a query are those of its table, in their order: {names}"
        what = f"{len(known.columns)} columns {list(known.columns)}"
        raise self.script.fail(what, rule, "select as many", statement.name_span)

    def _check_options(self, statement: SinkTable) -> None:
        """Refuses options without effect, such as misspelt ones."""
        known = _SINK_OPTIONS.get(statement.format)
        for key in SinkStep(statement).options:
            alike = difflib.get_close_matches(key, _NAMES_OF_OPTIONS, n=1, cutoff=0.8)
            if alike or (known is not None and key.lower() not in known):
                rule = f"an option of a {statement.format} table has an effect"
                remedy = f"write {alike[0]}" if alike else f"leave it out; there are {sorted(known or ())}"
                raise self.script.fail(key, rule, remedy, statement.option_spans[key])

    def _claim(self, kind: str, key: str, shown: str, span: TextSpan) -> None:
        """Refuses a table or a checkpoint that another query of the script has."""
        if (kind, key) in self.claimed:
            rule = f"a {kind} belongs to one query, as two would overwrite each other's micro-batches"
            raise self.script.fail(shown, rule, f"use UNION ALL, or another {kind}", span)
        self.claimed.add((kind, key))

    def _trigger_of(self, options: Mapping[str, str]) -> Trigger:
        text = options.get("trigger", self.settings.get("panewise.trigger"))
        return Trigger() if text is None else self._trigger(text, TextSpan(0, 0))

    def _checkpoint_of(self, table: str) -> str | None:
        root = self.settings.get("panewise.checkpoint")
        return None if root is None else f"{root.rstrip('/')}/{table.lower()}"

    def _show(self, statement: Show) -> ShowStep:
        compiled, known = self._query(statement.query)
        if known.streaming:
            rule = "the rows of a stream are written to a table"
            raise self.script.fail(
                "a query over a stream", rule, "write INSERT INTO before it", statement.span
            )
        return ShowStep(statement, compiled)


def no_outputs(outputs: Mapping[str, object]) -> tuple[str, str, str]:
    """Returns the parts of the error of a query that does not have the outputs that its table wants."""
    rule = "only a query that panewise runs has late and invalid rows, and other outputs"
    return next(iter(outputs)), rule, "leave the option of the table out"


def included(statement: SourceView) -> tuple[str, ...]:
    """Returns the columns of a message of Kafka that a view has besides those of its value."""
    text = statement.options.get("include", "")
    return tuple(name.strip().lower() for name in text.split(",") if name.strip())


def _waits(entry: Entry) -> bool:
    """Returns whether the windows of an input wait for the watermark of the stream."""
    return entry.time != "processing" and not counted(entry.window) and bool(entry.time_columns)


def _reads_a_table(stage: Stage) -> bool:
    """Returns whether the rows of a stage come from a table, and from no operator."""
    return not any(isinstance(before, OURS) for before in walk(stage))


# Words


def _words(step: Step) -> list[str]:
    match step:
        case SettingStep(statement) if statement.key.lower() in OWN_SETTINGS:
            return [f"sets {statement.key.lower()} of the statements after it"]
        case SettingStep():
            return ["is a setting of Spark"]
        case SourceStep(statement, streaming):
            return _source_words(statement, streaming=streaming)
        case SinkStep(statement):
            return _sink_words(step)
        case ViewStep(statement, compiled):
            return [f"names a query {statement.name}", *query_words(compiled)]
        case InsertStep():
            return _insert_words(step)
        case ShowStep(_, compiled):
            return ["prints the rows of a query", *query_words(compiled)]
        case SparkStep():
            return ["is Spark's alone"]


def _source_words(statement: SourceView, *, streaming: bool) -> list[str]:
    kind = "a stream" if streaming else "a table"
    mark = statement.watermark
    words = [] if mark is None else [f"the watermark is {mark[0]} minus {mark[1]}"]
    return [f"reads {kind} from {statement.format} as {statement.name}", *words]


def _sink_words(step: SinkStep) -> list[str]:
    statement = step.statement
    where = statement.options.get("path")
    others = [f"its {output} rows are written to {table}" for output, table in step.outputs.items()]
    return [f"is a sink of {statement.format}{'' if where is None else f' at {where}'}", *others]


def _insert_words(step: InsertStep) -> list[str]:
    trigger = step.trigger
    when = (
        "when all that is available has been read, it ends" if trigger.available_now else "runs until stopped"
    )
    each = f"a micro-batch every {trigger.processing_time}" if trigger.processing_time else ""
    stored = "" if step.checkpoint is None else f"checkpoint {step.checkpoint}"
    end = "the end of the stream is the end of the input" if step.at_end else ""
    return [*query_words(step.compiled), stored, each, when if stored else "", end]


def query_words(compiled: CompiledQuery | None) -> list[str]:
    """Returns a description of each stage of a query, the first one first."""
    if compiled is None:
        return ["is a query of Spark's alone"]
    stages = [stage for stage in reversed([*walk(compiled.stage)]) if not isinstance(stage, TableStage)]
    return [line for stage in stages for line in _stage_words(stage).split("\n")]


def _stage_words(stage: Stage) -> str:
    match stage:
        case JoinStage():
            pairs = " and ".join(f"{left} = {right}" for left, right in stage.keys)
            names = " and ".join(stage.names)
            return f"a {stage.how} join of {names} on {pairs or 'no key'}: {stage.match}"
        case RowsStage():
            columns = "all columns" if stage.outputs is None else f"{len(stage.outputs)} columns"
            return f"a selection of {columns}" + (
                "" if stage.where is None else f" where {one_line(stage.where)}"
            )
        case AssignedStage():
            return "the bounds of the windows of each row"
        case _ if isinstance(stage, OURS):
            return describe(stage.spec)
        case _:
            return "a query of Spark's"


def _place(path: str) -> str:
    """Returns one spelling of a path."""
    local = path.removeprefix("file://").removeprefix("file:")
    return path.rstrip("/") if "://" in local else str(Path(local).resolve())
