"""The functions that expressions have in process: computed by Polars, with their meaning on Spark.

A function is here only if its results are those of Spark, for the types that it accepts. All others are
refused by name (semantics 46.52).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final

import polars as pl

from panewise.errors import InputError
from panewise.standalone.streaming_sql.sql_choices import case, coalesce, extreme, if_else, nvl2
from panewise.standalone.streaming_sql.sql_numbers import NUMBER_FUNCTIONS
from panewise.standalone.streaming_sql.sql_time_functions import TIME_FUNCTIONS
from panewise.standalone.streaming_sql.sql_typed import INTEGERS, Function, Typed, check_types_of, of_one


def _comparison(do: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Function:
    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        left, right = arguments
        check_types_of(
            name, arguments, accepted=comparable(left, right), rule="values of one kind are compared"
        )
        return do(left.expr, right.expr)

    return function


def comparable(left: Typed, right: Typed) -> bool:
    """Returns whether Spark and Polars compare these values alike."""
    if left.is_null or right.is_null:
        return True
    simple = not isinstance(left.dtype, (pl.List, pl.Struct, pl.Object))
    decimals = isinstance(left.dtype, pl.Decimal) and (
        right.is_integer or isinstance(right.dtype, pl.Decimal)
    )
    decimals = decimals or (isinstance(right.dtype, pl.Decimal) and left.is_integer)
    return simple and ((left.is_number and right.is_number) or left.dtype == right.dtype or decimals)


def _in(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    first, *others = arguments
    equal = _comparison(pl.Expr.eq)
    return reduce(pl.Expr.or_, [equal("=", [first, other]) for other in others])


def _boolean(do: Callable[..., pl.Expr]) -> Function:
    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        accepted = all(isinstance(argument.dtype, (pl.Boolean, pl.Null)) for argument in arguments)
        check_types_of(name, arguments, accepted=accepted, rule=f"{name} connects conditions")
        return do(*(argument.expr.cast(pl.Boolean) for argument in arguments))

    return function


def _nullif(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    equal = _comparison(pl.Expr.eq)(name, arguments)
    return pl.when(equal.fill_null(False)).then(None).otherwise(arguments[0].expr)


def _of_texts(do: Callable[..., pl.Expr]) -> Function:
    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        check_types_of(
            name, arguments, accepted=all(argument.is_text for argument in arguments), rule="it takes texts"
        )
        return do(*(argument.expr.cast(pl.String) for argument in arguments))

    return function


def _concat(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    accepted = all(argument.is_text or argument.is_integer for argument in arguments)
    check_types_of(name, arguments, accepted=accepted, rule="texts and whole numbers are concatenated")
    return pl.concat_str([argument.expr.cast(pl.String) for argument in arguments])


def like_pattern(pattern: str) -> str:
    r"""Returns the regular expression of a pattern of LIKE.

    >>> like_pattern("a%_."), like_pattern(r"a\%_")
    ('(?s)^a.*.\\.$', '(?s)^a%.$')
    """
    wild = {"%": ".*", "_": "."}
    parts = re.findall(r"\\?.", pattern, re.DOTALL)  # a character, or an escaped one
    texts = (wild.get(part) or re.escape(part.removeprefix("\\") or part) for part in parts)
    return f"(?s)^{''.join(texts)}$"


def _substring(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns a part of a text: from a place, which counts from 1, or from the end if it is negative."""
    text, start, *rest = arguments
    accepted = text.is_text and start.is_integer and all(length.is_integer for length in rest)
    check_types_of(name, arguments, accepted=accepted, rule="it takes a text, a place and a length")
    value, place = text.expr.cast(pl.String), start.expr.cast(pl.Int64)
    size = value.str.len_chars().cast(pl.Int64)
    first = pl.when(place > 0).then(place - 1).when(place < 0).then(size + place).otherwise(place)
    end = size if not rest else pl.min_horizontal(first + rest[0].expr.cast(pl.Int64), size)
    offset = pl.max_horizontal(first, pl.lit(0, pl.Int64))
    part = value.str.slice(offset, pl.max_horizontal(end - offset, pl.lit(0, pl.Int64)))
    known = pl.all_horizontal(argument.expr.is_not_null() for argument in arguments)
    return pl.when(known).then(part)


def _replace(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    text, *others = arguments
    accepted = len(arguments) == 3 and all(argument.is_text for argument in arguments)
    check_types_of(name, arguments, accepted=accepted, rule="it takes three texts")
    search, new = (other.expr.cast(pl.String) for other in others)
    return (
        pl.when(search == "").then(text.expr).otherwise(text.expr.str.replace_all(search, new, literal=True))
    )


def _sort_array(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns a list in ascending order with nulls first, or in descending order with nulls last."""
    values, *ascending = arguments
    accepted = isinstance(values.dtype, pl.List) and len(ascending) < 2
    check_types_of(name, arguments, accepted=accepted, rule="it takes a list, and true or false")
    up = values.expr.list.sort(nulls_last=False)
    if not ascending:
        return up
    return (
        pl.when(ascending[0].expr).then(up).otherwise(values.expr.list.sort(descending=True, nulls_last=True))
    )


def _slice(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns the elements of a list from a place on, which counts from 1."""
    values, start, length = arguments
    accepted = isinstance(values.dtype, pl.List) and start.is_integer and length.is_integer
    check_types_of(name, arguments, accepted=accepted, rule="it takes a list, a place and a length")

    def checked(places: pl.Series) -> pl.Series:
        if (places < 1).any():
            rule = "in process the place of an element counts from 1"
            raise InputError("slice from a place below 1", rule, "run it on Spark")
        return places.cast(pl.Int64) - 1

    place = start.expr.map_batches(checked, return_dtype=pl.Int64)
    return values.expr.list.slice(place, length.expr.cast(pl.Int64))


_SIZE: Final = of_one(
    "it takes a list",
    lambda values: isinstance(values.dtype, pl.List),
    lambda values: values.expr.list.len().cast(pl.Int32),
)


def _array_join(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns the texts of a list, without nulls, between delimiters."""
    values, delimiter = arguments
    texts = isinstance(values.dtype, pl.List) and isinstance(values.dtype.inner, (pl.String, *INTEGERS))
    rule = "it takes a list of texts or whole numbers, and a text"
    check_types_of(name, arguments, accepted=texts and delimiter.is_text, rule=rule)
    return values.expr.cast(pl.List(pl.String)).list.join(delimiter.expr.cast(pl.String), ignore_nulls=True)


FUNCTIONS: Final[Mapping[str, Function]] = {
    "=": _comparison(pl.Expr.eq),
    "<>": _comparison(pl.Expr.ne),
    "<": _comparison(pl.Expr.lt),
    "<=": _comparison(pl.Expr.le),
    ">": _comparison(pl.Expr.gt),
    ">=": _comparison(pl.Expr.ge),
    "<=>": _comparison(pl.Expr.eq_missing),
    "in": _in,
    "and": _boolean(pl.Expr.and_),
    "or": _boolean(pl.Expr.or_),
    "not": _boolean(pl.Expr.not_),
    "isnull": lambda _, arguments: arguments[0].expr.is_null(),
    "isnotnull": lambda _, arguments: arguments[0].expr.is_not_null(),
    "case": case,
    "if": if_else,
    "coalesce": coalesce,
    "nvl": coalesce,
    "nvl2": nvl2,
    "ifnull": coalesce,
    "nullif": _nullif,
    "||": _concat,
    "concat": _concat,
    "upper": _of_texts(lambda text: text.str.to_uppercase()),
    "ucase": _of_texts(lambda text: text.str.to_uppercase()),
    "lower": _of_texts(lambda text: text.str.to_lowercase()),
    "lcase": _of_texts(lambda text: text.str.to_lowercase()),
    "length": _of_texts(lambda text: text.str.len_chars().cast(pl.Int32)),
    "char_length": _of_texts(lambda text: text.str.len_chars().cast(pl.Int32)),
    "trim": _of_texts(lambda text: text.str.strip_chars(" ")),
    "ltrim": _of_texts(lambda text: text.str.strip_chars_start(" ")),
    "rtrim": _of_texts(lambda text: text.str.strip_chars_end(" ")),
    "startswith": _of_texts(lambda text, start: text.str.starts_with(start)),
    "endswith": _of_texts(lambda text, end: text.str.ends_with(end)),
    "contains": _of_texts(lambda text, part: text.str.contains(part, literal=True)),
    "substring": _substring,
    "substr": _substring,
    "replace": _replace,
    "reverse": _of_texts(lambda text: text.str.reverse()),
    "greatest": extreme(pl.max_horizontal),
    "least": extreme(pl.min_horizontal),
    "sort_array": _sort_array,
    "slice": _slice,
    "size": _SIZE,
    "array_size": _SIZE,
    "array_join": _array_join,
    **NUMBER_FUNCTIONS,
    **TIME_FUNCTIONS,
}
