"""Casts of decimals, of texts in columns, and of times to texts, in process (semantics 46.173).

A value that the type does not have is an error, as on Spark with `spark.sql.ansi.enabled`.
"""

import math
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import polars as pl

from panewise.errors import InputError
from panewise.standalone.streaming_sql.sql_typed import Typed

_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
BITS: Final[Mapping[type[pl.DataType], int]] = {pl.Int8: 8, pl.Int16: 16, pl.Int32: 32, pl.Int64: 64}
_EXACT: Final = Context(prec=800)


def exact_cast(value: Typed, wanted: pl.DataType) -> pl.Expr | None:
    """Returns a number as a DECIMAL, or a DECIMAL as another type; None for other types."""
    target = Typed(value.expr, wanted)
    if isinstance(wanted, pl.Decimal) and (value.is_integer or value.is_float or value.is_decimal):
        return _each(value, wanted, lambda number: _rounded(number, wanted))
    if value.is_decimal and target.is_integer:
        return _each(value, wanted, lambda number: _whole(number, wanted))
    simple = isinstance(wanted, (pl.Float64, pl.String))
    return value.expr.cast(wanted) if value.is_decimal and simple else None


def text_cast(value: Typed, wanted: pl.DataType) -> pl.Expr | None:
    """Returns a time as a text, or a text as a number; None for other types."""
    if isinstance(wanted, pl.String) and value.is_time:
        text = value.expr.dt.convert_time_zone("UTC").dt.to_string("%Y-%m-%d %H:%M:%S%.6f")
        return pl.concat_str(
            text.str.slice(0, 19), text.str.slice(19).str.strip_chars_end("0.").fill_null("")
        )
    if isinstance(wanted, pl.String) and isinstance(value.dtype, pl.Date):
        return value.expr.dt.to_string("%Y-%m-%d")
    target = Typed(value.expr, wanted)
    if not isinstance(value.dtype, pl.String) or not (target.is_number or target.is_decimal):
        return None
    return _each(value, wanted, lambda text: _of_text(text, wanted))


def _each(value: Typed, wanted: pl.DataType, of_value: Callable[[Any], float | Decimal]) -> pl.Expr:
    """Returns the values of a function of Python; null stays null."""
    return value.expr.map_elements(of_value, return_dtype=wanted, skip_nulls=True)


def _rounded(number: float | Decimal, wanted: pl.Decimal) -> Decimal:
    """Returns a number with the digits of a DECIMAL. Halves are rounded away from zero."""
    if isinstance(number, float) and not math.isfinite(number):
        raise _lost(number, wanted)
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    rounded = exact.quantize(Decimal(1).scaleb(-wanted.scale), ROUND_HALF_UP, _EXACT)
    if rounded and rounded.adjusted() >= wanted.precision - wanted.scale:
        raise _lost(number, wanted)
    return rounded


def _whole(number: Decimal, wanted: pl.DataType) -> int:
    """Returns a DECIMAL without its fraction."""
    whole, bits = int(number.quantize(Decimal(1), ROUND_DOWN, _EXACT)), BITS[type(wanted)]
    if not -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1):
        raise _lost(number, wanted)
    return whole


def _of_text(text: str, wanted: pl.DataType) -> float | Decimal:
    """Returns the number that a text is."""
    written = text.strip(" ")
    of_whole = type(wanted) in BITS
    if not (_WHOLE if of_whole else _NUMBER).fullmatch(written):
        raise _lost(text, wanted)
    if of_whole:
        return _whole(Decimal(written), wanted)
    return _rounded(Decimal(written), wanted) if isinstance(wanted, pl.Decimal) else float(written)


def _lost(value: object, wanted: pl.DataType) -> InputError:
    rule = f"the type {wanted} does not have it"
    return InputError(f"CAST of {value!r}", rule, "use another type, or select other rows before")
