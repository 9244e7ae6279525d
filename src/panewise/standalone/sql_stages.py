"""Runs the stages of a compiled text in process: expressions by Polars, windows and joins by operators.

Each stage is a node that takes steps. A step passes rows through the tree, then moves the clocks, and may
then end the inputs. So what an operator emits enters the operator behind it in the same step.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import polars as pl

from panewise.errors import SqlError
from panewise.families import INPUT
from panewise.spec import Hopping, counted, parts
from panewise.sql.expression_tree import CallNode, ConstantNode, tree_of
from panewise.sql.joins import resolved
from panewise.sql.over import with_free_names
from panewise.sql.stages import (
    AssignedStage,
    DeduplicateStage,
    JoinStage,
    OutputColumn,
    OverStage,
    Ranked,
    RowsStage,
    SingleInputStage,
    SparkStage,
    Stage,
    TableStage,
    WindowsStage,
    excepted,
    is_star,
)
from panewise.sql.texts import one_line
from panewise.standalone.operator import StandaloneOperator
from panewise.standalone.sql_expressions import Scope
from panewise.standalone.sql_functions import refused

Schema: TypeAlias = dict[str, pl.DataType]
_BOUNDS = frozenset({"window_start", "window_end"})
_INSTANTS = frozenset({"processing_time", "join_time"})
_PLACE = "place of the row"
_INSTANT = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class StepInput:
    """What happens in a step.

    Attributes:
        tables: the rows that arrive, by table.
        watermarks: the watermarks that tables have after the rows, in microseconds.
        clock: the processing time in microseconds, None if it does not move.
        finish: whether the inputs end.
    """

    tables: Mapping[str, pl.DataFrame]
    watermarks: Mapping[str, int] = field(default_factory=dict)
    clock: int | None = None
    finish: bool = False


@dataclass
class Rejected:
    """Late and invalid rows of all operators, in the order of the operators."""

    late: list[pl.DataFrame] = field(default_factory=list)
    invalid: list[pl.DataFrame] = field(default_factory=list)


class SqlNode(ABC):
    """A stage that runs.

    Attributes:
        schema: the columns of its rows.
        watermark: the watermark of its rows in microseconds, None if there is none yet.
    """

    schema: Schema
    watermark: int | None = None

    @abstractmethod
    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Takes a step, and returns the rows that it emits."""


class TableNode(SqlNode):
    """A table. Its watermark follows its rows, if `follows`."""

    def __init__(self, stage: TableStage, schema: Schema, *, follows: bool) -> None:
        self.name, self.stage, self.follows = (stage.name or "").lower(), stage, follows
        self.schema = dict(zip(stage.columns or schema, schema.values(), strict=False))
        self._given, self._time, self._delay = schema, None, 0  # type: Schema, str | None, int
        self._computed: tuple[str, pl.Expr] | None = None
        if stage.watermark is not None:
            name, delay, text = stage.watermark
            self._time, self._delay = name, delay.us
            if text is not None:
                typed = Scope(self.schema, stage.alias).typed(text)
                self._computed, self.schema[name] = (name, typed.expr), typed.dtype

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows that arrive."""
        rows = event.tables.get(self.name)
        rows = pl.DataFrame(schema=self._given) if rows is None else rows
        rows = rows.rename(dict(zip(rows.columns, self.schema, strict=False)))
        if self._computed is not None:
            rows = rows.with_columns(self._computed[1].alias(self._computed[0]))
        if self.follows and self._time is not None:
            self._advance(_microseconds(rows[self._time].max()))
        said = event.watermarks.get(self.name)
        if said is not None:
            self.watermark = max(said, self.watermark if self.watermark is not None else said)
        return rows

    def _advance(self, highest: int | None) -> None:
        if highest is not None:
            reached = highest - self._delay
            self.watermark = reached if self.watermark is None else max(self.watermark, reached)


def _microseconds(value: Any) -> int | None:
    return None if value is None else int(pl.Series([value]).cast(pl.Datetime("us")).to_physical()[0])


class RowsNode(SqlNode):
    """A filter and a SELECT list."""

    def __init__(self, stage: RowsStage, source: SqlNode) -> None:
        self.source = source
        scope = Scope(source.schema, stage.alias)
        self._where = None if stage.where is None else scope.typed(stage.where).expr
        self._columns = None if stage.outputs is None else selected(scope, stage.outputs)
        self.schema = schema_of(source.schema, self._columns)

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the selected rows."""
        rows = shaped(self.source.step(event, rejected), self._where, self._columns)
        self.watermark = self.source.watermark
        return rows


def selected(
    scope: Scope, outputs: Sequence[OutputColumn], hidden: frozenset[str] = frozenset()
) -> list[pl.Expr]:
    """Returns the expressions of a SELECT list. `*` has no hidden columns."""
    columns: list[pl.Expr] = []
    for output in outputs:
        if is_star(output):
            left_out = excepted(output.text)
            columns += [
                pl.col(name) for name in scope.columns if name not in hidden and name.lower() not in left_out
            ]
        else:
            columns.append(scope.typed(output.text).expr.alias(output.name or one_line(output.original)))
    return columns


def schema_of(schema: Schema, columns: list[pl.Expr] | None) -> Schema:
    """Returns the columns of a SELECT list."""
    if columns is None:
        return dict(schema)
    try:
        return dict(pl.LazyFrame(schema=schema).select(columns).collect_schema())
    except pl.exceptions.DuplicateError as error:
        rule = "in process each column has a name of its own"
        raise SqlError(str(error).split("\n", 1)[0], rule, "give one of them another name, with AS") from None


def shaped(rows: pl.DataFrame, where: pl.Expr | None, columns: list[pl.Expr] | None) -> pl.DataFrame:
    """Returns the rows for which a condition is true, with the columns of a SELECT list."""
    rows = rows if where is None else rows.filter(where)
    if columns is None:
        return rows
    return rows.select(columns) if rows.height else rows.clear().select(columns).clear()


class AssignedNode(SqlNode):
    """Rows with the bounds of their windows, once for each window."""

    def __init__(self, stage: AssignedStage, source: SqlNode) -> None:
        window = stage.fixed
        self.source, self.time = source, Scope(source.schema).typed(f"`{stage.time}`").expr
        self.size: int = window.size.us  # type: ignore[union-attr]
        self.slide: int = window.hop.us if isinstance(window, Hopping) else self.size  # type: ignore[union-attr]
        self.origin = window.origin
        bounds = ("window_start", "window_end", "window_time")
        self.schema = {**source.schema, **dict.fromkeys(bounds, _INSTANT)}

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows with bounds. Rows without a time have none."""
        rows = self.source.step(event, rejected)
        self.watermark = self.source.watermark
        at = self.time.dt.cast_time_unit("us").to_physical()
        last = (at - self.origin).floordiv(self.slide) * self.slide + self.origin
        starts = [last - number * self.slide for number in range(-(-self.size // self.slide))]
        start = pl.col("window_start")
        rows = rows.with_columns(__at=at, window_start=pl.concat_list(starts)).explode("window_start")
        rows = rows.filter((start + self.size > pl.col("__at")) & pl.col("__at").is_not_null()).drop("__at")
        end = start + self.size
        bounds = {"window_start": start, "window_end": end, "window_time": end - 1}
        return rows.with_columns(**{name: bound.cast(_INSTANT) for name, bound in bounds.items()})


class OperatorNode(SqlNode):
    """Windows, functions over windows, or a deduplication."""

    def __init__(self, stage: SingleInputStage, source: SqlNode) -> None:
        if isinstance(stage, OverStage):
            stage = with_free_names(stage, source.schema)
        self.source, self.stage = source, stage
        exploded = stage.exploded if isinstance(stage, WindowsStage) else None
        self._exploded = None if exploded is None else (exploded.name, _numbers(exploded.text))
        schema = {**source.schema, **({} if exploded is None else {exploded.name: pl.Int32()})}
        scope = Scope(schema, stage.alias)
        self._where = (
            None if stage.where is None else Scope(source.schema, stage.alias).typed(stage.where).expr
        )
        computed = {column.name: scope.typed(column.text) for column in stage.computed}
        self._computed = [typed.expr.alias(name) for name, typed in computed.items()]
        schema |= {name: typed.dtype for name, typed in computed.items()}
        self._input = _read(stage.spec, INPUT, schema)
        self.operator = operator_of(stage.spec, {INPUT: self._input})
        self._emitted = emitted = _emitted(self.operator, _times(stage))
        self._ranked = _ranking(stage, emitted)
        emitted = dict(emitted if self._ranked is None else self._ranked(pl.DataFrame(schema=emitted)).schema)
        self._struct = stage.struct if isinstance(stage, WindowsStage) else None
        if self._struct is not None:
            emitted |= {self._struct: pl.Struct({"start": _INSTANT, "end": _INSTANT})}
        after = Scope(emitted)
        self._having = None if stage.having is None else after.typed(stage.having).expr
        hidden = (
            frozenset(emitted) - frozenset(source.schema) if isinstance(stage, OverStage) else frozenset()
        )
        hidden |= _new_columns(stage)
        chosen = stage.outputs if self._ranked is None else None
        self._columns = None if chosen is None else selected(after, chosen, hidden)
        self.schema = schema_of(dict(emitted), self._columns)

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Takes a step, and returns the emitted rows with the columns of the SELECT list."""
        rows = shaped(self.source.step(event, rejected), self._where, None)
        if self._exploded is not None:
            name, numbers = self._exploded
            sets = pl.DataFrame({name: numbers}, schema={name: pl.Int32()})
            rows = rows.join(sets, how="cross", maintain_order="left_right")
        rows = rows.with_columns(self._computed).select(list(self._input))
        watermarks = {INPUT: self.source.watermark}
        emitted = stepped(self.operator, {INPUT: rows}, watermarks, event, rejected, self._emitted)
        self.watermark = self.operator.output_watermark
        if self._ranked is not None:
            emitted = self._ranked(emitted)
        if self._struct is not None:
            bounds = [pl.col(f"window_{end}").alias(end) for end in ("start", "end")]
            emitted = emitted.with_columns(pl.struct(bounds).alias(self._struct))
        return shaped(emitted, self._having, self._columns)


def _numbers(text: str) -> list[int]:
    """Returns the numbers of the sets of GROUPING SETS."""
    tree = tree_of(text)
    assert isinstance(tree, CallNode), "explode(array(...))"
    array = tree.arguments[0]
    assert isinstance(array, CallNode), "explode(array(...))"
    return [number.value for number in array.arguments if isinstance(number, ConstantNode)]


def _read(spec: Any, port: str, schema: Mapping[str, pl.DataType]) -> Schema:
    """Returns the columns that an operator reads: all of them if it emits or stores whole rows."""
    entry = spec.ports[port]
    columns = {name.lower(): name for name in schema}
    missing = [name for name in entry.columns_read if name not in schema and name.lower() in columns]
    if missing:
        rule = f"in process names of columns are case-sensitive here: {list(schema)}"
        raise SqlError(f"a column {missing[0]}", rule, f"write {columns[missing[0].lower()]}")
    return dict(schema)


def operator_of(spec: Any, schemas: Mapping[str, Schema]) -> "SqlOperator":
    """Returns the operator of a specification."""
    schema = schemas[INPUT] if [*schemas] == [INPUT] else schemas
    return SqlOperator(spec, schema)


class SqlOperator(StandaloneOperator):
    """An operator that another one can follow."""

    @property
    def output_watermark(self) -> int | None:
        """The watermark of the emitted rows."""
        return self._core.host.operator.output_watermark()

    @property
    def pane_schema(self) -> Schema:
        """The columns of the emitted rows."""
        return dict(self._core.host.operator.plan.pane_schema)


def _emitted(operator: SqlOperator, times: frozenset[str]) -> Schema:
    """Returns the columns of the emitted rows, with instants in the place of microseconds."""
    return {
        name: _INSTANT if name in times and dtype == pl.Int64() else dtype
        for name, dtype in operator.pane_schema.items()
    }


def _times(stage: SingleInputStage | JoinStage) -> frozenset[str]:
    """Returns the columns of emitted rows that are instants. The bounds of windows of rows are numbers."""
    if isinstance(stage, WindowsStage):
        return _INSTANTS if counted(stage.spec.ports[INPUT].window) else _INSTANTS | _BOUNDS
    return _INSTANTS | _BOUNDS if isinstance(stage, JoinStage) else frozenset()


def stepped(
    operator: SqlOperator,
    rows: Mapping[str, pl.DataFrame],
    watermarks: Mapping[str, int | None],
    event: StepInput,
    rejected: Rejected,
    schema: Schema,
) -> pl.DataFrame:
    """Passes a step to an operator, and returns the rows that it emits, with these columns."""
    if event.clock is not None:
        operator.advance(clock=event.clock)
    if any(frame.height for frame in rows.values()):
        operator.add_batch(rows if len(rows) > 1 else rows[INPUT])
    for port, watermark in watermarks.items():
        if watermark is not None:
            operator.advance(watermark=watermark, input=port)
    if event.finish:
        operator.finish()
    emissions = operator.drain()
    for emission in emissions:
        rejected.late += [_plain(emission.late)] if emission.late.height else []
        rejected.invalid += [_plain(emission.invalid)] if emission.invalid.height else []
    frames = [emission.rows for emission in emissions if emission.rows.height]
    return pl.concat(frames).cast(schema) if frames else pl.DataFrame(schema=schema)  # type: ignore[arg-type]


def _plain(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns late or invalid rows as they are on Spark: a struct `row`, and the other columns."""
    own = [name for name in rows.columns if name.startswith("__")]
    row = pl.struct(name for name in rows.columns if name not in own).alias("row")
    return rows.select(row, *(pl.col(name).alias(name.removeprefix("__")) for name in own))


def _new_columns(stage: Stage) -> frozenset[str]:
    """Returns the columns that an operator, and those before it, have added to the rows."""
    if isinstance(stage, DeduplicateStage):
        return frozenset(("op", *(column.name for column in stage.computed)))
    if not isinstance(stage, OverStage):
        return frozenset()
    inner = stage.input
    before = _new_columns(inner) if isinstance(inner, OverStage) and inner.outputs is None else frozenset()
    return before | {column.name for column in stage.spec.columns}


def _ranking(stage: SingleInputStage, emitted: Schema) -> Callable[[pl.DataFrame], pl.DataFrame] | None:
    """Returns the function that makes rows of the places of the lists of panes; None if there are none."""
    ranked = stage.ranked if isinstance(stage, WindowsStage) else None
    if ranked is None:
        return None
    lists, scope, ties = list(ranked.lists), Scope(emitted), ranked.ties
    others = {name: scope.typed(text).expr.alias(f"other {name}") for name, text in ranked.others}
    fields = [pl.col(name) for name in lists]
    if lists == ["rows"]:
        element: Any = emitted["rows"]
        names = [field.name for field in element.inner.fields if ties is None or field.name != ties.field]
        fields = [pl.col("rows").struct.field(name) for name in names]
    columns = [*fields, *(pl.col(f"other {name}").alias(name) for name in others)]
    columns += [] if ranked.rank is None else [pl.col(_PLACE).alias(ranked.rank)]
    columns += [pl.col("op")] if ranked.retracts else []

    def rows_of(panes: pl.DataFrame) -> pl.DataFrame:
        places = pl.Series(_PLACE, [_places(pane, ranked) for pane in panes.to_dicts()], pl.List(pl.Int64))
        rows = panes.with_columns(*others.values(), places)
        rows = rows.filter(pl.col(lists[0]).list.len() > 0).explode(*lists, _PLACE)
        rows = rows if ties is None else rows.filter(pl.col(_PLACE) <= ties.n)
        return rows.select(columns)

    return rows_of


def _places(pane: Mapping[str, Any], ranked: Ranked) -> list[int]:
    """Returns the places of the rows of a pane, from 1. With RANK and DENSE_RANK equal rows have one."""
    ties, first = ranked.ties, pane[ranked.lists[0]] or []
    if ties is None:
        return list(range(1, len(first) + 1))
    if ties.lists:
        orders = list(zip(*(pane[name] or [] for name in ties.lists), strict=True))
    else:
        orders = [row[ties.field] for row in first]
    different = [order for number, order in enumerate(orders) if order not in orders[:number]]
    places = different if ties.function == "dense_rank" else orders
    return [places.index(order) + 1 for order in orders]


class JoinNode(SqlNode):
    """A join by time."""

    def __init__(
        self, stage: JoinStage, left: SqlNode, right: SqlNode, times: tuple[str | None, str | None]
    ) -> None:
        self.sides = {"left": left, "right": right}
        columns = {side: list(node.schema) for side, node in self.sides.items()}
        join = resolved(stage, columns, times)
        self._schemas = {side: _read(join.spec, side, node.schema) for side, node in self.sides.items()}
        self.operator = operator_of(join.spec, self._schemas)
        self._emitted = emitted = _emitted(self.operator, _times(stage))
        scope = Scope(emitted)
        self._where = [scope.typed(text).expr for text in join.where]
        self._columns = selected(scope, join.outputs)
        self.schema = schema_of(emitted, self._columns)

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Takes a step, and returns the rows of the join."""
        rows = {side: node.step(event, rejected) for side, node in self.sides.items()}
        watermarks = {side: node.watermark for side, node in self.sides.items()}
        emitted = stepped(self.operator, rows, watermarks, event, rejected, self._emitted)
        self.watermark = self.operator.output_watermark
        for condition in self._where:
            emitted = emitted.filter(condition)
        return shaped(emitted, None, self._columns)


@dataclass
class NodeBuilder:
    """Makes the nodes of stages.

    Attributes:
        schemas: the columns of the tables, by lower-case names.
        follows: whether watermarks follow rows, as on a stream. On a batch they have no effect.
    """

    schemas: Mapping[str, Schema]
    follows: bool

    def node(self, stage: Stage) -> SqlNode:
        """Returns the node of a stage.

        Raises:
            SqlError: if it is one that only Spark runs.
        """
        match stage:
            case TableStage():
                return self._table(stage)
            case RowsStage():
                return RowsNode(stage, self.node(stage.input))
            case AssignedStage():
                return AssignedNode(stage, self.node(stage.input))
            case SingleInputStage():
                return OperatorNode(stage, self.node(stage.input))
            case JoinStage():
                return self._join(stage)
            case SparkStage():
                return self._of_spark(stage)

    def _table(self, stage: TableStage) -> SqlNode:
        schema = self.schemas.get((stage.name or "").lower())
        if schema is None:
            rule = f"the tables are {sorted(self.schemas)}"
            raise SqlError(f"a table {stage.text}", rule, "give it by its name")
        return TableNode(stage, schema, follows=self.follows)

    def _join(self, stage: JoinStage) -> SqlNode:
        times = tuple(
            time if time is not None else _marked(inner)
            for time, inner in zip(stage.times, (stage.left, stage.right), strict=True)
        )
        return JoinNode(stage, self.node(stage.left), self.node(stage.right), (times[0], times[1]))

    def _of_spark(self, stage: SparkStage) -> SqlNode:
        """Returns a query with WATERMARK behind it. All others are Spark's alone."""
        if stage.parts == ("", "") and len(stage.tables) == 2:
            (inner, _), (marked, _) = stage.tables
            assert isinstance(marked, TableStage), "the watermark of a query"
            return MarkedNode(marked, self.node(inner), follows=self.follows)
        rule = "in process there are selections, windows, functions OVER and joins by time"
        raise refused(
            one_line(" ... ".join(stage.parts)), rule, "run it on Spark, or compute the table before"
        )


class MarkedNode(SqlNode):
    """The rows of a query, with a watermark."""

    def __init__(self, mark: TableStage, source: SqlNode, *, follows: bool) -> None:
        self.source = source
        self._table = TableNode(replace(mark, name="rows"), source.schema, follows=follows)
        self.schema = self._table.schema

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows."""
        rows = self._table.step(replace(event, tables={"rows": self.source.step(event, rejected)}), rejected)
        self.watermark = self._table.watermark
        return rows


def _marked(stage: Stage) -> str | None:
    """Returns the column of the watermark of a stage, None if it has none or several."""
    names = set(_marks(stage))
    return names.pop() if len(names) == 1 else None


def _marks(stage: Stage) -> Iterator[str]:
    if isinstance(stage, TableStage) and stage.watermark is not None:
        yield stage.watermark[0]
    if isinstance(stage, (RowsStage, AssignedStage, SparkStage)):
        for inner in stage.inputs:
            yield from _marks(inner)
        return
    spec = getattr(stage, "spec", None)
    time = None if spec is None else parts(spec).output_time(spec)
    if isinstance(time, str):
        yield time
