"""pyspark's DataFrames, taught to take columns that remember functions over windows.

withColumn, withColumns and select do what they always did, unless the DataFrame is a stream and the columns have such functions: then an
operator of frames adds these to the rows first. What follows with withColumn stays with the operator, so that the functions of several
steps are made by one, as Spark would do it.
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
from panewise.spec.expressions import text_of

_FRAMES = "_panewise_frames"
Step: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Frames:
    """How a DataFrame came out of an operator: of which rows, with which functions, and what was done with these since.

    `made` are the columns that the steps have made.
    """

    base: DataFrame
    functions: tuple[Function, ...]
    steps: tuple[Step, ...]
    made: frozenset[str]
    result: FrameResult | None = None


def frames_of(df: DataFrame) -> FrameResult:
    """The operator behind a stream with functions over windows: its late and invalid rows, counts, and `write`.

    Args:
        df: what withColumn, withColumns or select gave, and no other step after these.

    Raises:
        SpecError: if no operator is behind it.
    """
    known = _known(df)
    if known is None or known.result is None:
        rule = "an operator is behind what withColumn, withColumns and select give of a stream and a function over a window"
        raise SpecError(f"frames_of({df})", rule, "give that DataFrame itself, before other steps")
    return known.result


@cache
def teach() -> None:
    """Teaches pyspark's DataFrames, once: before any of their methods is looked up."""
    for kind in _dataframes():
        for name in ("withColumn", "withColumns", "select"):
            setattr(kind, name, _taught(name, getattr(kind, name)))


def _dataframes() -> list[Any]:
    """The classes there are; that of Spark Connect needs more packages than pyspark alone."""
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
            made = _names_of(name, args, kwargs) if name != "select" else frozenset(self.columns)  # of which none may be as it came
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
    """The columns that a call makes."""
    if name == "withColumns":
        return frozenset(args[0])
    return frozenset([args[0] if args else kwargs["colName"]])


def _told(df: DataFrame, name: str, args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """What a method is given there."""
    if name == "select":
        args = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        args = [column for given in args for column in (df.columns if text_of(given) == "*" else [_shown(given)])]
    return on_stream(tuple(args)), on_stream(dict(kwargs))


def _shown(column: Any) -> Any:
    """A column under the name that Spark would give it, not that of what stands for it."""
    known = memory_of(column)
    return column if known is None or known.named or not known.functions else column.alias(text_of(column))


def _operated(df: DataFrame, functions: tuple[Function, ...], step: Step, made: frozenset[str]) -> DataFrame:
    """The rows with the functions, and then what a step makes of them: by the operator that is there already, if one is."""
    known = _known(df)
    if known is None:
        return _made(Frames(df, functions, (step,), made))
    for one in functions:
        one.call.over(one.window, lambda column: _as_it_came(text_of(column), known.made))
    together = tuple(dict.fromkeys((*known.functions, *functions)))
    return _made(Frames(known.base, together, (*known.steps, step), known.made | made))


def _as_it_came(text: str, made: frozenset[str]) -> str:
    """Refuses a column, or an expression, that has one that was made since; Spark does not tell names by their case."""
    for name in made:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            rule = "the functions over windows of several steps are made by one operator, of the rows that enter it"
            raise SpecError(f"{text!r} has {name!r}, a new column", rule, "make it before the first of them, or in another query")
    return text


def _made(frames: Frames) -> DataFrame:
    base, inputs = frames.base, _Inputs(frames)
    names = [_free(f"window_function_{n}", base) for n in range(1, len(frames.functions) + 1)]
    overs = {name: one.call.over(one.window, inputs.name_of) for name, one in zip(names, frames.functions, strict=True)}
    result = over(base.withColumns(inputs.expressions) if inputs.expressions else base).withColumns(overs)
    tokens = {one.name: SF.col(name) for name, one in zip(names, frames.functions, strict=True)}
    rows = result.rows.select(*map(quoted, base.columns), *(column.alias(token) for token, column in tokens.items()))
    for step in frames.steps:
        rows = step(rows)
    return _remember(rows.drop(*tokens), replace(frames, result=result))


class _Inputs:
    """The columns that an operator reads: those of the rows, and expressions."""

    def __init__(self, frames: Frames) -> None:
        self.expressions: dict[str, Column] = {}
        self._frames, self._known = frames, dict[str, str]()

    def name_of(self, column: Any) -> str:
        """The name of the column; an expression gets one."""
        text = text_of(column)
        if isinstance(column, str) or text in self._frames.base.columns:
            return text
        if functions_in((column,)):
            rule = "what a function over a window reads has no such functions in it"
            raise SpecError(f"a function over a window of {text}", rule, "write the rows, and make it in another query")
        if text not in self._known:
            self._known[text] = _free(f"window_input_{len(self._known) + 1}", self._frames.base)
            self.expressions[self._known[text]] = column
        return self._known[text]


def _free(name: str, df: DataFrame) -> str:
    """The name, or a longer one that the DataFrame has not; the same at each start, as checkpoints know it."""
    return name if name.lower() not in {column.lower() for column in df.columns} else _free(f"{name}_", df)


def _known(df: DataFrame) -> Frames | None:
    return df.__dict__.get(_FRAMES)


def _remember(df: DataFrame, frames: Frames) -> DataFrame:
    df.__dict__[_FRAMES] = frames
    return df
