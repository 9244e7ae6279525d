"""Stages of a text in process that are operators: windows, functions over windows, deduplications, joins."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import polars as pl

from panewise.engine.kernels.column_types import Dtypes
from panewise.families import INPUT
from panewise.spec import Specification, counted, parts
from panewise.spec.operators.panes import BOUNDS
from panewise.sql.expressions.expression_tree import CallNode, ConstantNode, tree_of
from panewise.sql.joins import resolved
from panewise.sql.over.compiler import with_free_names
from panewise.sql.own_columns import only_time, own_names, times_of_sides, with_own_names, with_window_time
from panewise.sql.stages import DeduplicateStage, JoinStage, OverStage, SingleInputStage, WindowsStage
from panewise.standalone.operator import StandaloneOperator
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_nodes import (
    INSTANT,
    Rejected,
    SqlNode,
    StepInput,
    Undo,
    check_instant,
)
from panewise.standalone.streaming_sql.sql_places import place_of
from panewise.standalone.streaming_sql.sql_ranking import ranking
from panewise.standalone.streaming_sql.sql_selection import schema_of, selected, shaped

_INSTANTS: Final = frozenset({"processing_time", "join_time"})


class SqlOperator(StandaloneOperator):
    """An operator that another one can follow. Nothing waits in it, so that a step can be undone.

    Args:
        spec: the operator.
        schema: the columns of its input, or of each input.
        computed: the columns that are computed for it alone, which late and invalid rows do not have.
    """

    def __init__(
        self, spec: Specification, schema: Mapping[str, Any], computed: Collection[str] = ()
    ) -> None:
        super().__init__(spec, schema, buffer=None)
        self._computed = frozenset(computed)

    def savepoint(self) -> Undo:
        """Returns a function that undoes the steps from now on."""
        return self._core.savepoint()

    def rejected(self) -> Rejected:
        """Returns late and invalid rows of each input, without rows."""
        ports = self._core.host.operator.plan.ports.values()
        late = [self._plain(pl.DataFrame(schema=port.late_schema)) for port in ports]
        return Rejected(late, [self._plain(pl.DataFrame(schema=port.invalid_schema)) for port in ports])

    def _plain(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns late or invalid rows as they are on Spark: a struct `row`, and the other columns."""
        own = [name for name in rows.columns if name.startswith("__")]
        fields = [name for name in rows.columns if name not in own and name not in self._computed]
        return rows.select(
            pl.struct(fields).alias("row"), *(pl.col(name).alias(name.removeprefix("__")) for name in own)
        )

    @property
    def output_watermark(self) -> int | None:
        """The watermark of the emitted rows."""
        return self._core.host.operator.output_watermark()

    def emitted(self, times: frozenset[str]) -> Dtypes:
        """Returns the columns of the emitted rows, with instants in the place of microseconds."""
        return {
            name: INSTANT if name in times and dtype == pl.Int64() else dtype
            for name, dtype in self._core.host.operator.plan.pane_schema.items()
        }

    def step(
        self,
        rows: Mapping[str, pl.DataFrame],
        watermarks: Mapping[str, int | None],
        event: StepInput,
        rejected: Rejected,
    ) -> list[pl.DataFrame]:
        """Takes a step, and returns the frames of rows that it emits."""
        if event.clock is not None:
            self.advance(clock=event.clock)
        if any(frame.height for frame in rows.values()):
            self.add_batch(rows if len(rows) > 1 else rows[INPUT])
        for port, watermark in watermarks.items():
            if watermark is not None:
                self.advance(watermark=watermark, input=port)
        if event.finish:
            self.finish()
        emissions = self.drain()
        for emission in emissions:
            if emission.late.height or emission.invalid.height:
                rejected.add(self._plain(emission.late), self._plain(emission.invalid))
        return [emission.rows for emission in emissions if emission.rows.height]


def together(frames: list[pl.DataFrame], schema: Dtypes) -> pl.DataFrame:
    """Returns the rows of frames with these columns."""
    return pl.concat(frames).cast(schema) if frames else pl.DataFrame(schema=schema)  # type: ignore[arg-type]


def output_time(spec: Specification) -> str | None:
    """Returns the column of the event time of emitted rows, None if there is none."""
    time = parts(spec).output_time(spec)
    return time if isinstance(time, str) else None


class OperatorNode(SqlNode):
    """An operator over the rows of one node: a deduplication, or functions over windows."""

    times: frozenset[str] = frozenset()
    of_instants = True  # whether the event time of a whole input is an instant

    def __init__(self, stage: SingleInputStage, source: SqlNode) -> None:
        self.source = source
        scope = Scope(source.schema, stage.alias)
        self._where = None if stage.where is None else scope.condition(stage.where)
        self._input = self._computed_columns(stage)
        names = own_names(stage.spec, list(self._input), self._own_time)
        spec = with_own_names(stage.spec, names)
        self._times = spec.ports[INPUT].time_columns
        if self.of_instants:
            self.check_times()
        rejected_without = () if isinstance(stage, DeduplicateStage) else [c.name for c in stage.computed]
        self.operator = SqlOperator(spec, self._input, rejected_without)
        self.parts = [source, self.operator]
        self.event_time = output_time(spec)
        self._emitted = self.operator.emitted(self.times)
        emitted = dict(self.following(pl.DataFrame(schema=self._emitted)).schema)
        after = Scope(emitted)
        self._having = None if stage.having is None else after.condition(stage.having)
        hidden = (frozenset(emitted) - frozenset(source.schema)) | stage.new_columns
        self._columns = selected(after, stage.outputs, hidden) if stage.outputs else None
        self.schema = schema_of(emitted, self._columns)

    def check_times(self) -> None:
        """Refuses an event time that is no instant."""
        for name in self._times:
            check_instant(name, self._input.get(name))

    def _computed_columns(self, stage: SingleInputStage) -> Dtypes:
        """Returns the columns of the operator's input, and keeps the expressions of computed ones."""
        schema = dict(self.repeated(pl.DataFrame(schema=self.source.schema)).schema)
        scope = Scope(schema, stage.alias)
        typed = {column.name: scope.typed(column.text) for column in stage.computed}
        self._computed = [value.expr.alias(name) for name, value in typed.items()]
        return schema | {name: value.dtype for name, value in typed.items()}

    def _own_time(self) -> str:
        """Returns the event time of a query that names none: that of the watermark, or the only TIMESTAMP."""
        time, columns = self.source.event_time, self.source.schema
        return _only_time(self.source) if time is None else only_time([time] if time in columns else [])

    def repeated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows as the operator takes them, without computed columns."""
        return rows

    def _with_computed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows with the columns that are computed for the operator."""
        return rows.with_columns(self._computed)

    def following(self, emitted: pl.DataFrame) -> pl.DataFrame:
        """Returns the emitted rows as the SELECT list reads them."""
        return emitted

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Takes a step, and returns the emitted rows with the columns of the SELECT list."""
        rows = self.repeated(shaped(self.source.step(event, rejected), self._where, None))
        rows = self._with_computed(rows).select(list(self._input))
        frames = self.operator.step({INPUT: rows}, {INPUT: self.source.watermark}, event, rejected)
        frames = frames or self._without_rows(event)
        self.watermark = self.operator.output_watermark
        return shaped(self.following(together(frames, self._emitted)), self._having, self._columns)

    def _without_rows(self, event: StepInput) -> list[pl.DataFrame]:
        """Returns what is emitted in a step in which the operator emits nothing."""
        return []


class OverNode(OperatorNode):
    """Functions over windows. The event time of a whole input may be the place of a row in an order."""

    def __init__(self, stage: OverStage, source: SqlNode) -> None:
        self.of_instants, self._position = stage.position is None and stage.spec.columns != (), stage.position
        super().__init__(with_free_names(stage, source.schema), source)

    def _computed_columns(self, stage: SingleInputStage) -> Dtypes:
        schema = super()._computed_columns(stage)
        if self._position is None:
            return schema
        self._place = place_of(self._position, Scope(schema, stage.alias))
        return schema | {self._position.name: pl.Int64()}

    def _with_computed(self, rows: pl.DataFrame) -> pl.DataFrame:
        rows = super()._with_computed(rows)
        return rows if self._position is None else rows.with_columns(self._place(rows))


class WindowsNode(OperatorNode):
    """Windows, whose rows may be repeated for sets of keys, and whose panes may be lists of rows."""

    def __init__(self, stage: WindowsStage, source: SqlNode) -> None:
        if stage.own_time:
            stage = with_window_time(stage, source.event_time)
        self.stage = stage
        # The bounds of windows of rows are numbers.
        first = stage.spec.ports[INPUT]
        self.times = _INSTANTS if counted(first.window) else _INSTANTS.union(BOUNDS)
        self.times |= frozenset() if first.timestamp is None else {"timestamp"}
        self._sets = (
            None
            if stage.exploded is None
            else pl.DataFrame(
                {stage.exploded.name: _numbers(stage.exploded.text)}, schema={stage.exploded.name: pl.Int32()}
            )
        )
        self._ranking: Callable[[pl.DataFrame], pl.DataFrame] | None = None
        super().__init__(stage, source)

    def repeated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows, each for every set of GROUPING SETS."""
        return rows if self._sets is None else rows.join(self._sets, how="cross", maintain_order="left_right")

    def _without_rows(self, event: StepInput) -> list[pl.DataFrame]:
        """Returns the group of a whole input without rows, if the query has one without GROUP BY."""
        if not (self.stage.one_group and event.finish):
            return []
        aggregates = self.stage.spec.ports[INPUT].aggregates
        empty = {column.name: _of_no_rows(column.fn) for column in aggregates}
        columns = [pl.lit(empty.get(name), dtype=dtype).alias(name) for name, dtype in self._emitted.items()]
        return [pl.select(columns)]

    def following(self, emitted: pl.DataFrame) -> pl.DataFrame:
        """Returns the panes with the struct of their bounds, or the rows of their lists."""
        if self.stage.ranked is not None:
            self._ranking = self._ranking or ranking(self.stage.ranked, dict(emitted.schema))
            return self._ranking(emitted)
        if self.stage.struct is None:
            return emitted
        bounds = [pl.col(f"window_{end}").alias(end) for end in ("start", "end")]
        return emitted.with_columns(pl.struct(bounds).alias(self.stage.struct))


def _of_no_rows(function: str) -> int | list[Any] | None:
    """Returns the value of an aggregate of no rows, as Spark has it."""
    if function.startswith("collect_"):
        return []
    return 0 if "count" in function else None


def _numbers(text: str) -> list[int]:
    """Returns the numbers of the sets of GROUPING SETS."""
    tree = tree_of(text)
    assert isinstance(tree, CallNode), "explode(array(...))"
    array = tree.arguments[0]
    assert isinstance(array, CallNode), "explode(array(...))"
    return [number.value for number in array.arguments if isinstance(number, ConstantNode)]


class JoinNode(SqlNode):
    """A join by time."""

    def __init__(self, stage: JoinStage, left: SqlNode, right: SqlNode) -> None:
        self.sides = {"left": left, "right": right}
        self._joins = {"left": isinstance(stage.left, JoinStage), "right": isinstance(stage.right, JoinStage)}
        columns = {side: list(node.schema) for side, node in self.sides.items()}
        marked = {side: node.event_time for side, node in self.sides.items()}
        join = resolved(stage, columns, times_of_sides(stage, marked, self._only_time))
        for side, node in self.sides.items():
            for name in join.spec.ports[side].time_columns:
                check_instant(name, node.schema.get(name))
        self.operator = SqlOperator(join.spec, {side: dict(node.schema) for side, node in self.sides.items()})
        self.parts = [left, right, self.operator]
        self.event_time = output_time(join.spec)
        self._emitted = self.operator.emitted(_INSTANTS.union(BOUNDS))
        scope = Scope(self._emitted)
        self._where = [scope.condition(text) for text in join.where]
        self._columns = selected(scope, join.outputs)
        self.schema = schema_of(self._emitted, self._columns)

    def _only_time(self, side: str) -> str | None:
        """Returns the event time of a side; None of a join whose rows have none (semantics 46.120)."""
        return None if self._joins[side] else _only_time(self.sides[side])

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Takes a step, and returns the rows of the join."""
        rows = {side: node.step(event, rejected) for side, node in self.sides.items()}
        watermarks = {side: node.watermark for side, node in self.sides.items()}
        emitted = together(self.operator.step(rows, watermarks, event, rejected), self._emitted)
        self.watermark = self.operator.output_watermark
        for condition in self._where:
            emitted = emitted.filter(condition)
        return shaped(emitted, None, self._columns)


def _only_time(node: SqlNode) -> str:
    """Returns the only column of type TIMESTAMP.

    Raises:
        SqlError: if there is another number of them.
    """
    return only_time([name for name, dtype in node.schema.items() if isinstance(dtype, pl.Datetime)])


def operator_node(stage: SingleInputStage, source: SqlNode) -> OperatorNode:
    """Returns the node of an operator over the rows of one node."""
    match stage:
        case WindowsStage():
            return WindowsNode(stage, source)
        case OverStage():
            return OverNode(stage, source)
    return OperatorNode(stage, source)
