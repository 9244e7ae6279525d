"""`sql`, which runs a text of SQL over streaming or batch DataFrames (semantics 46)."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panewise.chrono import DurationLike
from panewise.errors import SetupError, SpecError, SqlError, UnboundedJoinWarning
from panewise.spark.builders.upstream_inputs import Source, session_of
from panewise.spark.streaming_sql.sql_stages import Runner, SqlResult
from panewise.sql import compile_sql
from panewise.sql.stages import EndlessError
from panewise.sql.text.parameters import with_parameters
from panewise.sql.text.recognize import is_query, is_sparks, says_windows


def sql(
    text: str,
    /,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    update: DurationLike | None = None,
    **tables: Source,
) -> Any:
    """Runs a query of SQL over DataFrames, streaming or batch, and returns its result.

    Spark's SQL has these further clauses: `WATERMARK ts DELAY OF INTERVAL ...` after a table, the window
    functions TUMBLE, HOP, CUMULATE and SESSION in FROM, and `EMIT ...` at the end of a SELECT. Spark's own
    `window(...)` and `session_window(...)` in GROUP BY, and functions `OVER (...)`, are run by panewise, too.
    All other expressions are Spark's, as they are written.

    Args:
        text: the query.
        args: the values of parameters: a mapping for `:name`, a list for `?`.
        update: when the rows of a join `OVER (...)` are released, if its text has no EMIT: a period of
            processing time, or "each" with their batch. Default: rows are joined when they arrive.
            An int is in microseconds.
        tables: the tables by name, as DataFrames or results of operators. In the text they stand by their
            names, or as `{name}`. Other tables are those of the session.

    Returns:
        The result of the last operator, as the fluent API returns it: a WindowResult with `panes`, or an
        OverResult with `rows`; and `late`, `invalid`, `counts`, `explain()` and `write(...)`. Its rows have
        the columns of the SELECT list. In retracting mode a column `op` follows, unless it is selected. If
        the text has no windows, it is the DataFrame that Spark's own `sql` returns. So it is for a
        batch query that only Spark has, such as a function over a whole partition.

    Raises:
        SqlError: if the text breaks a rule. The error shows the place.
        SpecError: if an operator does not fit its columns.
        SetupError: if there is no session, or an input has no watermark where it needs one.

    Example::

        hourly = sql(
            '''
            SELECT k, window_start, sum(v) AS total
            FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR))
            GROUP BY k, window_start, window_end
            EMIT EARLY EVERY INTERVAL '10' SECONDS RETRACTING
            ''',
            orders=df.withWatermark("ts", "10 minutes"),
        )
        hourly.write(panes=sink, checkpoint="checkpoint")

    Source: semantics 46; Flink's SQL, "One SQL to Rule Them All" (Begoli and others, 2019).
    """
    runner = Runner(_session(tables), with_parameters(text, args), tables)
    result = _result(runner, runner.text, update)
    for warning in runner.warnings:
        warnings.warn(str(warning), UnboundedJoinWarning, stacklevel=2)
    return result


def in_session(session: SparkSession, filled: str, tables: Mapping[str, Source]) -> SqlResult:
    """Runs a query of a script in a session. The check of the script has said what its author should know."""
    return _result(Runner(session, filled, tables), filled)


def _result(runner: Runner, filled: str, update: DurationLike | None = None) -> SqlResult:
    """Returns the result of a query without parameters."""
    if not is_query(filled):
        return runner.plain()
    query = None
    try:
        query = compile_sql(filled, update=update)
        return runner.script(query)
    except EndlessError:
        raise
    except SpecError:
        if not says_windows(filled) and (query is None or query.last is None):
            return runner.plain()
        batch = _spark_batch(runner, filled)
        if batch is None:
            raise
        return batch


def _spark_batch(runner: Runner, text: str) -> DataFrame | None:
    """Returns the DataFrame that Spark makes of a text that panewise refuses.

    None if Spark refuses it, too, or if it is a stream.
    """
    if not is_sparks(text):
        return None
    try:
        plain = runner.plain()
    except SqlError:
        return None
    return None if plain.isStreaming else plain


def _session(tables: Mapping[str, object]) -> SparkSession:
    for table in tables.values():
        if isinstance(table, Source):
            return session_of(table)
        rule = "a table is a DataFrame, or the result of an operator"
        raise SqlError(f"a table {table!r}", rule, "give one of these")
    session = SparkSession.getActiveSession()
    if session is None:
        rule = "a query runs in a session"
        raise SetupError("sql(...) without a session", rule, "make one, or give a table")
    return session
