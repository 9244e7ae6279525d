"""Runs the stages of a compiled text: Spark's parts as DataFrames, windows as operators."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF
from pyspark.sql.types import TimestampType

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.two_sides import inputs_of_sides
from panewise.spark.builders.upstream_inputs import Source, default_time, frame_of, result_of
from panewise.spark.columns.schemas import columns_of, schema_of
from panewise.spark.inputs.checks import watermark_columns
from panewise.spark.queries.selection import Selection, Sorted
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.sinks.preparation import empty
from panewise.spark.streaming_sql.sql_names import new_columns, simple_name, source_of, without_star
from panewise.spark.streaming_sql.sql_outputs import column_of, expression_of, ranked_rows, selected, words_of
from panewise.spark.streaming_sql.sql_text import EndlessError, SparkText, named_tables
from panewise.spec import Hopping, parts
from panewise.sql.chained import respecified
from panewise.sql.joins import resolved
from panewise.sql.over import with_free_names
from panewise.sql.stages import (
    WATERMARKED,
    AssignedStage,
    CompiledQuery,
    DeduplicateStage,
    JoinStage,
    OutputColumn,
    OverStage,
    RowsStage,
    SingleInputStage,
    SparkStage,
    Stage,
    TableStage,
    WindowsStage,
    run_options,
)
from panewise.sql.texts import one_line, quoted
from panewise.sql.windows import is_first

_WINDOW = "__window"
Made: TypeAlias = DataFrame | OperatorResult


class Runner(SparkText):
    """Runs stages in a session.

    Args:
        session: the session.
        text: the whole text, for errors.
        tables: the tables that were given, by name.
    """

    def __init__(self, session: SparkSession, text: str, tables: Mapping[str, Source]) -> None:
        super().__init__(session, text)
        self.tables = tables
        self.done: dict[int, Made] = {}

    def plain(self) -> DataFrame:
        """Returns what Spark makes of a text without windows."""
        frames = {name: frame_of(table) for name, table in self.tables.items()}
        views = self.views(frames)
        df: DataFrame = self.guarded(lambda: self.run_text(named_tables(self.text, views), views))
        return df

    def script(self, script: CompiledQuery) -> Made:
        """Returns the result of a script.

        Raises:
            SqlError: if its rows have no end, and something can only be done at the end.
        """
        result = self.run(script.stage)
        if isinstance(result, OperatorResult) and result.steps:
            self._check_shape(result)
        if script.tail is None:
            return result
        streaming = result.isStreaming if isinstance(result, DataFrame) else result.dataflow.df.isStreaming
        if streaming:
            rule = "the rows of a stream have no end, so they cannot be sorted or limited"
            remedy = "leave it out, sort in the sink, or use ROW_NUMBER() OVER (...)"
            place, end = script.place, script.place + len(script.written)
            raise SqlError(script.written, rule, remedy, sql=self.text, start=place, end=end)
        tail = script.tail

        def step(df: DataFrame) -> DataFrame:
            return self.run_query(("SELECT * FROM ", f" {tail}"), [(df, None)])

        if isinstance(result, DataFrame):
            df = result
            return self.guarded(lambda: step(df))
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
        self.guarded(lambda: result._shaped(empty(self.session, target)))

    def run(self, stage: Stage) -> Made:
        """Returns the DataFrame or the result of a stage. A stage that is used twice is made once."""
        known = self.done.get(id(stage))
        if known is None:
            known = self.done[id(stage)] = self.guarded(lambda: self._run(stage))
        return known

    def _run(self, stage: Stage) -> Any:
        match stage:
            case TableStage():
                return self._read(stage)
            case SparkStage():
                return self._spark(stage)
            case RowsStage():
                return self._rows(stage)
            case AssignedStage():
                return self._assigned(stage)
            case JoinStage():
                return self._joined(stage)
            case SingleInputStage():
                return self._operator(stage)

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
            table = self._marked(frame_of(table).toDF(*read.columns) if read.columns else table, read)
        return table

    def _table_name(self, name: str | None) -> str | None:
        """Returns the name of a table that is given, None if it is none; case has no effect, as in Spark."""
        if name is None or name in self.tables:
            return name
        return next((known for known in self.tables if known.lower() == name.lower()), None)

    def _marked(self, table: Source, read: TableStage) -> Source:
        if read.watermark is None:
            return table
        name, delay, text = read.watermark
        if not isinstance(table, DataFrame):
            rule = "the watermark of a result is that of its operator (semantics 42.5)"
            raise SqlError(f"WATERMARK {name}", rule, "leave WATERMARK out")
        df = table if text is None else table.withColumn(name, SF.expr(text))
        return df.withWatermark(name, f"{delay.us} microseconds")

    def _spark(self, query: SparkStage) -> Any:
        if query.parts == ("", "") and len(query.tables) == 2:
            inner, marked = query.tables[0][0], query.tables[1][0]
            assert isinstance(marked, TableStage)
            return self._marked(self.run(inner), marked)
        frames = [(frame_of(self.run(stage)), alias) for stage, alias in query.tables]
        df = self.run_query(query.parts, frames)
        endless = query.endless
        if endless is not None and df.isStreaming:
            place: dict[str, Any] = {"sql": self.text, "start": endless.start, "end": endless.end}
            raise EndlessError(endless.given, endless.rule, endless.remedy, **place)
        return df

    def _rows(self, stage: RowsStage) -> Made:
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
        return replace(
            rows_before, steps=rows.steps, words=f"{rows_before.words}\n{words_of(stage.outputs)}".strip()
        )

    def _assigned(self, stage: AssignedStage) -> DataFrame:
        df, window = frame_of(self.run(stage.input)), stage.fixed
        slide = window.hop if isinstance(window, Hopping) else window.size
        assert isinstance(window.size, Duration), "windows of rows are refused"
        assert isinstance(slide, Duration), "windows of rows are refused"
        lengths = (f"{part} microseconds" for part in (window.size.us, slide.us, window.origin % slide.us))
        exploded = df.withColumn(_WINDOW, SF.window(quoted(stage.time), *lengths))
        start, end = (SF.col(f"{_WINDOW}.{part}") for part in ("start", "end"))
        last = end - SF.expr("INTERVAL '0.000001' SECOND")
        bounds = {"window_start": start, "window_end": end, "window_time": last}
        return exploded.withColumns(bounds).drop(_WINDOW)

    def _joined(self, stage: JoinStage) -> Made:
        both: list[Any] = [self.run(stage.left), self.run(stage.right)]
        streaming = {
            source.isStreaming if isinstance(source, DataFrame) else source.dataflow.df.isStreaming
            for source in both
        }
        if len(streaming) > 1 and stage.spark is not None:
            static: Made = self._spark(stage.spark)
            return static
        inputs, sides = inputs_of_sides("sql", "a join", both[0], both[1], None)
        own = [sides[side]["event_time"] for side in ("left", "right")]
        times = tuple(
            time if time is not None else other for time, other in zip(stage.times, own, strict=True)
        )
        frames = {side: frame_of(source) for side, source in inputs.items()}
        columns = {side: list(df.columns) for side, df in frames.items()}
        join = self.checked(lambda: resolved(stage, columns, (times[0], times[1])))
        result: OperatorResult = self.checked(lambda: apply(inputs, join.spec, **run_options(stage)))
        rows = ResultRows(result, result.steps)
        for condition in join.where:
            rows = rows.where(condition)
        rows = selected(rows, join.outputs)
        return replace(result, steps=rows.steps, words=words_of(join.outputs))

    def _operator(self, stage: SingleInputStage) -> OperatorResult:
        source: Any = self.run(stage.input)
        input = source  # noqa: A001 - the field's name
        if isinstance(source, DataFrame):
            input = source.alias(stage.alias) if stage.alias and _reads_input(stage) else source  # noqa: A001
            input = input if stage.where is None else input.where(stage.where)  # noqa: A001
        elif stage.where is not None:
            input = source.where(stage.where)  # noqa: A001
        if isinstance(stage, OverStage):
            stage = with_free_names(stage, self._columns_of(input))
        if isinstance(stage, WindowsStage) and stage.exploded is not None:
            column = stage.exploded
            input = input.select("*", SF.expr(column.text).alias(column.name))  # noqa: A001
        if isinstance(stage, WindowsStage) and stage.own_time:
            stage = self._with_own_time(stage, input)
        computed = stage.computed
        if isinstance(stage, DeduplicateStage):  # whose keys are columns of the input
            columns = [SF.expr(column.text).alias(column.name) for column in computed]
            input, computed = input.select("*", *columns) if columns else input, ()  # noqa: A001
        names: dict[str, Any] = self._own_names(stage, input)
        names |= {column.name: expression_of(column) for column in computed}
        spec = parts(stage.spec).renamed(stage.spec, INPUT, names, None) if names else stage.spec
        spec = _with_own_time(stage, spec, names)
        result: OperatorResult = self.checked(lambda: apply(input, spec, **run_options(stage)))
        return self._shaped(result, stage, self._outputs(stage, input))

    def _columns_of(self, source: Any) -> list[str]:
        """Returns the columns of an input. For those of a result no operator is built."""
        if isinstance(source, DataFrame):
            return columns_of(source)
        result = result_of(source)
        target = result.dataflow.unpacker("panes", all_columns=False).target
        if not source.steps:
            return list(target.names)
        return columns_of(replace(result, steps=source.steps)._shaped(empty(self.session, target)))

    def _own_names(self, stage: SingleInputStage, source: Any) -> dict[str, Any]:
        """Returns the columns of the input by the names that the query has for them, where these differ.

        Case has no effect. The event time may be that of the watermark, without a name in the query.
        """
        columns = self._columns_of(source)
        names, known = dict[str, Any](), {column.lower(): column for column in reversed(columns)}
        for name in (*stage.spec.ports[INPUT].time_columns, *stage.spec.columns_read):
            if name == WATERMARKED:
                names[name] = self._watermarked(source)
            elif name not in columns and name.lower() in known:
                names[name] = known[name.lower()]
        return names

    def _watermarked(self, source: Any) -> str:
        """Returns the column of the watermark of an input."""
        if isinstance(source, DataFrame):
            marked = watermark_columns(source) or _instants(source)
            time = marked[0] if len(marked) == 1 else None
        else:
            time = default_time(source)
        if time is None:
            rule = (
                "a window without a column of its event time has that of the watermark, or the only TIMESTAMP"
            )
            remedy = "write the column, as in TUMBLE(ts, INTERVAL '1' HOUR), or WATERMARK behind the table"
            raise SqlError("no event time", rule, remedy, sql=self.text, start=0, end=len(self.text))
        return time

    def _with_own_time(self, stage: WindowsStage, input: Any) -> WindowsStage:  # noqa: A002
        """Returns the stage, whose event time is the column of the watermark of its input."""
        times = watermark_columns(input) if isinstance(input, DataFrame) else [default_time(input)]
        if len(times) != 1 or times[0] is None or not is_first(stage.spec):
            rule = "a window of time has an event time"
            remedy = "write [RANGE 2 MINUTES ON ts], or add WATERMARK ts DELAY OF INTERVAL ... to the table"
            raise SqlError("a window of CQL", rule, remedy)
        return replace(stage, spec=respecified(stage.spec, event_time=times[0]))

    def _outputs(self, stage: SingleInputStage, input: Any) -> tuple[OutputColumn, ...] | None:  # noqa: A002
        """Returns the SELECT list, with the names that Spark gives to columns without an alias."""
        if stage.outputs is None:
            return None
        outputs = tuple(
            replace(output, name=simple_name(output.original)) if output.name is None else output
            for output in stage.outputs
        )
        if all(output.name is not None or output.text == "*" for output in outputs):
            return outputs
        df = source_of(stage, input)
        names = None if df is None else self._names(stage, df)
        names = without_star(outputs, names) or [one_line(output.original) for output in outputs]
        return tuple(
            output if output.name is not None or output.text == "*" else replace(output, name=name)
            for output, name in zip(outputs, [*names, "op"], strict=False)
        )

    def _names(self, stage: SingleInputStage, df: DataFrame) -> list[str] | None:
        known = {name.lower() for name in df.columns}
        time = SF.lit(None).cast("timestamp")
        bounds = [name for name in ("window_start", "window_end", "window_time") if name not in known]
        views = self.views({"t": df.withColumns(dict.fromkeys(bounds, time))})
        alias = "" if stage.alias is None else f" AS {quoted(stage.alias)}"
        try:
            text = f"{stage.naming[0]} {views['t']}{alias} {stage.naming[1]}"
            return list(self.run_text(text, views).columns)
        except PySparkException:  # the list has columns that only panes have
            return None

    def _shaped(
        self,
        result: OperatorResult,
        stage: SingleInputStage,
        outputs: tuple[OutputColumn, ...] | None,
    ) -> OperatorResult:
        rows = ResultRows(result, result.steps)
        if isinstance(stage, WindowsStage) and stage.ranked is not None:
            ranked = stage.ranked
            steps = (*result.steps, lambda df: ranked_rows(df, ranked))
            words = f"SQL: each pane becomes a row for each place of its {ranked.lists[0]}."
            return replace(result, steps=steps, words=words)
        struct = stage.struct if isinstance(stage, WindowsStage) else None
        if struct is not None:
            start, end = (SF.col(f"window_{end}").alias(end) for end in ("start", "end"))
            rows = rows.withColumn(struct, SF.struct(start, end))
        if stage.having is not None:
            rows = rows.where(stage.having)
        if outputs is not None:
            rows = selected(rows, self._columns(outputs, result, new_columns(stage)))
        words = words_of(stage.outputs, stage.computed, stage.having)
        return replace(result, steps=rows.steps, words=words)

    def _columns(
        self, outputs: tuple[OutputColumn, ...], result: OperatorResult, new: frozenset[str]
    ) -> list[OutputColumn]:
        columns: list[OutputColumn] = []
        for output in outputs:
            if output.text == "*" or output.text.endswith(".*"):
                names = (result.dataflow.output_names or {})[INPUT].values()
                columns += [OutputColumn(quoted(name), name, name) for name in names if name not in new]
            else:
                columns.append(output)
        return columns


def _reads_input(stage: SingleInputStage) -> bool:
    """Returns whether expressions of Spark's read the input, in which its alias may stand."""
    exploded = stage.exploded if isinstance(stage, WindowsStage) else None
    return bool(stage.where or stage.computed or exploded)


def _instants(df: DataFrame) -> list[str]:
    """Returns the columns with instants. A batch DataFrame does not keep its watermark, as Spark drops it."""
    return [field.name for field in schema_of(df).fields if isinstance(field.dataType, TimestampType)]


def _with_own_time(stage: SingleInputStage, spec: Any, names: Mapping[str, Any]) -> Any:
    """Returns the specification with the event time as the input calls it."""
    time = names.get(stage.spec.ports[INPUT].event_time or "")
    if time is None:
        return spec
    if not isinstance(stage, WindowsStage):
        return replace(spec, event_time=time)
    if is_first(spec):
        return respecified(spec, event_time=time)
    return replace(spec, first=respecified(spec.first, event_time=time))
