"""Runs the stages of a compiled text: Spark's parts as DataFrames, windows as operators."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce, singledispatchmethod
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as SF

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.two_sides import inputs_of_sides
from panewise.spark.builders.upstream_inputs import Source, frame_of, is_stream
from panewise.spark.inputs.guarded_watermark import watermarked_by
from panewise.spark.queries.selection import Selection, Sorted
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.streaming_sql.sql_operators import OperatorRunner
from panewise.spark.streaming_sql.sql_outputs import column_of, selected, words_of
from panewise.spark.streaming_sql.sql_text import named_tables
from panewise.spec import Cumulating, Hopping
from panewise.spec.conditions.text import in_backticks
from panewise.sql.joins import resolved
from panewise.sql.own_columns import times_of_sides
from panewise.sql.row_filters import with_columns, with_condition
from panewise.sql.stages import (
    UNSORTED,
    AssignedStage,
    CompiledQuery,
    JoinStage,
    QueryStage,
    RowsStage,
    SingleInputStage,
    SparkStage,
    TableStage,
    TableWatermark,
    WatermarkedStage,
    run_options,
)
from panewise.sql.text.pieces import one_line

_WINDOW = "__window"
SqlResult: TypeAlias = DataFrame | OperatorResult


class Runner(OperatorRunner):
    """Runs stages in a session.

    Args:
        session: the session.
        text: the whole text, for errors.
        tables: the tables that were given, by name.

    Attributes:
        warnings: what the author of the text should know, though nothing is refused.
    """

    def __init__(self, session: SparkSession, text: str, tables: Mapping[str, Source]) -> None:
        super().__init__(session, text)
        self.tables = tables
        self.done: dict[int, SqlResult] = {}
        self.warnings: list[SqlError] = []

    def plain(self) -> DataFrame:
        """Returns what Spark makes of a text without windows."""
        frames = {name: frame_of(table) for name, table in self.tables.items()}
        views = self.views(frames)
        df: DataFrame = self.guarded(lambda: self.run_text(named_tables(self.text, views), views))
        return df

    def script(self, script: CompiledQuery) -> SqlResult:
        """Returns the result of a script.

        Raises:
            SqlError: if its rows have no end, and something can only be done at the end.
        """
        result = self.run(script.stage)
        if isinstance(result, OperatorResult) and result.steps:
            self._check_shape(result)
        return result if script.tail is None else self._sorted(result, script, script.tail)

    def _sorted(self, result: SqlResult, script: CompiledQuery, tail: str) -> SqlResult:
        """Returns the rows of a batch with ORDER BY, LIMIT and OFFSET after them."""
        if is_stream(result):
            raise script.tail_error(*UNSORTED)

        def step(df: DataFrame) -> DataFrame:
            return self.run_query(("SELECT * FROM ", f" {tail}"), [(df, None)])

        if isinstance(result, DataFrame):
            return self.guarded(lambda: step(result))
        words = f"{result.words}\nThen: {one_line(script.written)}."
        sorted_rows = replace(result, steps=(*result.steps, Sorted(step)), words=words)
        self._check_shape(sorted_rows)
        return sorted_rows

    def _check_shape(self, result: OperatorResult) -> None:
        """Refuses expressions over emitted rows that Spark does not have."""
        target = result.dataflow.unpacker("panes", all_columns=False).target
        step = result.steps[0]
        if len(result.steps) == 1 and isinstance(step, Selection) and step.only_reads(target.names):
            return  # there is no expression
        self.guarded(lambda: self.columns_of(ResultRows(result, result.steps)))

    def run(self, stage: QueryStage) -> SqlResult:
        """Returns the DataFrame or the result of a stage. A stage that is used twice is made once."""
        known = self.done.get(id(stage))
        if known is None:
            known = self.done[id(stage)] = self.guarded(lambda: self.output(stage))
        return known

    @singledispatchmethod
    def output(self, stage: SingleInputStage) -> Any:
        """Returns the DataFrame or the result of a stage, which is made each time."""
        return self.operator(stage, self.run(stage.input))

    @output.register
    def _read(self, read: TableStage) -> Source:
        table: Source
        name = self._table_name(read.name)
        if name is not None and name in self.tables:
            table = self.tables[name]
        elif read.name is not None and not read.text.startswith("{"):
            table = self.session.table(read.text)
        elif read.name is not None:
            rule = "a name in braces is that of a table that is given"
            raise SqlError(read.text, rule, f"give sql(text, {read.name}=df)")
        else:
            table = self.session.sql(f"SELECT * FROM {read.text}")
        if read.columns or read.watermark is not None:
            named = frame_of(table).toDF(*read.columns) if read.columns else table
            table = named if read.watermark is None else _with_watermark(named, read.watermark)
        return table

    @output.register
    def _watermarked_rows(self, stage: WatermarkedStage) -> DataFrame:
        return _with_watermark(self.run(stage.input), stage.watermark)

    def _table_name(self, name: str | None) -> str | None:
        """Returns the name of a table that is given, None if it is none; case has no effect, as in Spark."""
        if name is None or name in self.tables:
            return name
        return next((known for known in self.tables if known.lower() == name.lower()), None)

    @output.register
    def _spark(self, query: SparkStage) -> Any:
        frames = [(frame_of(self.run(stage)), alias) for stage, alias in query.tables]
        df = self.run_query(query.parts, frames)
        endless = query.endless
        if endless is not None and df.isStreaming:
            raise endless.error()
        if query.unbounded is not None and sum(frame.isStreaming for frame, _ in frames) > 1:
            self.warnings.append(query.unbounded.error())
        return df

    @output.register
    def _rows(self, stage: RowsStage) -> SqlResult:
        rows_before = self.run(stage.input)
        if isinstance(rows_before, DataFrame):
            df = rows_before if stage.alias is None else rows_before.alias(stage.alias)
            df = df if stage.where is None else df.where(stage.where)
            return df if stage.outputs is None else df.select(*map(column_of, stage.outputs))
        alias = stage.alias
        named = () if alias is None else (lambda df: df.alias(alias),)
        rows = ResultRows(rows_before, (*rows_before.steps, *named))
        rows = rows if stage.where is None else rows.where(stage.where)
        if stage.outputs is not None:
            rows = selected(rows, stage.outputs)
        words = f"{rows_before.words}\n{words_of(stage.outputs)}".strip()
        shown = with_condition(rows_before.shown, stage.where, alias)
        shown = shown if stage.outputs is None else with_columns(shown, stage.outputs)
        return replace(rows_before, steps=rows.steps, words=words, shown=shown)

    @output.register
    def _assigned(self, stage: AssignedStage) -> DataFrame:
        df, window = frame_of(self.run(stage.input)), stage.fixed
        if isinstance(window, Cumulating):
            return _cumulated(df, stage.time, window)
        slide = window.hop if isinstance(window, Hopping) else window.size
        assert isinstance(window.size, Duration), "windows of rows are refused"
        assert isinstance(slide, Duration), "windows of rows are refused"
        lengths = (f"{part} microseconds" for part in (window.size.us, slide.us, window.origin % slide.us))
        exploded = df.withColumn(_WINDOW, SF.window(in_backticks(stage.time), *lengths))
        return _with_bounds(exploded, SF.col(f"{_WINDOW}.start"), SF.col(f"{_WINDOW}.end"))

    @output.register
    def _joined(self, stage: JoinStage) -> SqlResult:
        left, right = self.run(stage.left), self.run(stage.right)
        if is_stream(left) != is_stream(right) and stage.spark is not None:
            static: SqlResult = self._spark(stage.spark)
            return static
        inputs, sides = inputs_of_sides("sql", "a join", left, right, None)
        frames = {side: frame_of(source) for side, source in inputs.items()}
        columns = {side: list(df.columns) for side, df in frames.items()}
        marked = {side: fields["event_time"] for side, fields in sides.items()}
        own = {side: time if time in columns[side] else None for side, time in marked.items()}
        times = times_of_sides(stage, own, lambda side: self._watermarked(inputs[side]))
        join = self.checked(lambda: resolved(stage, columns, times))
        result: OperatorResult = self.checked(lambda: apply(inputs, join.spec, **run_options(stage)))
        rows = ResultRows(result, result.steps)
        for condition in join.where:
            rows = rows.where(condition)
        rows = selected(rows, join.outputs)
        shown = with_columns(reduce(with_condition, join.where, result.shown), join.outputs)
        return replace(result, steps=rows.steps, words=words_of(join.outputs), shown=shown)


def _with_watermark(table: Source, watermark: TableWatermark) -> DataFrame:
    """Returns a table with the watermark of WATERMARK."""
    name = watermark.name
    if not isinstance(table, DataFrame):
        rule = "the watermark of a result is that of its operator (semantics 42.5)"
        raise SqlError(f"WATERMARK {name}", rule, "leave WATERMARK out")
    df = table if watermark.computed is None else table.withColumn(name, SF.expr(watermark.computed))
    return watermarked_by(df, name, watermark.delay, watermark.skew)


def _cumulated(df: DataFrame, time: str, window: Cumulating) -> DataFrame:
    """Returns the rows with the bounds of their windows of CUMULATE: those that end after the row."""
    size, step = window.size.us, window.step.us
    micros = f"unix_micros({in_backticks(time)})"
    start = f"({micros} - pmod({micros} - {window.origin}, {size}))"
    first = f"({micros} - {start}) DIV {step} + 1"
    exploded = df.withColumn(_WINDOW, SF.expr(f"explode(sequence({first}, {size // step}L))"))
    begin = SF.expr(f"timestamp_micros({start})")
    end = SF.expr(f"timestamp_micros({start} + `{_WINDOW}` * {step}L)")
    return _with_bounds(exploded, begin, end)


def _with_bounds(df: DataFrame, start: Column, end: Column) -> DataFrame:
    """Returns rows with the bounds of their window, and its last instant, instead of the window."""
    last = end - SF.expr("INTERVAL '0.000001' SECOND")
    return df.withColumns({"window_start": start, "window_end": end, "window_time": last}).drop(_WINDOW)
