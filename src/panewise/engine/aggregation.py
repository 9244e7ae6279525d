"""A specification's aggregates compiled into expressions over rows, partials and results."""

from decimal import ROUND_HALF_UP, Context, Decimal

import polars as pl

from panewise.engine import sketch, userfn
from panewise.engine.frames import grouped
from panewise.engine.partials import ROWS, Part, parts_of, rows_part
from panewise.errors import AggregateOverflowError, SpecError
from panewise.spec import Aggregate
from panewise.spec.aggregates import ORDERED

LIMIT = 2**63
_EXACT = Context(prec=80)
_NUMERIC = frozenset({"sum", "avg", "stddev", "variance", "median", "percentile"})


class Aggregation:
    """Lifts rows to partials, merges partials, reads results off partials."""

    def __init__(self, aggregates: tuple[Aggregate, ...], schema: dict[str, pl.DataType]) -> None:
        for aggregate in aggregates:
            _check_type(aggregate, schema)
        needed = [rows_part()]  # rows tell a partial of nothing from a partial of nulls
        for index, aggregate in enumerate(aggregates):
            needed += parts_of(aggregate, index, schema)
        self.parts: list[Part] = list({part.name: part for part in needed}.values())
        self.ordered = any(a.fn in ORDERED for a in aggregates)
        self.results = [_result(a, i, schema) for i, a in enumerate(aggregates)]
        self.result_types = {a.name: result_type(a, schema) for a in aggregates}

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The partial columns and their types."""
        return {part.name: part.dtype for part in self.parts}

    def lift(self, rows: pl.DataFrame, by: list[str], *, in_order: bool = True) -> pl.DataFrame:
        """Partials of each group of rows, which come in arrival order; groups in order of their first row, or faster in any."""
        for part in self.parts:
            if part.sums is not None and rows.schema[part.sums].is_integer():
                _refuse_overflow(rows, by, part.sums, part.sums)
        return self._typed(grouped(rows, by, [part.lift.alias(part.name) for part in self.parts], in_order=in_order))

    def merging(self) -> list[pl.Expr]:
        """The aggregations that merge partials of one group, in arrival order."""
        return [part.merge.alias(part.name) for part in self.parts]

    def check_merge(self, partials: pl.DataFrame, by: list[str]) -> None:
        """Refuses sums of partials that leave 64 bits (semantics 24.3)."""
        for part in self.parts:
            if part.sums is not None and part.dtype == pl.Int64():
                _refuse_overflow(partials, by, part.name, part.sums)

    def cleared(self, where: pl.Expr) -> list[pl.Expr]:
        """The partial columns, emptied where the condition holds."""
        return [pl.when(where).then(pl.lit(p.empty, dtype=p.dtype)).otherwise(pl.col(p.name)).alias(p.name) for p in self.parts]

    def _typed(self, partials: pl.DataFrame) -> pl.DataFrame:
        wrong = [part for part in self.parts if partials.schema[part.name] != part.dtype]
        return partials.with_columns(pl.col(part.name).cast(part.dtype) for part in wrong) if wrong else partials


def greatest(values: pl.Series) -> int:
    """The greatest distance of whole numbers from 0; that of none is 0."""
    low, high = values.min(), values.max()
    return max(abs(low), abs(high)) if isinstance(low, int) and isinstance(high, int) else 0


def _refuse_overflow(frame: pl.DataFrame, by: list[str], column: str, named: str) -> None:
    """Raises if a group's integer sum leaves 64 bits. One cheap bound clears nearly every batch."""
    if greatest(frame[column]) * frame.height < LIMIT:
        return
    exact = frame.group_by(by).agg(pl.col(column).cast(pl.Int128).sum().alias("sum"))["sum"]
    for total in (exact.min(), exact.max()):
        if isinstance(total, int) and not -LIMIT <= total < LIMIT:
            rule = "a sum of whole numbers stays inside 64 bits (semantics 24.3)"
            raise AggregateOverflowError(f"sum({named}) = {total}", rule, f"cast {named} to double or decimal before the operator")


def _check_type(aggregate: Aggregate, schema: dict[str, pl.DataType]) -> None:
    if aggregate.column is None:
        return
    dtype = schema[aggregate.column]
    if aggregate.fn in _NUMERIC and not dtype.is_numeric():
        rule = f"{aggregate.fn} takes numbers"
        raise SpecError(
            f"{aggregate.name!r} over {aggregate.column}: {dtype}", rule, f"cast {aggregate.column} to a number, or use another aggregate"
        )
    if aggregate.fn in ("min", "max") and dtype.is_nested():
        rule = f"{aggregate.fn} takes values that have an order"
        raise SpecError(f"{aggregate.name!r} over {aggregate.column}: {dtype}", rule, "use a column of a simple type")


def result_type(aggregate: Aggregate, schema: dict[str, pl.DataType]) -> pl.DataType:
    """The type of an aggregate's result, as in Spark."""
    dtype = schema[aggregate.column] if aggregate.column is not None else pl.Int64()
    if aggregate.fn in ("count", "approx_count_distinct"):
        return pl.Int64()
    if aggregate.fn in ("min", "max", "first", "last"):
        return dtype
    if aggregate.fn in ("collect_list", "collect_set"):
        return pl.List(dtype)
    if aggregate.fn == "user" and aggregate.user is not None:
        return userfn.result_type(aggregate.user)
    if isinstance(dtype, pl.Decimal) and aggregate.fn == "sum":
        return pl.Decimal(min(38, (dtype.precision or 38) + 10), dtype.scale)
    if isinstance(dtype, pl.Decimal) and aggregate.fn == "avg":
        return _mean_type(dtype)
    return pl.Int64() if aggregate.fn == "sum" and dtype.is_integer() else pl.Float64()


def _mean_type(dtype: pl.Decimal) -> pl.Decimal:
    return pl.Decimal(min(38, (dtype.precision or 38) + 4), min(38, dtype.scale + 4))


def _result(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> pl.Expr:
    """The expression that reads the result off the partial columns."""
    column, fn = aggregate.column, aggregate.fn
    if column is None:
        return pl.col(ROWS).alias(aggregate.name)
    n = pl.col(f"__n:{column}")
    if fn == "count":
        expr = n
    elif fn == "sum":
        expr = pl.col(f"__sum:{column}")
    elif fn == "avg":
        expr = _mean(column, schema[column])
    elif fn in ("min", "max"):
        expr = pl.col(f"__{fn}:{column}")
    elif fn in ("first", "last"):
        expr = pl.col(f"__{fn}{'_value' if aggregate.ignorenulls else ''}:{column}")
    elif fn in ("stddev", "variance"):
        variance = pl.when(n > 1).then(pl.col(f"__m2:{column}") / (n - 1))
        expr = variance.sqrt() if fn == "stddev" else variance
    elif fn == "collect_list":
        expr = pl.col(f"__list:{column}")
    elif fn == "collect_set":
        expr = pl.col(f"__set:{column}")
    elif fn in ("median", "percentile"):
        fraction = 0.5 if aggregate.percentage is None else aggregate.percentage
        value = pl.element().cast(pl.Float64).quantile(fraction, "linear")
        expr = pl.col(f"__list:{column}").list.eval(value).list.first()
    elif fn == "approx_count_distinct":
        size = sketch.size_for(aggregate.rsd or 0.05)
        expr = sketch.estimate(pl.col(f"__kmv{size}:{column}"), size)
    else:
        assert aggregate.user is not None
        expr = pl.col(f"__user{index}").map_batches(userfn.finisher(aggregate.user), return_dtype=userfn.result_type(aggregate.user))
    return expr.cast(result_type(aggregate, schema)).alias(aggregate.name)


def _mean(column: str, dtype: pl.DataType) -> pl.Expr:
    n = pl.col(f"__n:{column}")
    if not isinstance(dtype, pl.Decimal):
        return pl.when(n > 0).then(pl.col(f"__fsum:{column}") / n)
    target = _mean_type(dtype)
    unit = Decimal(1).scaleb(-target.scale)

    def divide(pairs: pl.Series) -> pl.Series:
        means = [
            None if p["s"] is None else _EXACT.divide(p["s"], Decimal(p["n"])).quantize(unit, ROUND_HALF_UP, _EXACT)
            for p in pairs.to_list()
        ]
        return pl.Series(means, dtype=target)

    return pl.struct(pl.col(f"__sum:{column}").alias("s"), n.alias("n")).map_batches(divide, return_dtype=target)
