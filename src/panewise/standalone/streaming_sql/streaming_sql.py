"""`sql`, which runs a text of SQL over frames of Polars or PyArrow in this process (semantics 46.50)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

import polars as pl
import pyarrow as pa

from panewise.calls import Calls, one_at_a_time
from panewise.chrono import DurationLike, InstantLike, instant_us
from panewise.engine.kernels.column_types import Dtypes
from panewise.errors import InputError, SpecError
from panewise.sql import compile_sql
from panewise.sql.compile import compile_whole
from panewise.sql.script.query_words import query_words
from panewise.sql.stages import CompiledQuery
from panewise.sql.text.named_places import placed
from panewise.sql.text.parameters import with_parameters
from panewise.standalone.batches import FRAMES, Frame, frame_for, from_arrow, spark_type, type_name
from panewise.standalone.schema import check_no_objects, polars_types
from panewise.standalone.streaming_sql.sql_nodes import Rejected, StepInput
from panewise.standalone.streaming_sql.sql_stages import NodeBuilder

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class SqlOutput:
    """What a query emits in a step, or over its whole input.

    Attributes:
        rows: the rows, with the columns of the SELECT list.
        late: the late rows of all operators: `row`, `reason` and the others of semantics 13.4.
        invalid: the invalid rows of all operators: `row` and `reason` (semantics 15).
    """

    rows: pl.DataFrame
    late: pl.DataFrame
    invalid: pl.DataFrame

    @property
    def panes(self) -> pl.DataFrame:
        """The rows, by the name that they have for windows."""
        return self.rows

    def __repr__(self) -> str:
        counts = f"{self.rows.height} rows, {self.late.height} late, {self.invalid.height} invalid"
        return f"<SqlOutput: {counts}>\n{self.rows}"

    def _repr_html_(self) -> str:
        """Returns the rows, and the numbers of late and invalid rows, as HTML for notebooks."""
        counts = f"{self.late.height} late rows, {self.invalid.height} invalid rows"
        return f"{self.rows._repr_html_()}<p>{escape(counts)}</p>"


class SqlQuery:
    """A query of SQL in this process, whose input arrives in steps.

    The watermark of a table with `WATERMARK ts DELAY OF ...` follows its rows: after a step it is the highest
    time so far minus the delay. The query reads no clock.

    A step that raises an error has changed nothing. One call at a time uses a query: a call beside that of
    another thread raises ConcurrentCallError.

    Args:
        text: the query.
        args: the values of parameters: a mapping for `:name`, a list for `?`.
        update: as in :func:`panewise.spark.sql`.
        tables: the columns of each table, with types as those of :class:`StandaloneOperator`.

    Raises:
        SqlError: if the text breaks a rule, or has a part that only Spark runs, which the error names.
        SpecError: if an operator does not fit its columns.
        InputError: if a type is unknown.

    >>> query = SqlQuery('''
    ...     SELECT k, sum(v) AS total
    ...     FROM TUMBLE(t WATERMARK ts DELAY OF INTERVAL '0' SECONDS, ts, INTERVAL '1' HOUR)
    ...     GROUP BY k, window_start, window_end
    ... ''', t={"ts": "timestamp", "k": "string", "v": "bigint"})
    >>> from datetime import UTC, datetime
    >>> def rows(hour, v):
    ...     return pl.DataFrame({"ts": [datetime(2024, 1, 1, hour, tzinfo=UTC)], "k": ["a"], "v": [v]})
    >>> query.add(t=rows(12, 1)).rows.height
    0
    >>> query.add(t=rows(13, 2)).rows.rows()
    [('a', 1)]
    >>> query.finish().rows.rows()
    [('a', 2)]

    Source: semantics 46.50 to 46.53.
    """

    def __init__(
        self,
        text: str,
        /,
        args: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        update: DurationLike | None = None,
        **tables: Mapping[str, Any],
    ) -> None:
        schemas = {name: polars_types(columns) for name, columns in tables.items()}
        self._run = SqlRun(with_parameters(text, args), schemas, update, follows=True)
        self._calls = Calls("a query")

    @one_at_a_time
    def add(self, **tables: Frame) -> SqlOutput:
        """Adds rows to tables as one batch, and returns what the query emits.

        Args:
            tables: Polars DataFrames, or tables or record batches of PyArrow, by the names of tables.

        Raises:
            InputError: if there is no such table, or a column is missing or has another type.
        """
        return self._run.step(tables)

    @one_at_a_time
    def advance(
        self, watermarks: Mapping[str, InstantLike] | None = None, clock: InstantLike | None = None
    ) -> SqlOutput:
        """Moves clocks, and returns what the query emits.

        Args:
            watermarks: the watermarks of tables, by their names; a lower one changes nothing. An int is
                microseconds since 1970-01-01 UTC.
            clock: processing time, likewise; an earlier one changes nothing.
        """
        return self._run.step(
            {}, _by_table(watermarks), None if clock is None else instant_us(clock, "clock")
        )

    @one_at_a_time
    def finish(self) -> SqlOutput:
        """Ends the inputs, and returns what the query emits. Rows that are added later are refused."""
        return self._run.step({}, finish=True)

    def explain(self) -> str:
        """Returns a description in words of what is emitted and when."""
        return "\n".join(query_words(self._run.compiled))


def sql(
    text: str,
    /,
    args: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    update: DurationLike | None = None,
    **tables: Frame,
) -> SqlOutput:
    """Runs a query of SQL over frames in this process, without Spark.

    The frames are the whole input: one batch, and then the end. The result is that of Spark over batch
    DataFrames. Expressions have the functions of semantics 46.52. What differs from Spark is refused by name.

    Args:
        text: the query, as :func:`panewise.spark.sql` takes it.
        args: the values of parameters: a mapping for `:name`, a list for `?`.
        update: as in :func:`panewise.spark.sql`.
        tables: Polars DataFrames, or tables or record batches of PyArrow, by the names of tables.

    Raises:
        SqlError: if the text breaks a rule, or has a part that only Spark runs, which the error names.
        SpecError: if an operator does not fit its columns.
        InputError: if a table is no frame.

    >>> from datetime import UTC, datetime
    >>> orders = pl.DataFrame({"ts": [datetime(2024, 1, 1, 12, n, tzinfo=UTC) for n in (1, 2)], "v": [1, 2]})
    >>> sql("SELECT sum(v) AS total FROM orders GROUP BY window(ts, '1 hour')", orders=orders).rows.rows()
    [(3,)]

    Source: semantics 46.50 to 46.52.
    """
    frames = {name: _polars(name, frame) for name, frame in tables.items()}
    schemas = {name: dict(frame.schema) for name, frame in frames.items()}
    run = SqlRun(with_parameters(text, args), schemas, update, follows=False)
    return run.step(frames, finish=True)


def _by_table(watermarks: Any) -> dict[str, int]:
    """Returns the watermarks of tables in microseconds."""
    if watermarks is not None and not isinstance(watermarks, Mapping):
        rule = "each table has a watermark of its own"
        raise InputError(f"watermarks={watermarks!r}", rule, "give {'table': watermark}")
    return {name: instant_us(instant, "watermark") for name, instant in (watermarks or {}).items()}


def _polars(name: str, frame: object) -> pl.DataFrame:
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        frame = from_arrow(frame)
    if not isinstance(frame, pl.DataFrame):
        rule = "a table is a Polars DataFrame, or a table or record batch of PyArrow"
        raise InputError(f"a table {name} of the type {type_name(type(frame))}", rule, FRAMES)
    for column, dtype in frame.schema.items():
        check_no_objects(column, dtype)
    return frame


class SqlRun:
    """The nodes of a text.

    Args:
        text: the query, without parameters.
        schemas: the columns of the tables, by name.
        update: as in :func:`sql`.
        follows: whether the watermarks of tables follow their rows.
    """

    def __init__(
        self, text: str, schemas: Mapping[str, Dtypes], update: DurationLike | None = None, *, follows: bool
    ) -> None:
        compiled = compile_sql if follows else compile_whole
        self.compiled: CompiledQuery = compiled(text, update=update)
        if self.compiled.tail is not None:
            rule = "in process rows are not sorted or limited behind a query"
            raise self.compiled.tail_error(rule, "leave it out, and sort the rows of the result")
        self.schemas = {
            name: {column: spark_type(dtype) for column, dtype in schema.items()}
            for name, schema in _by_lower_name(schemas).items()
        }
        try:
            self.node = NodeBuilder(self.schemas, follows, text).last_node(self.compiled.stage)
        except SpecError as error:
            raise placed(error, text) from None
        nothing = self.node.rejected()
        self._no_late, self._no_invalid = _together(nothing.late), _together(nothing.invalid)

    def step(
        self,
        tables: Mapping[str, Frame],
        watermarks: Mapping[str, int] | None = None,
        clock: int | None = None,
        *,
        finish: bool = False,
    ) -> SqlOutput:
        """Takes a step with all that happens in it."""
        by_name, reached = _by_lower_name(tables), _by_lower_name(watermarks or {})
        unknown = sorted((by_name.keys() | reached.keys()) - self.schemas.keys())
        if unknown:
            rule = f"the tables of this query are {sorted(self.schemas)}"
            raise InputError(f"a table {unknown[0]}", rule, "give one of these")
        frames = {name: frame_for(self.schemas[name], frame) for name, frame in by_name.items()}
        rejected, undo = Rejected(), self.node.savepoint()
        try:
            rows = self.node.step(StepInput(frames, reached, clock, finish), rejected)
            late = _together([self._no_late, *rejected.late])
            return SqlOutput(rows, late, _together([self._no_invalid, *rejected.invalid]))
        except BaseException:
            undo()
            raise


def _by_lower_name(of_tables: Mapping[str, T]) -> dict[str, T]:
    """Returns the values of tables by lower-case names. Refuses names that differ only in case (46.66)."""
    by_name = {name.lower(): value for name, value in of_tables.items()}
    if len(by_name) < len(of_tables):
        rule = "the names of tables are not case-sensitive (semantics 46.66)"
        raise InputError(f"the tables {list(of_tables)}", rule, "give one of them another name")
    return by_name


def _together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Returns rejected rows of several operators as one frame.

    The rows of two operators may have columns of one name with types that have nothing in common. A frame
    without rows then gives way. If both have rows, these are texts.
    """
    for known in (frames, [frame for frame in frames if frame.height] or frames[:1]):
        try:
            return pl.concat(known, how="diagonal_relaxed") if known else pl.DataFrame()
        except pl.exceptions.SchemaError:
            continue
    texts = [frame.with_columns(pl.col("row").struct.json_encode()) for frame in frames]
    return pl.concat(texts, how="diagonal_relaxed")
