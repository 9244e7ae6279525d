"""UNION, EXCEPT, INTERSECT, DISTINCT and VALUES in process (semantics 46.160, 46.171).

With ALL, equal rows are numbered on each side. Invariant: then no two rows of a side are equal, and the n-th
of equal rows on one side has a partner if and only if the other side has n of them or more. So INTERSECT is a
semi join by all columns, and EXCEPT an anti join. Cost: a grouping of each side, and one join by hash.
"""

from collections.abc import Sequence
from typing import Final, Literal

import polars as pl

from panewise.engine.kernels.column_types import AnyDtype, Dtypes
from panewise.engine.kernels.instants import lowest_of_known
from panewise.errors import SqlError
from panewise.sql.expressions.values import rows_of_values
from panewise.sql.stages import SetStage, TableStage
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_nodes import Rejected, SqlNode, StepInput, TableNode
from panewise.standalone.streaming_sql.sql_typed import Typed, common_type, refused

_NUMBER: Final = "number among equal rows"


class UnionNode(SqlNode):
    """The rows of two nodes. The columns are paired by position, and have the names of the first node.

    The event time is that of the first node. The watermark is the lower one of both, as Spark has it.
    """

    def __init__(self, left: SqlNode, right: SqlNode) -> None:
        self.sides = self.parts = (left, right)
        self.schema = _united(left.schema, right.schema, "UNION")
        self.event_time = left.event_time

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows of the first node, and after them those of the second."""
        names = list(self.schema)
        frames = [side.step(event, rejected) for side in self.sides]
        same = [frame.rename(dict(zip(frame.columns, names, strict=True))) for frame in frames]
        self.watermark = lowest_of_known(side.watermark for side in self.sides if side.event_time is not None)
        return pl.concat([frame.cast(self.schema) for frame in same])  # type: ignore[arg-type]


class SetNode(SqlNode):
    """The rows of a whole input that are, or are not, those of another one."""

    def __init__(self, stage: SetStage, left: SqlNode, right: SqlNode, *, follows: bool) -> None:
        if follows:
            rule = "only at the end of both inputs it is known which rows both have"
            raise SqlError(stage.word, rule, "use a semi or an anti join with a range of time")
        self.sides = self.parts = (left, right)
        self._stage = stage
        self.schema, self.event_time = _united(left.schema, right.schema, stage.word), left.event_time
        nested = next((name for name, dtype in self.schema.items() if dtype.is_nested()), None)
        if nested is not None:
            raise refused(stage.word, f"in process it has no arrays and structs, as {nested} is")

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the rows. Equal rows are numbered, and paired by their numbers."""
        names = list(self.schema)
        left, right = (self._numbered(side.step(event, rejected)) for side in self.sides)
        how: Literal["semi", "anti"] = "semi" if self._stage.word == "INTERSECT" else "anti"
        return left.join(right, on=left.columns, how=how, nulls_equal=True, maintain_order="left")[names]

    def _numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        rows = rows.rename(dict(zip(rows.columns, self.schema, strict=True))).cast(self.schema)  # type: ignore[arg-type]
        rows = rows.with_columns(pl.selectors.float() + 0.0)
        if not self._stage.every:
            return rows.unique(maintain_order=True)
        return rows.with_columns(pl.int_range(pl.len()).over(list(self.schema)).alias(_NUMBER))


def _united(left: Dtypes, right: Dtypes, word: str) -> Dtypes:
    """Returns the columns of a UNION, or of another operation of two queries.

    Raises:
        SqlError: if both sides have other numbers of columns, or columns of types with nothing in common.
    """
    if len(left) != len(right):
        rule = f"both sides have as many columns; the first has {list(left)}, the second {list(right)}"
        raise SqlError(word, rule, "select as many columns on both sides")
    schema = dict[str, pl.DataType]()
    for (name, dtype), (other_name, other) in zip(left.items(), right.items(), strict=True):
        both = common_type(dtype, other)
        if both is None:
            types = f"{name} of the type {dtype}, and {other_name} of the type {other}"
            rule = f"in process both sides have one type, or are numbers, not DECIMAL and DOUBLE: {types}"
            raise SqlError(word, rule, f"write CAST({other_name} AS ...)")
        schema[name] = both
    return schema


class DistinctNode(SqlNode):
    """The different rows of a whole input."""

    def __init__(self, source: SqlNode, *, follows: bool) -> None:
        if follows:
            rule = "the different rows of an input in steps have no end"
            remedy = "write SELECT DISTINCT ... FROM t WATERMARK ts DELAY OF ..."
            raise SqlError("DISTINCT", rule, remedy)
        self.source, self.parts = source, [source]
        self.schema, self.event_time = source.schema, source.event_time
        nested = next((name for name, dtype in self.schema.items() if _has_inner_float(dtype)), None)
        if nested is not None:
            rule = f"in process DISTINCT has no DOUBLE in an array or a struct, as {nested} has"
            raise refused("DISTINCT", rule)

    def step(self, event: StepInput, rejected: Rejected) -> pl.DataFrame:
        """Returns the first of equal rows. There is no negative zero, as on Spark."""
        rows = self.source.step(event, rejected).with_columns(pl.selectors.float() + 0.0)
        self.watermark = self.source.watermark
        return rows.unique(maintain_order=True)


def _has_inner_float(dtype: AnyDtype) -> bool:
    inner = [dtype.inner] if isinstance(dtype, pl.List) else []
    inner += [field.dtype for field in dtype.fields] if isinstance(dtype, pl.Struct) else []
    return any(part.is_float() or _has_inner_float(part) for part in inner)


class ValuesNode(TableNode):
    """The rows of VALUES, which are those of a whole input."""

    def __init__(self, stage: TableStage, *, follows: bool) -> None:
        if follows:
            rule = "VALUES is a batch, and the tables of an input in steps have no end"
            raise SqlError("VALUES", rule, "give a table, and add these rows to it")
        columns = list(zip(*_values_of(stage.text), strict=True))
        typed = {f"col{place}": _column(values) for place, values in enumerate(columns, 1)}
        self._values: pl.DataFrame | None = pl.DataFrame(typed)
        super().__init__(stage, dict(self._values.schema), follows=False)

    def _arrived(self, event: StepInput) -> pl.DataFrame:
        rows, self._values = self._values, None
        return pl.DataFrame(schema=self._own) if rows is None else rows


def _values_of(text: str) -> list[list[Typed]]:
    scope = Scope({})
    return [[scope.typed_node(node) for node in row] for row in rows_of_values(text)]


def _column(values: Sequence[Typed]) -> pl.Series:
    """Returns the values of a column of VALUES in the type that they have in common."""
    dtype: pl.DataType = pl.Null()
    for value in values:
        both = common_type(dtype, value.dtype)
        if both is None:
            types = f"{dtype} and {value.dtype}"
            rule = f"in process a column of VALUES has one type, or numbers, not DECIMAL and DOUBLE: {types}"
            raise SqlError("VALUES", rule, "write CAST(... AS ...)")
        dtype = both
    return pl.Series([pl.select(value.expr.cast(dtype)).item() for value in values], dtype=dtype)
