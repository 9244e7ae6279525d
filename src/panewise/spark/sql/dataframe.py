"""Patches pyspark's DataFrames, so that they accept columns that remember functions over windows.

withColumn, withColumns and select work as before, with one exception: if the DataFrame is a stream and the
columns contain such functions, an OVER operator first adds these functions to the rows. The same holds for a
window that Spark does not have, in batch, too.

The calls of withColumn and withColumns that follow are recorded with the operator. If one of them contains
functions, a new operator over the same base computes all functions, and the recorded calls are repeated on
its rows. So one operator computes the functions of several steps, as in Spark.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, wraps
from typing import Any, TypeAlias

import pyspark.sql.functions as SF
from pyspark.sql import Column, DataFrame

from panewise.errors import SpecError
from panewise.spark.names import quoted
from panewise.spark.overs import FrameResult, over
from panewise.spark.sql.columns import Function, functions_in, memory_of, on_stream
from panewise.spec.aggregates.expressions import text_of

_FRAMES = "_panewise_frames"
Step: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Frames:
    """How a DataFrame was made by an OVER operator.

    Attributes:
        base: the input of the operator.
        functions: the functions over windows that the operator computes.
        steps: the calls that are made on the operator's rows, beginning with that with the functions.
        made: the columns that the steps add or replace.
        result: the outputs of the operator.
    """

    base: DataFrame
    functions: tuple[Function, ...]
    steps: tuple[Step, ...]
    made: frozenset[str]
    result: FrameResult | None = None


def frames_of(df: DataFrame) -> FrameResult:
    """Returns the outputs of the OVER operator behind a stream: late and invalid rows, counts, and `write`.

    Args:
        df: the result of withColumn, withColumns or select, without other steps after these.

    Raises:
        SpecError: if no OVER operator is behind it.
    """
    known = _known(df)
    if known is None or known.result is None:
        rule = (
            "only withColumn, withColumns and select of a stream, with a function over a "
            "window, create an operator"
        )
        raise SpecError(
            f"frames_of({df})", rule, ("give the DataFrame that one of these returned, before other steps")
        )
    return known.result


@cache
def teach() -> None:
    """Patches pyspark's DataFrames, once. It must run before their methods are looked up."""
    for kind in _dataframes():
        for name in ("withColumn", "withColumns", "select"):
            setattr(kind, name, _taught(name, getattr(kind, name)))


def _dataframes() -> list[Any]:
    """Returns the classes of DataFrames. That of Spark Connect needs more packages than pyspark."""
    from pyspark.sql.classic.dataframe import DataFrame as Classic  # noqa: PLC0415 - one of two

    try:
        from pyspark.sql.connect.dataframe import DataFrame as Connected  # noqa: PLC0415
    except ImportError:
        return [Classic]
    return [Classic, Connected]


def _taught(name: str, method: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @wraps(method)
    def call(self: DataFrame, *args: Any, **kwargs: Any) -> DataFrame:
        known, functions = _known(self), functions_in((*args, *kwargs.values()))
        if any(one.window.only_here for one in functions) or (functions and self.isStreaming):
            # After a select, any column may differ from the column of this name in the base.
            made = _names_of(name, args, kwargs) if name != "select" else frozenset(self.columns)
            return _operated(self, functions, _step(method, *_told(self, name, args, kwargs)), made)
        plain = method(self, *args, **kwargs)
        if known is None or name == "select":
            return plain
        steps, made = (*known.steps, _step(method, args, kwargs)), known.made | _names_of(name, args, kwargs)
        return _remember(plain, replace(known, steps=steps, made=made))

    return call


def _step(method: Callable[..., DataFrame], args: Any, kwargs: Mapping[str, Any]) -> Step:
    return lambda rows: method(rows, *args, **kwargs)


def _names_of(name: str, args: Any, kwargs: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of the columns that a call adds or replaces."""
    if name == "withColumns":
        return frozenset(args[0])
    return frozenset([args[0] if args else kwargs["colName"]])


def _told(df: DataFrame, name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Returns the arguments of a method in their form on a stream."""
    if name == "select":
        args = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        args = [
            column for given in args for column in (df.columns if text_of(given) == "*" else [_shown(given)])
        ]
    return on_stream(tuple(args)), on_stream(dict(kwargs))


def _shown(column: Any) -> Any:
    """Returns a column under the name that Spark would give it, not that of the column in its place."""
    known = memory_of(column)
    return column if known is None or known.named or not known.functions else column.alias(text_of(column))


def _operated(df: DataFrame, functions: tuple[Function, ...], step: Step, made: frozenset[str]) -> DataFrame:
    """Returns the rows with the functions, after the step.

    If the DataFrame was made by an OVER operator, one operator computes the functions of both.
    """
    known = _known(df)
    if known is None:
        return _made(Frames(df, functions, (step,), made))
    for one in functions:
        one.call.over(one.window, lambda column: _as_it_came(text_of(column), known.made))
    together = tuple(dict.fromkeys((*known.functions, *functions)))
    return _made(Frames(known.base, together, (*known.steps, step), known.made | made))


def _as_it_came(text: str, made: frozenset[str]) -> str:
    """Returns the text of a column or expression, and refuses one that reads a column in `made`.

    Names are compared without regard to case, as Spark does by default.

    Raises:
        SpecError: naming both.
    """
    for name in made:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            rule = "one operator computes the functions over windows of all steps, from the rows of its input"
            raise SpecError(
                f"{text!r} has {name!r}, a new column",
                rule,
                "compute it before the first of them, or in another query",
            )
    return text


def _made(frames: Frames) -> DataFrame:
    base, inputs = frames.base, _Inputs(frames)
    names = [_free(f"window_function_{n}", base) for n in range(1, len(frames.functions) + 1)]
    overs = {
        name: one.call.over(one.window, inputs.name_of)
        for name, one in zip(names, frames.functions, strict=True)
    }
    result = over(base.withColumns(inputs.expressions) if inputs.expressions else base).withColumns(overs)
    tokens = {one.name: SF.col(name) for name, one in zip(names, frames.functions, strict=True)}
    rows = result.rows.select(
        *map(quoted, base.columns), *(column.alias(token) for token, column in tokens.items())
    )
    for step in frames.steps:
        rows = step(rows)
    return _remember(rows.drop(*tokens), replace(frames, result=result))


class _Inputs:
    """The columns that an operator reads: columns of its base, and expressions."""

    def __init__(self, frames: Frames) -> None:
        self.expressions: dict[str, Column] = {}
        self._frames, self._known = frames, dict[str, str]()

    def name_of(self, column: Any) -> str:
        """Returns the name of a column. An expression gets a new name.

        Raises:
            SpecError: if the expression contains a function over a window.
        """
        text = text_of(column)
        if isinstance(column, str) or text in self._frames.base.columns:
            return text
        if functions_in((column,)):
            rule = "the argument of a function over a window contains no such function"
            raise SpecError(
                f"a function over a window of {text}", rule, "write the rows, and compute it in another query"
            )
        if text not in self._known:
            self._known[text] = _free(f"window_input_{len(self._known) + 1}", self._frames.base)
            self.expressions[self._known[text]] = column
        return self._known[text]


def _free(name: str, df: DataFrame) -> str:
    """Returns the name, or a longer one that the DataFrame does not have.

    It is the same at each start, because checkpoints contain it.
    """
    return name if name.lower() not in {column.lower() for column in df.columns} else _free(f"{name}_", df)


def _known(df: DataFrame) -> Frames | None:
    return df.__dict__.get(_FRAMES)


def _remember(df: DataFrame, frames: Frames) -> DataFrame:
    df.__dict__[_FRAMES] = frames
    return df
