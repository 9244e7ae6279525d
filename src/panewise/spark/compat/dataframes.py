"""Makes pyspark's DataFrames take columns that remember functions over windows, from enable() to disable().

withColumn, withColumns and select work as before, with one exception: if the DataFrame is a stream and the
columns contain such functions, an OVER operator first adds these functions to the rows. In batch it
also adds those over windows that Spark does not have.

The calls of withColumn and withColumns that follow are recorded with the operator. If one of them contains
functions, a new operator over the same base computes all functions, and the recorded calls are repeated on
its rows. So one operator computes the functions of several steps, as in Spark.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, TypeAlias

import pyspark.sql.functions as SF
from pyspark.sql import Column, DataFrame

from panewise.errors import SpecError
from panewise.spark.builders.over import over
from panewise.spark.compat.columns import Function, as_plain, functions_in, memory_of, on_stream
from panewise.spark.compat.switch import is_enabled, put, restore
from panewise.spark.inputs.emitted import emitted_dataframe
from panewise.spark.inputs.names import column_named
from panewise.spark.queries.query import WindowQuery
from panewise.spark.queries.write_arguments import WriteOptions
from panewise.spark.results.over import OverResult
from panewise.spark.sinks.base import AnySink
from panewise.spec.column_expressions import text_of

_OVER = "_panewise_over"
Step: TypeAlias = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Derivation:
    """How a DataFrame was made by an OVER operator.

    Attributes:
        steps: the calls that are made on the operator's rows, beginning with that with the functions.
    """

    base: DataFrame
    functions: tuple[Function, ...]
    steps: tuple[Step, ...]
    added: frozenset[str]
    result: OverResult | None = None


@dataclass(frozen=True, repr=False)
class ResultOfDataFrame(OverResult):
    """The outputs of the OVER operator of a DataFrame, which has its rows and what Spark adds to them."""

    def _write(
        self, sinks: Mapping[str, AnySink | None], options: WriteOptions, others: Mapping[str, AnySink | None]
    ) -> WindowQuery:
        if sinks.get("panes") is not None:
            raise _without_steps("write(rows=...)")
        return super()._write(sinks, options, others)

    def check_input(self) -> None:
        """Refuses these rows as an input: a second operator would lack the columns that Spark adds."""
        raise _without_steps("an operator")

    def _alone(self, kind: str) -> DataFrame:
        if kind == "panes":
            raise _without_steps("rows")
        return super()._alone(kind)


def _without_steps(what: str) -> SpecError:
    rule = "the operator's own rows lack the columns that Spark computes from them"
    return SpecError(f"{what} of result_of(df)", rule, "use df itself, as in df.writeStream")


def result_of(df: DataFrame) -> OverResult:
    """Returns the outputs of the OVER operator of a stream: late and invalid rows, counts, and `write`.

    The rows are the DataFrame itself, so `rows` and `write(rows=...)` are refused.

    Args:
        df: the result of withColumn, withColumns or select, without other steps after these.

    Raises:
        SpecError: if it has no OVER operator.
    """
    known = _known(df)
    if known is None or known.result is None:
        rule = (
            "only withColumn, withColumns and select of a stream, with a function over a "
            "window, create an operator"
        )
        raise SpecError(
            f"result_of({df})", rule, "give the DataFrame that one of these returned, before other steps"
        )
    return ResultOfDataFrame(
        **{field.name: getattr(known.result, field.name) for field in fields(known.result)}
    )


def enable() -> None:
    """Makes withColumn, withColumns and select of pyspark's DataFrames take functions over windows.

    It replaces these methods for the whole process, in Spark classic and Spark Connect, until :func:`disable`
    is called. A second call does nothing.
    """
    if not is_enabled():
        for kind in _dataframes():
            for name in ("withColumn", "withColumns", "select"):
                put(kind, name, _replaced(name, getattr(kind, name)))


def disable() -> None:
    """Restores the methods that :func:`enable` replaced. Without a call of enable it does nothing.

    DataFrames that were made before stay as they are.
    """
    restore()


@contextmanager
def enabled() -> Iterator[None]:
    """Calls :func:`enable` for the time of a context, and then restores the state that it found.

    Example::

        with enabled():
            df = df.withColumn("rise", F.col("v") - F.lag("v").over(w))
    """
    was_enabled = is_enabled()
    enable()
    try:
        yield
    finally:
        (enable if was_enabled else disable)()


def _dataframes() -> list[Any]:
    """Returns the classes of DataFrames. That of Spark Connect needs more packages than pyspark."""
    from pyspark.sql.classic.dataframe import DataFrame as Classic  # noqa: PLC0415 - one of two

    try:
        from pyspark.sql.connect.dataframe import DataFrame as Connected  # noqa: PLC0415
    except ImportError:
        return [Classic]
    return [Classic, Connected]


def _replaced(name: str, method: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @wraps(method)
    def call(self: DataFrame, *args: Any, **kwargs: Any) -> DataFrame:
        known, functions = _known(self), functions_in((*args, *kwargs.values()))
        if any(function.window.only_here for function in functions) or (functions and self.isStreaming):
            # After a select, any column may differ from the column of this name in the base.
            added = _names_of(name, args, kwargs) if name != "select" else frozenset(self.columns)
            step = _step(method, *_streamed(self, name, args, kwargs))
            return _operated(self, functions, step, added)
        args, kwargs = as_plain(args), as_plain(kwargs)
        plain = method(self, *args, **kwargs)
        if known is None or name == "select":
            return plain
        steps, added = (
            (*known.steps, _step(method, args, kwargs)),
            known.added | _names_of(name, args, kwargs),
        )
        return _remember(plain, replace(known, steps=steps, added=added))

    return call


def _step(method: Callable[..., DataFrame], args: Any, kwargs: Mapping[str, Any]) -> Step:
    return lambda rows: method(rows, *args, **kwargs)


def _names_of(name: str, args: Any, kwargs: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of the columns that a call adds or replaces."""
    if name == "withColumns":
        return frozenset(args[0])
    return frozenset([args[0] if args else kwargs["colName"]])


def _streamed(
    df: DataFrame, name: str, args: Any, kwargs: Mapping[str, Any]
) -> tuple[Any, Mapping[str, Any]]:
    """Returns the arguments of a method in their form on a stream."""
    if name == "select":
        args = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        args = [
            column
            for argument in args
            for column in (df.columns if text_of(argument) == "*" else [_aliased(argument)])
        ]
    return on_stream(tuple(args)), on_stream(dict(kwargs))


def _aliased(column: Any) -> Any:
    """Returns a column under the name that Spark would give it, not that of the column in its place."""
    known = memory_of(column)
    return column if known is None or known.named or not known.functions else column.alias(text_of(column))


def _operated(df: DataFrame, functions: tuple[Function, ...], step: Step, added: frozenset[str]) -> DataFrame:
    """Returns the rows with the functions, after the step.

    If the DataFrame was made by an OVER operator, one operator computes the functions of both.
    """
    known = _known(df)
    if known is None:
        return _dataframe_of(Derivation(df, functions, (step,), added))
    for function in functions:
        function.call.over(function.window, lambda column: _checked_text(text_of(column), known.added))
    together = tuple(dict.fromkeys((*known.functions, *functions)))
    return _dataframe_of(Derivation(known.base, together, (*known.steps, step), known.added | added))


def _checked_text(text: str, added: frozenset[str]) -> str:
    """Returns the text of a column or expression, and refuses one that reads a column in `added`.

    Names are compared without regard to case, as Spark does by default.
    """
    for name in added:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            rule = "one operator computes the functions over windows of all steps, from the rows of its input"
            raise SpecError(
                f"{text!r} has {name!r}, a new column",
                rule,
                "compute it before the first of them, or in another query",
            )
    return text


def _dataframe_of(derivation: Derivation) -> DataFrame:
    base, inputs = derivation.base, _Inputs(derivation)
    names = [_free(f"window_function_{n}", base) for n in range(1, len(derivation.functions) + 1)]
    new_columns = {
        name: function.call.over(function.window, inputs.name_of)
        for name, function in zip(names, derivation.functions, strict=True)
    }
    result = over(base.withColumns(as_plain(inputs.expressions)) if inputs.expressions else base).withColumns(
        new_columns
    )
    tokens = {function.name: SF.col(name) for name, function in zip(names, derivation.functions, strict=True)}
    rows = result.rows.select(
        *map(column_named, base.columns), *(column.alias(token) for token, column in tokens.items())
    )
    for step in derivation.steps:
        rows = step(rows)
    return _remember(rows.drop(*tokens), replace(derivation, result=result))


class _Inputs:
    """The columns that an operator reads: columns of its base, and expressions."""

    def __init__(self, derivation: Derivation) -> None:
        self.expressions: dict[str, Column] = {}
        self._derivation, self._known = derivation, dict[str, str]()

    def name_of(self, column: Any) -> str:
        """Returns the name of a column. An expression gets a new name."""
        text = text_of(column)
        if isinstance(column, str) or text in self._derivation.base.columns:
            return text
        if functions_in((column,)):
            rule = "the argument of a function over a window contains no such function"
            raise SpecError(
                f"a function over a window of {text}", rule, "write the rows, and compute it in another query"
            )
        if text not in self._known:
            self._known[text] = _free(f"window_input_{len(self._known) + 1}", self._derivation.base)
            self.expressions[self._known[text]] = column
        return self._known[text]


def _free(name: str, df: DataFrame) -> str:
    """Returns the name, or a longer one that the DataFrame does not have.

    It is the same at each start, because checkpoints contain it.
    """
    return name if name.lower() not in {column.lower() for column in df.columns} else _free(f"{name}_", df)


def _known(df: DataFrame) -> Derivation | None:
    return df.__dict__.get(_OVER)


def _remember(df: DataFrame, derivation: Derivation) -> DataFrame:
    """Stores how a DataFrame was made. If it is a stream, it refuses `withWatermark` (semantics 42.12)."""
    df = emitted_dataframe(df, None) if df.isStreaming else df
    df.__dict__[_OVER] = derivation
    return df
