"""Casts in process, and constants that are written as texts beside instants and dates (semantics 46.139).

A cast is here only if no rule of formatting, parsing or rounding decides its result, with one exception:
constants, of which the accepted texts are those that Spark reads in the same way.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

import polars as pl

from panewise.errors import InputError
from panewise.sql.expressions.expression_tree import ConstantNode, Node
from panewise.sql.expressions.type_names import first_name
from panewise.standalone.schema import dtype_of
from panewise.standalone.streaming_sql.sql_exact_casts import BITS, exact_cast, text_cast
from panewise.standalone.streaming_sql.sql_numbers import in_range, whole
from panewise.standalone.streaming_sql.sql_typed import Typed, refusal

COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "in"})
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?")
_RULE: Final = (
    "in process numbers and Booleans are cast to each other and to STRING, but no DOUBLE to STRING, instants "
    "and dates to each other and to STRING, texts to numbers, constant texts to instants and dates, and null "
    "to any type"
)


def cast_of(value: Typed, text: str, node: Node) -> pl.Expr:
    """Returns a value, which is computed by a node, as one of another type: `text`, in Spark's SQL.

    Raises:
        SqlError: for a cast that is not here.
    """
    try:
        wanted = dtype_of("cast", first_name(text))
    except InputError:
        raise refusal(f"CAST AS {text}", _RULE) from None
    constant = node.value if isinstance(node, ConstantNode) else None
    number = isinstance(wanted, (pl.Decimal, pl.Int8, pl.Int16, pl.Int32, pl.Int64))
    if isinstance(constant, str) and not isinstance(wanted, pl.String) and not number:
        return pl.lit(_of_text(constant, wanted), dtype=wanted)
    if wanted == value.dtype:
        return value.expr
    casts = (_of_number, _of_time, exact_cast, text_cast)
    results = (make(value, wanted) for make in casts)
    cast = next((result for result in results if result is not None), None)
    if cast is None and not value.is_null:
        raise refusal(f"CAST of {value.dtype} AS {text}", _RULE)
    return value.expr.cast(wanted) if cast is None else cast


def _of_number(value: Typed, wanted: pl.DataType) -> pl.Expr | None:
    """Returns a number or a Boolean in a type, None if it is none or the type has others."""
    boolean, target = isinstance(value.dtype, pl.Boolean), Typed(value.expr, wanted)
    if value.is_integer and target.is_integer and BITS[type(wanted)] < BITS[type(value.dtype)]:
        return in_range(value.expr.cast(pl.Int128), wanted)
    if value.is_float and isinstance(wanted, (pl.Int32, pl.Int64)):
        return whole(value, wanted)
    if value.is_float and isinstance(wanted, pl.Float64):
        return value.expr.cast(wanted)
    if value.is_integer and isinstance(wanted, pl.Boolean):
        return value.expr != 0
    simple = target.is_integer or isinstance(wanted, (pl.Float64, pl.String))
    return value.expr.cast(wanted) if (value.is_integer or boolean) and simple else None


def _of_time(value: Typed, wanted: pl.DataType) -> pl.Expr | None:
    """Returns an instant as its date in UTC, or a date as its first instant; None for other values."""
    if value.is_time and isinstance(wanted, pl.Date):
        return value.expr.dt.convert_time_zone("UTC").dt.date()
    if isinstance(value.dtype, pl.Date) and Typed(value.expr, wanted).is_time:
        return value.expr.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return None


def _of_text(text: str, wanted: pl.DataType) -> Any:
    """Returns the value of a constant text."""
    try:
        if isinstance(wanted, pl.Date) and _DAY.fullmatch(text):
            return date.fromisoformat(text)
        if isinstance(wanted, pl.Datetime) and wanted.time_zone is not None and _DAY.match(text):
            instant = datetime.fromisoformat(text)
            return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    except ValueError:
        raise refusal(f"'{text}'", _RULE) from None
    if isinstance(wanted, pl.Float64) and (_NUMBER.fullmatch(text) or text in ("NaN", "Infinity")):
        return float(text)
    raise refusal(f"'{text}'", _RULE)


def with_times(values: Sequence[Typed], nodes: Sequence[Node]) -> list[Typed]:
    """Returns what is compared: beside an instant, dates and constant texts are instants, as on Spark.

    Beside a date, constant texts are dates.

    Raises:
        SqlError: for a text that is no such constant.
    """
    instant = any(value.is_time for value in values)
    if not instant and not any(isinstance(value.dtype, pl.Date) for value in values):
        return list(values)
    wanted, name = (pl.Datetime("us", "UTC"), "timestamp") if instant else (pl.Date(), "date")
    return [
        Typed(cast_of(value, name, node), wanted) if _is_for_time(value, node) else value
        for value, node in zip(values, nodes, strict=True)
    ]


def _is_for_time(value: Typed, node: Node) -> bool:
    text = isinstance(node, ConstantNode) and isinstance(node.value, str)
    return text or isinstance(value.dtype, pl.Date)
