"""DataFrames of what an operator emits on a stream. They refuse `withWatermark` (semantics 42.12).

Spark would accept it, and run a query that never emits anything. The watermark of the query is the least of
all. That of the emitted rows waits for these rows, and they wait for the watermark of the query. Spark has a
check of a second watermark, but it waits for a watermark, too. So the class of these DataFrames refuses the
call, and so does that of the DataFrames that their methods return.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from panewise.errors import SetupError

_REMEDY = "_panewise_remedy"  # the attribute of such a DataFrame that has the remedy of the refusal
_GIVE_RESULT: Final = (
    "give the result itself to the operator behind, as in windowed(result), add a stage with "
    "result.then(...), or write the rows and read them in a second query"
)


def emitted_dataframe(rows: DataFrame, column: str | None) -> DataFrame:
    """Returns what an operator emits on a stream, as a DataFrame that refuses `withWatermark`.

    `column` is that which has the watermark of the query.
    """
    has_one = f"leave it out, as the column {column!r} has the watermark of the query"
    return _marked(rows, _GIVE_RESULT if column is None else has_one)


def _marked(df: DataFrame, remedy: str) -> DataFrame:
    if _REMEDY not in df.__dict__:  # Spark Connect takes an unknown attribute for a column
        kind: Any = type(df)
        df.__class__ = _kind(kind)
    df.__dict__[_REMEDY] = remedy
    return df


@cache
def _kind(base: Any) -> Any:
    """Returns the class that takes the place of one of PySpark's, classic or Connect."""

    class Emitted(base):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            attribute = super().__getattribute__(name)
            return attribute if name.startswith("_") or not callable(attribute) else _marking(attribute, self)

        def withWatermark(self, *args: Any, **kwargs: Any) -> DataFrame:  # noqa: N802 - PySpark's name
            fault = ", ".join(map(repr, (*args, *kwargs.values())))
            rule = "the watermark waits for these rows, and they wait for the watermark: nothing is emitted"
            raise SetupError(
                f"withWatermark({fault}) of emitted rows", rule, self.__dict__.get(_REMEDY, _GIVE_RESULT)
            )

    for name in ("__name__", "__qualname__", "__module__"):
        setattr(Emitted, name, getattr(base, name))
    return Emitted


def watermarked_anyway(df: DataFrame, column: str) -> DataFrame:
    """Returns `df.withWatermark(column, "0 seconds")`, also of emitted rows. It never waits."""
    kind: Any = type(df)
    plain = kind.__mro__[1] if _REMEDY in df.__dict__ else kind
    watermarked: DataFrame = plain.withWatermark(df, column, "0 seconds")
    return watermarked


@contextmanager
def _named_metrics() -> Iterator[None]:
    """Explains Spark's refusal of two operators whose metrics have one name (semantics 15.5, 42.13).

    Spark Connect refuses them only when the query starts.
    """
    try:
        yield
    except AnalysisException as error:
        if error.getCondition() != "DUPLICATED_METRICS_NAME":
            raise
        fault = "two outputs of one result, or of two operators, in one query"
        rule = "each is an operator of its own there, and metrics of different operators have different names"
        remedy = (
            "write outputs of one result with result.write(...); else call configure(spark, metrics='other') "
            "before the second operator is built"
        )
        raise SetupError(fault, rule, remedy) from None


def _marking(method: Callable[..., Any], df: Any) -> Callable[..., Any]:
    """Returns the method, so that a DataFrame that it returns refuses the call, too."""

    @wraps(method)
    def marking(*args: Any, **kwargs: Any) -> Any:
        with _named_metrics():
            result = method(*args, **kwargs)
        return _marked(result, df.__dict__[_REMEDY]) if isinstance(result, DataFrame) else result

    return marking
