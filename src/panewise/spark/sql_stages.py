"""Runs the stages of a compiled text: Spark's parts as DataFrames, windows as operators."""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as SF

from panewise.chrono import Duration
from panewise.errors import SpecError, SqlError
from panewise.families import INPUT
from panewise.spark.apply_spec import apply
from panewise.spark.reports import PROGRESS
from panewise.spark.results.operator_result import OperatorResult
from panewise.spark.results.rows_between import ResultRows
from panewise.spark.sides_builder import begun
from panewise.spark.sinks import empty
from panewise.spark.upstream_inputs import Source, frame_of
from panewise.spec import Hopping, Tumbling, parts
from panewise.spec.aggregates.expressions import Expression
from panewise.sql.clauses import STOPS
from panewise.sql.expressions import tokens_of
from panewise.sql.joins import resolved
from panewise.sql.over import with_free_names
from panewise.sql.stages import (
    AssignedStage,
    CompiledQuery,
    Computed,
    JoinStage,
    OutputColumn,
    OverStage,
    Ranked,
    RowsStage,
    SparkStage,
    Stage,
    TableStage,
    WindowsStage,
)
from panewise.sql.texts import one_line, quoted

_WINDOW = "__window"
_SIMPLE = re.compile(r"\s*(count|sum|min|max|avg)\s*\(\s*([A-Za-z_]\w*|\*)\s*\)\s*", re.IGNORECASE)
Made: TypeAlias = DataFrame | OperatorResult


class Runner:
    """Runs stages in a session.

    Args:
        session: the session.
        text: the whole text, for errors.
        tables: the tables that were given, by name.
    """

    def __init__(self, session: SparkSession, text: str, tables: Mapping[str, Source]) -> None:
        self.session, self.text, self.tables = session, text, tables
        self.done: dict[int, Made] = {}

    def plain(self) -> DataFrame:
        """Returns what Spark makes of a text without windows."""
        frames = {name: frame_of(one) for name, one in self.tables.items()}
        views = self._views(frames)
        made: DataFrame = self._guarded(lambda: self._run_text(named_tables(self.text, views), views))
        return made

    def script(self, script: CompiledQuery) -> Made:
        """Returns the result of a script.

        Raises:
            SqlError: if its rows have no end, and something can only be done at the end.
        """
        made = self.run(script.stage)
        if isinstance(made, OperatorResult) and made.steps:
            target = made.dataflow.unpacker("panes", all_columns=False).target
            checked = made
            self._guarded(lambda: checked._shaped(empty(self.session, target)))
        if script.tail is None:
            return made
        streaming = made.isStreaming if isinstance(made, DataFrame) else made.dataflow.df.isStreaming
        if streaming:
            rule = "the rows of a stream have no end, so they cannot be sorted or limited"
            remedy = "leave it out, sort in the sink, or use ROW_NUMBER() OVER (...)"
            place, end = script.place, script.place + len(script.tail)
            raise SqlError(script.tail, rule, remedy, sql=self.text, start=place, end=end)
        tail = script.tail

        def step(df: DataFrame) -> DataFrame:
            return self._query(("SELECT * FROM ", f" {tail}"), [(df, None)])

        if isinstance(made, DataFrame):
            return step(made)
        return replace(made, steps=(*made.steps, step), words=f"{made.words}\nThen: {one_line(tail)}.")

    def run(self, stage: Stage) -> Made:
        """Returns the DataFrame or the result of a stage. A stage that is used twice is made once."""
        known = self.done.get(id(stage))
        if known is None:
            known = self.done[id(stage)] = self._guarded(lambda: self._run(stage))
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
            case WindowsStage() | OverStage():
                return self._operator(stage)

    def _guarded(self, make: Any) -> Any:
        """Returns what `make` returns; an error of Spark about the text becomes a SqlError."""
        try:
            return make()
        except (AnalysisException, ParseException) as error:
            given = str(error).strip().split("\n", 1)[0]
            start, end = self._place(re.findall(r"`([^`]+)`", given))
            rule, remedy = (
                "expressions and names are those of Spark's SQL",
                "correct the expression or the name",
            )
            raise SqlError(given, rule, remedy, sql=self.text, start=start, end=end) from error

    def _place(self, names: Iterable[str]) -> tuple[int | None, int | None]:
        """Returns where one of these names stands in the text first, None if none of them does."""
        wanted = {*names}
        found = next((one for one in tokens_of(self.text) if one.text in wanted), None)
        return (None, None) if found is None else (found.start, found.end + 1)

    def _read(self, read: TableStage) -> Source:
        given: Source
        if read.name is not None and read.name in self.tables:
            given = self.tables[read.name]
        elif read.name is not None and not read.text.startswith("{"):
            given = self.session.table(read.text)
        elif read.name is not None:
            rule = "a name in braces is that of a table that is given"
            raise SqlError(read.text, rule, f"give sql(text, {read.name}=df)")
        else:
            given = self.session.sql(f"SELECT * FROM {read.text}")
        if read.columns or read.watermark is not None:
            given = self._marked(frame_of(given).toDF(*read.columns) if read.columns else given, read)
        return given

    def _marked(self, given: Source, read: TableStage) -> Source:
        if read.watermark is None:
            return given
        name, delay, text = read.watermark
        if not isinstance(given, DataFrame):
            rule = "the watermark of a result is that of its operator (semantics 42.5)"
            raise SqlError(f"WATERMARK {name}", rule, "leave WATERMARK out")
        df = given if text is None else given.withColumn(name, SF.expr(text))
        return df.withWatermark(name, f"{delay.us} microseconds")

    def _spark(self, query: SparkStage) -> Any:
        if query.parts == ("", "") and len(query.tables) == 2:
            inner, marked = query.tables[0][0], query.tables[1][0]
            assert isinstance(marked, TableStage)
            return self._marked(self.run(inner), marked)
        frames = [(frame_of(self.run(stage)), alias) for stage, alias in query.tables]
        return self._query(query.parts, frames)

    def _query(self, pieces: Sequence[str], frames: Sequence[tuple[DataFrame, str | None]]) -> DataFrame:
        """Runs a query of Spark's, in which DataFrames stand between the pieces of the text."""
        views = self._views({str(number): df for number, (df, _) in enumerate(frames)})
        text = pieces[0]
        for number, (_, alias) in enumerate(frames):
            name = "" if alias is None else f" AS {quoted(alias)}"
            text += f"{views[str(number)]}{name}{pieces[number + 1]}"
        return self._run_text(text, views)

    def _run_text(self, text: str, views: Mapping[str, str]) -> DataFrame:
        """Runs a text for Spark, and drops the views for it.

        In a session of Spark Connect they stay, because the server reads the text when a result is wanted.
        """
        try:
            return self.session.sql(text)
        finally:
            if hasattr(self.session, "_jsparkSession"):
                for view in views.values():
                    self.session.catalog.dropTempView(view)

    def _views(self, frames: Mapping[str, DataFrame]) -> dict[str, str]:
        """Returns the names of new temporary views of DataFrames."""
        found = {}
        for name, df in frames.items():
            view = found[name] = f"panewise_{uuid.uuid4().hex}"
            df.createOrReplaceTempView(view)
        return found

    def _rows(self, stage: RowsStage) -> Made:
        made = self.run(stage.input)
        if isinstance(made, DataFrame):
            df = made if stage.alias is None else made.alias(stage.alias)
            df = df if stage.where is None else df.where(stage.where)
            return df if stage.outputs is None else df.select(*map(_column, stage.outputs))
        alias = stage.alias
        named = () if alias is None else (lambda df: df.alias(alias),)
        rows = ResultRows(made, (*made.steps, *named))
        rows = rows if stage.where is None else rows.where(stage.where)
        if stage.outputs is not None:
            rows = _selected(rows, stage.outputs)
        return replace(made, steps=rows.steps, words=f"{made.words}\n{_words(stage)}".strip())

    def _assigned(self, stage: AssignedStage) -> DataFrame:
        df, window = frame_of(self.run(stage.input)), stage.window
        if not isinstance(window, (Tumbling, Hopping)) or getattr(window, "gaps", False):
            rule = "only rows of a table have the bounds of TUMBLE and HOP of time without GROUP BY"
            raise SqlError(type(window).__name__, rule, "add GROUP BY window_start, window_end")
        slide = window.hop if isinstance(window, Hopping) else window.size
        assert isinstance(window.size, Duration), "windows of rows are refused"
        assert isinstance(slide, Duration), "windows of rows are refused"
        lengths = (f"{one} microseconds" for one in (window.size.us, slide.us, window.origin % slide.us))
        made = df.withColumn(_WINDOW, SF.window(quoted(stage.time), *lengths))
        start, end = (SF.col(f"{_WINDOW}.{one}") for one in ("start", "end"))
        last = end - SF.expr("INTERVAL '0.000001' SECOND")
        bounds = {"window_start": start, "window_end": end, "window_time": last}
        return made.withColumns(bounds).drop(_WINDOW)

    def _joined(self, stage: JoinStage) -> Made:
        given: list[Any] = [self.run(stage.left), self.run(stage.right)]
        streaming = {
            one.isStreaming if isinstance(one, DataFrame) else one.dataflow.df.isStreaming for one in given
        }
        if len(streaming) > 1 and stage.spark is not None:
            return self._spark(stage.spark)  # type: ignore[no-any-return]
        inputs, sides = begun("sql", "a join", given[0], given[1], None)
        found = [sides[side]["event_time"] for side in ("left", "right")]
        times = tuple(
            one if one is not None else other for one, other in zip(stage.times, found, strict=True)
        )
        frames = {side: frame_of(one) for side, one in inputs.items()}
        columns = {side: list(df.columns) for side, df in frames.items()}
        made = self._checked(lambda: resolved(stage, columns, (times[0], times[1])))
        result: OperatorResult = self._checked(lambda: apply(inputs, made.spec))
        rows = ResultRows(result, result.steps)
        for condition in made.where:
            rows = rows.where(condition)
        rows = _selected(rows, made.outputs)
        return replace(result, steps=rows.steps, words=_words(made))

    def _operator(self, stage: WindowsStage | OverStage) -> OperatorResult:
        given: Any = self.run(stage.input)
        input = given  # noqa: A001 - the field's name
        if isinstance(given, DataFrame):
            input = given if stage.alias is None else given.alias(stage.alias)  # noqa: A001
            input = input if stage.where is None else input.where(stage.where)  # noqa: A001
        elif stage.where is not None:
            input = given.where(stage.where)  # noqa: A001
        if isinstance(stage, OverStage):
            stage = with_free_names(stage, frame_of(input).columns)
        if isinstance(stage, WindowsStage) and stage.exploded is not None:
            one = stage.exploded
            input = input.select("*", SF.expr(one.text).alias(one.name))  # noqa: A001
        names = {one.name: _expression(one) for one in stage.computed}
        spec = parts(stage.spec).renamed(stage.spec, INPUT, names, None) if names else stage.spec
        result: OperatorResult = self._checked(lambda: apply(input, spec))
        return self._shaped(result, stage, self._outputs(stage, input))

    def _checked(self, make: Any) -> Any:
        """Returns what `make` returns; an error of the operator gets the place of its column."""
        try:
            return make()
        except SqlError:
            raise
        except SpecError as error:
            start, end = self._place(re.findall(r"'([^']+)'", error.given))
            raise SqlError(
                error.given, error.rule, error.remedy, sql=self.text, start=start, end=end
            ) from error

    def _outputs(self, stage: WindowsStage | OverStage, input: Any) -> tuple[OutputColumn, ...] | None:  # noqa: A002
        """Returns the SELECT list, with the names that Spark gives to columns without an alias."""
        if stage.outputs is None:
            return None
        outputs = tuple(
            replace(one, name=simple_name(one.original)) if one.name is None else one for one in stage.outputs
        )
        if all(one.name is not None or one.text == "*" for one in outputs):
            return outputs
        df = _source(stage, input)
        names = None if df is None else self._names(stage, df)
        names = _without_star(outputs, names) or [one_line(one.original) for one in outputs]
        return tuple(
            one if one.name is not None or one.text == "*" else replace(one, name=name)
            for one, name in zip(outputs, [*names, "op"], strict=False)
        )

    def _names(self, stage: WindowsStage | OverStage, df: DataFrame) -> list[str] | None:
        known = {name.lower() for name in df.columns}
        time = SF.lit(None).cast("timestamp")
        bounds = [name for name in ("window_start", "window_end", "window_time") if name not in known]
        views = self._views({"t": df.withColumns(dict.fromkeys(bounds, time))})
        alias = "" if stage.alias is None else f" AS {quoted(stage.alias)}"
        try:
            text = f"{stage.naming[0]} {views['t']}{alias} {stage.naming[1]}"
            return list(self._run_text(text, views).columns)
        except PySparkException:  # the list has columns that only panes have
            return None

    def _shaped(
        self,
        result: OperatorResult,
        stage: WindowsStage | OverStage,
        outputs: tuple[OutputColumn, ...] | None,
    ) -> OperatorResult:
        rows = ResultRows(result, result.steps)
        if isinstance(stage, WindowsStage) and stage.ranked is not None:
            ranked = stage.ranked
            steps = (*result.steps, lambda df: _ranked(df, ranked))
            words = f"SQL: each pane becomes a row for each place of its {ranked.lists[0]}."
            return replace(result, steps=steps, words=words)
        struct = stage.struct if isinstance(stage, WindowsStage) else None
        if struct is not None:
            start, end = (SF.col(f"window_{one}").alias(one) for one in ("start", "end"))
            rows = rows.withColumn(struct, SF.struct(start, end))
        if stage.having is not None:
            rows = rows.where(stage.having)
        if outputs is not None:
            rows = _selected(rows, self._columns(outputs, result, new_columns(stage)))
        return replace(result, steps=rows.steps, words=_words(stage))

    def _columns(
        self, outputs: tuple[OutputColumn, ...], result: OperatorResult, made: frozenset[str]
    ) -> list[OutputColumn]:
        found: list[OutputColumn] = []
        for one in outputs:
            if one.text == "*" or one.text.endswith(".*"):
                columns = (result.dataflow.output_names or {})[INPUT].values()
                found += [OutputColumn(quoted(name), name, name) for name in columns if name not in made]
            else:
                found.append(one)
        return found


def _source(stage: Stage, input: Any) -> DataFrame | None:  # noqa: A002
    """Returns the DataFrame over which a SELECT is written; None if that is a result.

    A SELECT with several windows is several operators. Each but the first reads the result of the one before.
    """
    while isinstance(stage, OverStage) and isinstance(input, OperatorResult):
        stage = stage.input
        if not isinstance(stage, OverStage) or stage.outputs is not None:
            return None
        input = input.dataflow.df  # noqa: A001
    return input if isinstance(input, DataFrame) else None


def _ranked(df: DataFrame, ranked: Ranked) -> DataFrame:
    """Returns a row for each place of the lists of each pane."""
    lists = ranked.lists
    one = (
        SF.col(quoted(lists[0]))
        if lists == ("rows",)
        else SF.arrays_zip(*(SF.col(quoted(name)) for name in lists))
    )
    exploded = df.select("*", SF.posexplode(one).alias("place", "row"))
    others = [SF.expr(text).alias(name) for name, text in ranked.others]
    rank = [] if ranked.rank is None else [(SF.col("place") + 1).cast("bigint").alias(ranked.rank)]
    return exploded.select("row.*", *others, *rank, *(["op"] if ranked.retracts else []))


def _without_star(outputs: Sequence[OutputColumn], names: list[str] | None) -> list[str] | None:
    """Returns a name for each column of a SELECT list, one for all of `*`. None if they do not fit."""
    stars = [number for number, one in enumerate(outputs) if one.text.endswith("*")]
    if names is None or len(stars) > 1:
        return None
    # A last column `op`, which the query does not select, has its name already.
    selected = len(outputs) - (outputs[-1].original == "op" and not stars and len(names) < len(outputs))
    if not stars:
        return names if len(names) == selected else None
    behind = len(outputs) - stars[0] - 1
    return [*names[: stars[0]], "*", *names[len(names) - behind :]]


def simple_name(text: str) -> str | None:
    """Returns the name that Spark gives to a call of a basic aggregate over a column; None for all others.

    >>> simple_name("COUNT( * )"), simple_name("sum(v)"), simple_name("sum(v + 1)")
    ('count(1)', 'sum(v)', None)
    """
    found = _SIMPLE.fullmatch(text)
    return None if found is None else f"{found[1].lower()}({'1' if found[2] == '*' else found[2]})"


def new_columns(stage: Stage) -> frozenset[str]:
    """Returns the columns that functions over windows have added, of this operator and of those before it."""
    if not isinstance(stage, OverStage):
        return frozenset()
    before = (
        new_columns(stage.input) if isinstance(stage.input, OverStage) and stage.input.outputs is None else ()
    )
    return frozenset([*before, *(column.name for column in stage.spec.columns)])


def _selected(rows: ResultRows, outputs: Iterable[OutputColumn]) -> ResultRows:
    """Returns rows with these columns, as `ResultRows.select` does.

    Spark is not called for names that are known, and a plain column stays as it is, also in reports.
    """
    made = [(_column(one), one.name, one.text.strip("`") == one.name) for one in outputs]
    if any(name is None for _, name, _ in made):
        return rows.select(*(column for column, _, _ in made))

    def step(df: DataFrame) -> DataFrame:
        if PROGRESS not in df.columns:
            return df.select(*(column for column, _, _ in made))
        of_row = SF.col(PROGRESS).isNull()
        return df.select(
            *(column if plain else SF.when(of_row, column).alias(str(name)) for column, name, plain in made),
            PROGRESS,
        )

    steps: tuple[Callable[[DataFrame], DataFrame], ...] = (*rows.steps, step)
    return replace(rows, steps=steps)


def _column(output: OutputColumn) -> Column:
    column = SF.expr(output.text)
    return column if output.name is None else column.alias(output.name)


def _expression(computed: Computed) -> Expression:
    """Returns a computed column as the operator takes it: late rows do not contain it."""
    return Expression(computed.name, "column", (SF.expr(computed.text).alias(computed.name),))


def _words(stage: Any) -> str:
    """Returns a description of what Spark computes from the rows of a stage."""
    lines = []
    computed = getattr(stage, "computed", ())
    if computed:
        lines.append(f"SQL: before the operator Spark computes {', '.join(one.name for one in computed)}.")
    if getattr(stage, "having", None):
        lines.append(f"SQL: a condition selects the emitted rows: {one_line(stage.having)}.")
    if stage.outputs is not None:
        shown = ", ".join(
            f"{one_line(one.text)} AS {one.name}" if one.name else one.text for one in stage.outputs
        )
        lines.append(f"SQL: the columns are {shown}.")
    return "\n".join(lines)


def _has_alias(tokens: Sequence[Any], index: int) -> bool:
    """Returns whether the name of a table is followed by one that the query gives to it."""
    if index >= len(tokens):
        return False
    text = tokens[index].text
    return text.upper() == "AS" or (text.isidentifier() and text.upper() not in STOPS)


def named_tables(text: str, views: Mapping[str, str]) -> str:
    """Returns a text in which views stand for the tables of these names, also in braces."""
    tokens, pieces, at = tokens_of(text), list[str](), 0
    for index, token in enumerate(tokens):
        if token.text not in views:
            continue
        before = tokens[index - 1].text.upper() if index else ""
        braces = before == "{" and index + 1 < len(tokens) and tokens[index + 1].text == "}"
        if not braces and before not in ("FROM", "JOIN", ",", "TABLE"):
            continue
        last = index + 1 if braces else index
        start, end = tokens[index - 1].start if braces else token.start, tokens[last].end
        alias = "" if _has_alias(tokens, last + 1) else f" AS {quoted(token.text)}"
        pieces += [text[at:start], views[token.text], alias]
        at = end + 1
    return "".join([*pieces, text[at:]])
