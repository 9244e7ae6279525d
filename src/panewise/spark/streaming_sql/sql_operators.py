"""Runs stages that are operators over one input: windows, functions over windows, and deduplications."""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.upstream_inputs import as_result, default_time
from panewise.spark.columns.schemas import column_names, instants_of
from panewise.spark.inputs.checks import watermark_columns
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.sinks.preparation import empty
from panewise.spark.streaming_sql.sql_names import frame_of_select, simple_name, without_star
from panewise.spark.streaming_sql.sql_outputs import expression_of, ranked_rows, selected, words_of
from panewise.spark.streaming_sql.sql_text import SparkText
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.expressions.spark_names import output_name
from panewise.sql.expressions.stars import check_left_out
from panewise.sql.over.compiler import with_free_names
from panewise.sql.own_columns import only_time, own_names, with_own_names, with_window_time
from panewise.sql.row_filters import of_stage
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import (
    Computed,
    DeduplicateStage,
    OutputColumn,
    OverStage,
    SingleInputStage,
    WindowsStage,
    run_options,
)
from panewise.sql.windows.panes import WINDOW_COLUMNS

Prepared: TypeAlias = tuple[SingleInputStage, Any, Sequence[Computed]]


class OperatorRunner(SparkText):
    """Runs operators over inputs that are DataFrames or results."""

    def operator(self, stage: SingleInputStage, source: Any) -> OperatorResult:
        """Returns the result of an operator over this input."""
        stage, source, computed = self.prepared(stage, _selected_rows(stage, source))
        names: dict[str, Any] = own_names(
            stage.spec, self.columns_of(source), lambda: self._watermarked(source)
        )
        names |= {column.name: expression_of(column) for column in computed}
        spec = with_own_names(stage.spec, names)
        result: OperatorResult = self.checked(lambda: apply(source, spec, **run_options(stage)))
        return self._shaped(result, stage, self._outputs(stage, source))

    @singledispatchmethod
    def prepared(self, stage: SingleInputStage, source: Any) -> Prepared:
        """Returns the stage, its input, and the columns that are computed for the operator alone."""
        return stage, source, stage.computed

    @prepared.register
    def _prepared_over(self, stage: OverStage, source: Any) -> Prepared:
        return with_free_names(stage, self.columns_of(source)), source, stage.computed

    @prepared.register
    def _prepared_windows(self, stage: WindowsStage, source: Any) -> Prepared:
        if stage.exploded is not None:
            source = source.select("*", SF.expr(stage.exploded.text).alias(stage.exploded.name))
        if stage.own_time:
            times = watermark_columns(source) if isinstance(source, DataFrame) else [default_time(source)]
            stage = with_window_time(stage, times[0] if len(times) == 1 else None)
        return stage, source, stage.computed

    @prepared.register
    def _prepared_deduplication(self, stage: DeduplicateStage, source: Any) -> Prepared:
        """Computes the keys before: they are columns of the emitted rows."""
        columns = [SF.expr(column.text).alias(column.name) for column in stage.computed]
        return stage, source.select("*", *columns) if columns else source, ()

    def columns_of(self, source: Any) -> list[str]:
        """Returns the columns of an input. For those of a result no operator is built."""
        if isinstance(source, DataFrame):
            return column_names(source)
        result = as_result(source)
        target = result.dataflow.unpacker("panes", all_columns=False).target
        if not source.steps:
            return list(target.names)
        return column_names(ResultRows(result, source.steps).of(empty(self.session, target), None))

    def _watermarked(self, source: Any) -> str:
        """Returns the column of the watermark of an input."""
        if isinstance(source, DataFrame):
            return only_time(watermark_columns(source) or instants_of(source))  # a batch has no watermark
        time = default_time(source)
        return only_time([] if time is None else [time])

    def _outputs(self, stage: SingleInputStage, source: Any) -> tuple[OutputColumn, ...] | None:
        """Returns the SELECT list, with the names that Spark gives to columns without an alias."""
        if stage.outputs is None:
            return None
        outputs = tuple(
            replace(output, name=simple_name(output.original)) if output.name is None else output
            for output in stage.outputs
        )
        if all(output.name is not None or is_star(output) for output in outputs):
            return outputs
        df = frame_of_select(stage, source)
        names = None if df is None else self._names(stage, df)
        names = without_star(outputs, names) or [output_name(output) for output in outputs]
        return tuple(
            output if output.name is not None or is_star(output) else replace(output, name=name)
            for output, name in zip(outputs, [*names, "op"], strict=False)
        )

    def _names(self, stage: SingleInputStage, df: DataFrame) -> list[str] | None:
        known = {name.lower() for name in df.columns}
        time = SF.lit(None).cast("timestamp")
        bounds = [name for name in WINDOW_COLUMNS if name not in known]
        views = self.views({"t": df.withColumns(dict.fromkeys(bounds, time))})
        alias = "" if stage.alias is None else f" AS {in_backticks(stage.alias)}"
        try:
            text = f"{stage.naming[0]} {views['t']}{alias} {stage.naming[1]}"
            return list(self.run_text(text, views).columns)
        except PySparkException:  # the list has columns that only panes have
            return None

    def _shaped(
        self, result: OperatorResult, stage: SingleInputStage, outputs: tuple[OutputColumn, ...] | None
    ) -> OperatorResult:
        rows, shown = self.following(stage, ResultRows(result, result.steps)), of_stage(stage, outputs)
        if stage.having is not None:
            rows = rows.where(stage.having)
        if outputs:
            rows = selected(rows, _columns(outputs, result, stage.new_columns))
        ranked = stage.ranked if isinstance(stage, WindowsStage) else None
        words = words_of(stage.outputs, stage.computed, stage.having)
        if ranked is not None:
            words = f"SQL: each pane becomes a row for each place of its {ranked.lists[0]}."
        return replace(result, steps=rows.steps, words=words, shown=shown)

    @singledispatchmethod
    def following(self, stage: SingleInputStage, rows: ResultRows) -> ResultRows:
        """Returns the emitted rows as HAVING and the SELECT list read them."""
        return rows

    @following.register
    def _following_windows(self, stage: WindowsStage, rows: ResultRows) -> ResultRows:
        ranked = stage.ranked
        if ranked is not None:
            return replace(rows, steps=(*rows.steps, lambda df: ranked_rows(df, ranked)))
        if stage.struct is None:
            return rows
        start, end = (SF.col(f"window_{end}").alias(end) for end in ("start", "end"))
        return rows.withColumn(stage.struct, SF.struct(start, end))


def _selected_rows(stage: SingleInputStage, source: Any) -> Any:
    """Returns the rows that WHERE selects. The alias stands in front of them, if expressions read them."""
    exploded = stage.exploded if isinstance(stage, WindowsStage) else None
    reads = stage.where or stage.computed or exploded
    if isinstance(source, DataFrame) and stage.alias and reads:
        source = source.alias(stage.alias)
    return source if stage.where is None else source.where(stage.where)


def _columns(
    outputs: tuple[OutputColumn, ...], result: OperatorResult, new: frozenset[str]
) -> list[OutputColumn]:
    """Returns a SELECT list in which columns stand for `*`."""
    columns: list[OutputColumn] = []
    for output in outputs:
        star = star_of(output.text)
        if star is None:
            columns.append(output)
            continue
        names = (result.dataflow.output_names or {})[INPUT].values()
        check_left_out(output.original, [*names, *new])
        columns += [
            OutputColumn(in_backticks(name), name, name)
            for name in names
            if name not in new and name.lower() not in star.without
        ]
    return columns
