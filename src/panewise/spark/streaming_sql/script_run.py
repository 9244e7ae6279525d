"""Runs a script of SQL in a session: one query for each INSERT INTO (semantics 46.40)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from traceback import format_exception

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from panewise.errors import PanewiseError, SqlError
from panewise.spark.builders.upstream_inputs import frame_of
from panewise.spark.queries.query import WindowQuery
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.session.failures import QueryError
from panewise.spark.streaming_sql.script_inserts import CheckedInsert, WrittenTable, checked_insert
from panewise.spark.streaming_sql.script_remedies import of_scripts, refusal_of_spark
from panewise.spark.streaming_sql.script_session import keep_settings, settings_of, with_settings
from panewise.spark.streaming_sql.sql_stages import SqlResult
from panewise.spark.streaming_sql.streaming_sql import in_session
from panewise.spark.streaming_sql.table_sources import source_of
from panewise.spec.conditions.text import in_backticks
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.script.application import Application
from panewise.sql.script.known_tables import tables_read
from panewise.sql.script.statements import QueryView, Show
from panewise.sql.script.steps import (
    InsertStep,
    QueryStep,
    SettingStep,
    SinkStep,
    SourceStep,
    SparkStep,
    Step,
)


class StatementError(QueryError):
    """A statement over a batch failed while it ran. The reason begins with its line in the script."""

    def __init__(self, line: int, error: Exception) -> None:
        known = isinstance(error, PySparkException)
        super().__init__(str(error) if known else "".join(format_exception(error)))
        self.reason = f"line {line}: {self.reason}"


@dataclass
class ScriptRun:
    """A script that runs.

    Args:
        session: the session.
        application: the checked script.
        wait: is called with the queries that run, and returns when they have ended. It is called before rows
            are printed.
        proceed: is called before each statement. It may raise, and so end the run.

    Attributes:
        queries: the queries by the name of their table.
    """

    session: SparkSession
    application: Application
    wait: Callable[[Mapping[str, WindowQuery]], None]
    proceed: Callable[[], None] = lambda: None
    queries: dict[str, WindowQuery] = field(default_factory=dict)
    _results: dict[str, OperatorResult] = field(default_factory=dict)
    _written: dict[str, WrittenTable] = field(default_factory=dict)
    _checked_inserts: list[tuple[CheckedInsert, Mapping[str, str | None]]] = field(default_factory=list)

    def start(self) -> None:
        """Runs all statements, in their order. Queries over streams continue afterwards.

        INSERT INTO is checked in its place. Its query starts when a later statement may need its rows, or at
        the end. So a script that is refused has usually started nothing (semantics 46.158).

        Raises:
            SqlError: if Spark or an operator refuses a statement, or a checkpoint is that of another query.
                The error names the place in the script.
            QueryError: if a query fails while another statement waits for its rows, or while a statement over
                a batch runs.
        """
        for step in self.application.steps:
            self.proceed()
            self._checked(step, partial(self._step, step))
        self._begin()

    def stop(self) -> None:
        """Stops the queries. A later run of the script continues from their checkpoints."""
        for query in self.queries.values():
            query.stop()

    def _checked(self, step: Step, work: Callable[[], None]) -> None:
        """Calls `work`; its errors get their place in the script."""
        script, span = self.application.script, step.statement.span
        try:
            work()
        except SqlError as error:
            raise script.placed(error, span) from error
        except PanewiseError as error:
            refused = SqlError(error.given, error.rule, of_scripts(error.remedy))
            raise script.placed(refused, span) from error
        except QueryError:
            raise
        except Exception as error:
            runs = isinstance(step, InsertStep) or isinstance(step.statement, Show)
            if runs and not isinstance(error, (AnalysisException, ParseException)):
                raise StatementError(script.text.count("\n", 0, span.start) + 1, error) from error
            if not isinstance(error, PySparkException):
                raise
            raise script.placed(refusal_of_spark(error), span) from error

    def _step(self, step: Step) -> None:
        match step:
            case SettingStep(statement, own, replaced):
                if not (own or replaced):
                    keep_settings(self.session, {statement.key: statement.value})
            case SourceStep(statement):
                if any(insert.shares(statement.options.get("path")) for insert, _ in self._checked_inserts):
                    self._begin()
                self._name(statement.name, source_of(self.session, step))
            case QueryStep(QueryView(name, span)):
                self._name(name, self._query(span))
            case InsertStep(statement):
                checked = checked_insert(self._query(statement.query), step)
                self._checked_inserts.append((checked, settings_of(self.session, self.application)))
                self._written.update(checked.by_name)
            case QueryStep(Show(span)):
                self._begin()
                frame_of(self._query(span)).show(truncate=False)
            case SparkStep(statement):
                self._begin()
                self.session.sql(self.application.script.characters(statement.span))
                keep_settings(self.session, self.application.session_settings)  # which it may have changed
            case SinkStep():
                pass

    def _begin(self) -> None:
        """Starts the queries that are checked, each with the settings that it was checked with."""
        checked, self._checked_inserts = self._checked_inserts, []
        for insert, settings in checked:
            self.proceed()
            with with_settings(self.session, settings):
                self._checked(insert.step, partial(self._begin_one, insert))

    def _begin_one(self, insert: CheckedInsert) -> None:
        self.queries[insert.step.statement.table.lower()] = insert.start()

    def _name(self, name: str, source: SqlResult) -> None:
        if isinstance(source, DataFrame):
            source.createOrReplaceTempView(in_backticks(name))
        else:
            self._results[name] = source

    def _query(self, span: TextSpan) -> SqlResult:
        """Returns the DataFrame or the result of a query, once the tables that it reads are written."""
        text = self.application.script.query(span)
        names = tables_read(text).keys()
        if written := names & self._written.keys():
            self._begin()
            self.wait(self.queries)
            for name in written:
                table = self._written[name]
                self._name(name, table.sink.read(self.session, table.schema))
        tables = {name: source for name, source in self._results.items() if name.lower() in names}
        return in_session(self.session, text, tables)
