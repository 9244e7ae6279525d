"""The queries that `write` starts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from panewise.spark.queries.display import query_html
from panewise.spark.session.failures import QueryError


class WindowQuery:
    """A query that `write` has started, with all methods and properties of Spark's StreamingQuery.

    With `finish="at_end"`, :meth:`awaitTermination` also ends the input. On a batch DataFrame the outputs are
    already written, and every method returns immediately.
    """

    def __init__(self, query: StreamingQuery, finisher: Callable[[], StreamingQuery] | None) -> None:
        self.query = query
        self._finisher = finisher

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - PySpark's name
        """Waits for the end of the query. With `finish="at_end"` it then ends the input and waits again.

        Args:
            timeout: the longest time to wait until the input has been processed, in seconds. Default: no
                limit. The wait for the last panes, after the end of input, never has a limit.

        Returns:
            False if the timeout passed, else True.

        Raises:
            QueryError: if the query failed. Its message begins with the reason.
        """
        with _short_reports():
            if timeout is not None and not self.query.awaitTermination(timeout):  # type: ignore[arg-type]
                return False
            self.query.awaitTermination()
            if self._finisher is not None:
                finisher, self._finisher = self._finisher, None
                self.query = finisher()
                self.query.awaitTermination()
        return True

    def stop(self) -> None:
        """Stops the query without ending its input."""
        self._finisher = None
        self.query.stop()

    @property
    def lastProgress(self) -> Any:  # noqa: N802 - PySpark's name
        """Spark's progress report of the last micro-batch, None if there is none."""
        return self.query.lastProgress

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802 - PySpark's name
        """Spark's progress reports of recent micro-batches, the oldest first."""
        return list(self.query.recentProgress)

    @property
    def status(self) -> dict[str, Any]:
        """Spark's description of what the query is doing."""
        return dict(self.query.status)

    @property
    def id(self) -> str | None:
        """The id of the query, None on a batch. After a restart from the same checkpoint it is the same."""
        return self.query.id

    @property
    def runId(self) -> str | None:  # noqa: N802 - PySpark's name
        """The id of this run of the query, None on a batch. The run that ends the input has a new id."""
        return self.query.runId

    def explain(self, extended: bool = False) -> None:
        """Prints Spark's physical plan of the last micro-batch, with `extended` also the logical plans."""
        self.query.explain(extended)

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        return f"<WindowQuery{name} id={self.id} {'active' if self.isActive else 'ended'}>"

    def _repr_html_(self) -> str:
        """Returns name, status and the metrics of the last micro-batch with rows as an HTML table."""
        return query_html(self)

    @property
    def isActive(self) -> bool:  # noqa: N802 - PySpark's name
        """Whether the query runs."""
        return self.query.isActive

    @property
    def name(self) -> str | None:
        """The name of the query, None if it has none."""
        return self.query.name

    def exception(self) -> QueryError | None:
        """Returns the error of a query that failed, None if the query runs or has ended without an error."""
        error = self.query.exception()
        return None if error is None else QueryError(str(error))

    def processAllAvailable(self) -> None:  # noqa: N802 - PySpark's name
        """Waits until all input that is available has been processed.

        Raises:
            QueryError: if the query failed. Its message begins with the reason.
        """
        with _short_reports():
            self.query.processAllAvailable()


@contextmanager
def _short_reports() -> Iterator[None]:
    """Replaces an error of Spark by a QueryError, whose message begins with the reason.

    The message contains Spark's report. So Spark's error is not attached as the cause, which would print the
    report twice.
    """
    try:
        yield
    except StreamingQueryException as error:
        raise QueryError(str(error)) from None


def written_batch(df: DataFrame) -> WindowQuery:
    """Returns the query of a batch DataFrame whose outputs are written."""
    return WindowQuery(BatchQuery(df), None)  # type: ignore[arg-type]


class BatchQuery:
    """Takes the place of Spark's query for a batch DataFrame, whose outputs are already written."""

    name = id = runId = None  # noqa: N815 - PySpark's name
    isActive = False  # noqa: N815 - PySpark's name
    lastProgress = None  # noqa: N815 - PySpark's name
    recentProgress: ClassVar[list[Any]] = []  # noqa: N815 - PySpark's name
    status: ClassVar[dict[str, Any]] = {"message": "written"}

    def __init__(self, df: DataFrame) -> None:
        self._df = df

    def explain(self, extended: bool = False) -> None:
        """Prints the plan of the input."""
        self._df.explain(extended)

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Returns True."""
        return True

    def processAllAvailable(self) -> None:  # noqa: N802
        """Does nothing."""

    def exception(self) -> None:
        """Returns None: an error of a batch is raised by `write`."""

    def stop(self) -> None:
        """Does nothing."""
