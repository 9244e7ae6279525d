"""Compiles scripts: decides what each statement becomes, without Spark (semantics 46.43)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final

from panewise.errors import SpecError, SqlError
from panewise.paths import check_apart, place
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.script.declarations import has_path, sink_step, source_step
from panewise.sql.script.known_tables import KnownTable, Tables
from panewise.sql.script.queries import CheckedQuery, checked_query
from panewise.sql.script.script_parser import parse_script
from panewise.sql.script.script_settings import ScriptSettings, is_own
from panewise.sql.script.statements import (
    Insert,
    QueryView,
    Setting,
    Show,
    SinkTable,
    SourceView,
    SparkStatement,
    SqlScript,
    Statement,
)
from panewise.sql.script.step_words import step_words
from panewise.sql.script.steps import (
    InsertStep,
    QueryStep,
    SettingStep,
    SinkStep,
    SparkStep,
    Step,
    Trigger,
    written_paths,
)
from panewise.sql.text.pieces import one_line

NO_CHECKPOINT: Final = (
    "a query over a stream has a checkpoint, from which it continues",
    "SET panewise.checkpoint = 'directory' before it",
)
_CHANGES: Final = frozenset({"DROP", "ALTER"})  # statements of Spark's that change a table
_BEFORE_NAMES: Final = frozenset({"TABLE", "VIEW", "EXISTS"})


@dataclass(frozen=True)
class Application:
    """A checked script: what is to be done for each of its statements, in their order.

    Attributes:
        script: the script.
        steps: what is to be done.
        conf: the settings of the command, which take precedence over those of the script.
        warnings: what the author should know, though nothing is refused, each with its place in the script.
    """

    script: SqlScript
    steps: tuple[Step, ...]
    conf: Mapping[str, str]
    warnings: tuple[SqlError, ...] = ()

    @property
    def session_settings(self) -> dict[str, str]:
        """The settings of the command that are those of the session."""
        return {key: value for key, value in self.conf.items() if not is_own(key)}

    def explain(self) -> str:
        """Returns what each statement becomes."""
        return "\n\n".join(self._explained(step) for step in self.steps)

    def _explained(self, step: Step) -> str:
        line = self.script.text.count("\n", 0, step.statement.span.start) + 1
        first = one_line(self.script.characters(step.statement.span)).split(" AS SELECT", 1)[0][:70]
        return "\n".join([f"line {line}: {first}", *(f"  {text}" for text in step_words(step) if text)])


def compile_script(text: str, conf: Mapping[str, str] = MappingProxyType({})) -> Application:
    """Returns what the statements of a script become. It needs neither Spark nor the sources.

    Args:
        text: the script.
        conf: the settings of the command, which take precedence over SET.

    Raises:
        SqlError: if a statement breaks a rule. The error shows the place in the script.
        SetupError: if a setting of the command is wrong.

    >>> application = compile_script("CREATE TABLE t USING console; INSERT INTO t SELECT 1 AS one")
    >>> [type(step).__name__ for step in application.steps]
    ['SinkStep', 'InsertStep']
    """
    script = parse_script(text)
    compiler = _ScriptCompiler(script, ScriptSettings(conf))
    return Application(script, tuple(compiler.steps()), conf, tuple(compiler.warnings))


class _ScriptCompiler:
    def __init__(self, script: SqlScript, settings: ScriptSettings) -> None:
        self.script, self.settings, self.tables = script, settings, Tables()
        self.claimed: set[tuple[str, str]] = set()  # paths and checkpoints that are in use
        self.written: dict[str, str] = {}  # the directories of queries that begin anew, by what they are
        self.endless: Insert | None = None  # a query that never ends by itself
        self.warnings: list[SqlError] = []

    def steps(self) -> Iterator[Step]:
        """Yields a step for each statement."""
        for statement in self.script.statements:
            try:
                yield self._step(statement)
            except SqlError as error:
                raise self.script.placed(error, statement.span) from None

    def _step(self, statement: Statement) -> Step:
        match statement:
            case Setting(key, value, span):
                with self.script.placing(span):
                    self.settings.make(key, value)
                return SettingStep(statement, is_own(key), self.settings.replaces(key))
            case SourceView():
                return self._source(statement)
            case SinkTable():
                return self._sink(statement)
            case QueryView():
                return self._view(statement)
            case Insert():
                return self._insert(statement)
            case Show():
                return self._show(statement)
            case SparkStatement():
                return self._of_spark(statement)

    def _query(self, span: TextSpan) -> CheckedQuery:
        query = checked_query(self.script, span, self.tables, self.endless)
        self.warnings += (self.script.placed(warning, span) for warning in query.warnings)
        return query

    # Tables and views

    def _new(self, name: str, span: TextSpan) -> None:
        with self.script.placing(span):
            self.tables.check_new(name)

    def _source(self, statement: SourceView) -> Step:
        self._new(statement.name, statement.name_span)
        step, known = source_step(statement, self.script)
        self.tables.views[statement.name.lower()] = known
        return step

    def _view(self, statement: QueryView) -> Step:
        self._new(statement.name, statement.name_span)
        query, name = self._query(statement.query), statement.name.lower()
        self.tables.views[name] = query.known
        if query.has_outputs:
            self.tables.results.add(name)
        return QueryStep(statement, query.compiled)

    def _sink(self, statement: SinkTable) -> Step:
        self._new(statement.name, statement.name_span)
        step = sink_step(statement, self.tables, self.script)
        if "path" in statement.options:
            path = statement.options["path"]
            self._claim("path", place(path), path, statement.option_spans["path"])
        self.tables.sinks[statement.name.lower()] = step
        return step

    def _claim(self, kind: str, key: str, shown: str, span: TextSpan) -> None:
        """Refuses a table, a path or a checkpoint that another query of the script has."""
        if (kind, key) in self.claimed:
            rule = f"a {kind} belongs to one query, as two would overwrite each other's micro-batches"
            raise self.script.fail(shown, rule, f"use UNION ALL, or another {kind}", span)
        self.claimed.add((kind, key))

    def _of_spark(self, statement: SparkStatement) -> Step:
        """Returns a statement of Spark's, after which there may be further tables."""
        tokens = tokens_of(self.script.query(statement.span))
        if tokens[0].text.upper() in _CHANGES:
            for before, token in pairwise(tokens):
                if before.text.upper() in _BEFORE_NAMES and self.tables.declares(token.text):
                    rule = "the tables and views of a script stay as they are declared"
                    place = TextSpan(token.start, token.end + 1)
                    raise self.script.fail(token.text, rule, "leave the statement out", place)
        self.tables.allow_others()
        return SparkStep(statement)

    # Queries

    def _insert(self, statement: Insert) -> Step:
        span, sink = statement.name_span, self._target(statement)
        query = self._query(statement.query)
        self._check_count(sink, query.known, statement)
        outputs = self._outputs(sink, query, span)
        options, streaming = sink.statement.options, query.known.streaming
        trigger, at_end = self.settings.trigger(options), self.settings.at_end(options)
        checkpoint = self.settings.checkpoint(options, statement.table)
        if streaming:
            self._check_stream(statement, checkpoint, trigger, at_end=at_end)
        for table in (sink, *outputs.values()):
            self.tables.written.add(table.statement.name.lower())
        self._check_apart(
            written_paths(sink, outputs, checkpoint if streaming else None), checkpoint, statement
        )
        parts = statement, query.compiled, sink, outputs, streaming, checkpoint, trigger, at_end
        return InsertStep(*parts, self._initial_state(sink, query))

    def _target(self, statement: Insert) -> SinkStep:
        """Returns the sink that a query is written to."""
        sink = self.tables.sinks.get(statement.table.lower())
        if sink is None:
            rule = f"rows are added to a table of the script: {sorted(self.tables.sinks)}"
            raise self.script.fail(statement.table, rule, "write CREATE TABLE before it", statement.name_span)
        return sink

    def _outputs(self, sink: SinkStep, query: CheckedQuery, span: TextSpan) -> dict[str, SinkStep]:
        """Returns the sinks of the other outputs of a query, by the names of the outputs."""
        outputs = {output: self.tables.sinks[table.lower()] for output, table in sink.outputs.items()}
        if outputs and not query.has_outputs:
            raise self.script.fail(*no_outputs(outputs), span)
        for table in (sink, *outputs.values()):
            self._claim("table", table.statement.name.lower(), table.statement.name, span)
        return outputs

    def _initial_state(self, sink: SinkStep, query: CheckedQuery) -> str | None:
        """Returns the file with whose state the query of a sink begins. It is on the disk of the driver."""
        file = sink.statement.options.get("initial_state")
        if file is None:
            return None
        span = sink.statement.option_spans["initial_state"]
        if not (query.known.streaming and query.has_outputs):
            rule = "only a query over a stream that panewise runs begins with a state (semantics 46.164)"
            raise self.script.fail(f"initial_state {file!r}", rule, "leave the option out", span)
        if not Path(file).exists():
            rule = "a new checkpoint begins with the state of a file, and there is none of this name here"
            remedy = "write it with panewise state export, on the machine that runs the script"
            self.warnings.append(self.script.fail(f"initial_state {file!r}", rule, remedy, span))
        return file

    def _check_stream(
        self, statement: Insert, checkpoint: str | None, trigger: Trigger, *, at_end: bool
    ) -> None:
        """Checks how a query over a stream runs."""
        span = statement.name_span
        if checkpoint is None:
            raise self.script.fail(statement.table, *NO_CHECKPOINT, span)
        self._claim("checkpoint", place(checkpoint), checkpoint, span)
        if at_end and not trigger.available_now:
            rule = "only a run that ends can end its input"
            raise self.script.fail("finish = at_end", rule, "SET panewise.trigger = 'available now'", span)
        if not trigger.available_now:
            self.endless = statement

    def _check_apart(self, paths: Mapping[str, str], checkpoint: str | None, statement: Insert) -> None:
        """Checks that a query which begins anew writes apart from itself, and from those before it.

        Whether a query whose checkpoint is elsewhere begins anew is known when it starts.
        """
        at = "" if checkpoint is None else place(checkpoint)
        if "://" in at or (at and Path(at, "metadata").exists()):
            return
        self.written.update(paths)
        with self.script.placing(statement.name_span):
            check_apart(self.written)

    def _check_count(self, sink: SinkStep, known: KnownTable, statement: Insert) -> None:
        """Checks that a query has as many columns as those of its table that it is written to."""
        declared = sink.statement.columns
        names = None if declared is None else [column.name for column in declared]
        if statement.columns is not None:
            with self.script.placing(statement.name_span):
                check_list(statement.columns, names)
        wanted = names if statement.columns is None else [*statement.columns]
        if wanted is None:
            self._check_names(sink, known, statement)
        if wanted is None or known.columns is None or len(known.columns) == len(wanted):
            return
        rule = f"the columns of a query are those of its table, in their order: {wanted}"
        shown = "" if known.names is None else f" {known.names}"
        what = f"{len(known.columns)} columns{shown}"
        raise self.script.fail(what, rule, "select as many", statement.name_span)

    def _check_names(self, sink: SinkStep, known: KnownTable, statement: Insert) -> None:
        """Refuses two columns of one name in a table whose format cannot have them."""
        names = Counter(column.name.lower() for column in known.columns or () if column.name is not None)
        twice = [name for name, number in names.items() if number > 1]
        if twice and has_path(sink.statement):
            rule = f"each column of a table of {sink.statement.format} has a name of its own"
            remedy = "give one another name with AS, or declare the columns of the table"
            raise self.script.fail(f"a column {twice[0]} twice", rule, remedy, statement.name_span)

    def _show(self, statement: Show) -> Step:
        query = self._query(statement.query)
        if query.known.streaming:
            rule, remedy = "the rows of a stream are written to a table", "write INSERT INTO before it"
            raise self.script.fail("a query over a stream", rule, remedy, statement.span)
        return QueryStep(statement, query.compiled)


def check_list(columns: Iterable[str], declared: Sequence[str] | None) -> None:
    """Checks the list of columns of an INSERT, given those of its table.

    Raises:
        SpecError: if it has other columns, or one twice.
    """
    if declared is None:
        rule = "an INSERT names columns of a table that has declared them"
        remedy = "declare the columns in CREATE TABLE, or leave the list out"
        raise SpecError("a list of columns", rule, remedy)
    known = {name.lower() for name in declared}
    for name, number in Counter(name.lower() for name in columns).items():
        if name not in known or number > 1:
            rule = f"an INSERT names columns of its table, each once: {[*declared]}"
            raise SpecError(f"a column {name}{' twice' if name in known else ''}", rule, "correct the list")


def no_outputs(outputs: Mapping[str, object]) -> tuple[str, str, str]:
    """Returns the parts of the error of a query that does not have the outputs that its table wants."""
    rule = "only a query that panewise runs has late and invalid rows, and other outputs"
    return next(iter(outputs)), rule, "leave the option of the table out"
