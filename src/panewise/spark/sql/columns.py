"""Columns with two forms: the column that pyspark makes, and the one that takes its place on a stream.

On a stream an OVER operator adds each function over a window to the rows, as a column of its own. In the rest
of the expression, which Spark evaluates, that column takes the place of the function. Every function and
method that is called with such columns returns one.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, wraps
from itertools import count
from typing import Any, cast

import pyspark.sql.functions
from pyspark.sql import Column

import panewise.functions
from panewise.errors import SpecError
from panewise.spark.sql.window import Reader, WindowSpec
from panewise.spec import Over

_OWN_NAMES = {"col": "column", "ord": "by"}  # arguments that pyspark names differently
# Functions that pyspark names differently.
_OTHER_NAMES = {"countDistinct": "count_distinct", "approxCountDistinct": "approx_count_distinct"}
_NOT_LIFTED = frozenset(
    {
        "__init__",
        "__new__",
        "__getattr__",
        "__repr__",
        "__bool__",
        "__nonzero__",
        "__iter__",
        "__contains__",
        "over",
    }
)
_NUMBERS = count(1)  # make the names of columns unique
_ONLY_HERE = (
    "only panewise reads bounds of a range that are texts: use such a column in withColumn, "
    "withColumns or select"
)


@dataclass(frozen=True, eq=False)
class Call:
    """A call of one of pyspark's functions."""

    function: Callable[..., Column]
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def over(self, window: WindowSpec, read: Reader) -> Over:
        """Returns panewise's function over a window in the place of the call.

        `read` returns the name of the input column for an argument that is a column.

        Raises:
            SpecError: if there is no such function on a stream.
        """
        given = inspect.signature(self.function).bind(*self.args, **self.kwargs).arguments
        if len(given.get("cols", ())) or given.get("frequency", 1) != 1:
            rule = "on a stream a function over a window reads one column, each row once"
            raise SpecError(f"{self.name}{self.args!r}", rule, "count or repeat the values before")
        kept = {
            name: value
            for name, value in given.items()
            if name not in ("cols", "frequency", "deterministic") and value is not None
        }
        made = {
            _OWN_NAMES.get(name, name): read(value) if name in _OWN_NAMES else value
            for name, value in kept.items()
        }
        try:
            function = getattr(panewise.functions, _OTHER_NAMES.get(self.name, self.name))
        except SpecError:
            raise
        except AttributeError:
            rule = "on a stream the functions over windows are those of panewise.functions"
            remedy = "use one of these, or panewise.UserAggregate with panewise.spark.over"
            raise SpecError(f"{self.name} over a window", rule, remedy) from None
        return cast("Over", function(**made).over(window.on_stream(read)))


@dataclass(frozen=True, eq=False)
class Function:
    """A function over a window, and the name of the column that takes its place."""

    call: Call
    window: WindowSpec
    name: str


@dataclass(frozen=True, eq=False)
class Memory:
    """What a column remembers.

    Attributes:
        streamed: the column that takes its place on a stream.
        functions: the functions over windows in it.
        call: the call that made it, if it was made by one.
        named: whether it was given a name.
    """

    streamed: Column
    functions: tuple[Function, ...] = ()
    call: Call | None = None
    named: bool = False


class Remembering:
    """The base class of columns that have a memory."""

    memory: Memory


def memory_of(value: Any) -> Memory | None:
    """Returns the memory of a value, or None if it has none."""
    return value.memory if isinstance(value, Remembering) else None


def remembering(made: Column, call: Call) -> Column:
    """Returns a column that remembers the call that made it, so that `over` can use the call."""
    known = memory_of(made) or Memory(made)
    return _column(made, replace(known, call=call))


def lifted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Returns the result of a function of columns, with both of its forms."""
    functions = functions_in((*args, *kwargs.values()))
    made = function(*args, **kwargs)
    if not functions or not isinstance(made, Column):
        return made
    return _column(made, Memory(function(*on_stream(args), **on_stream(dict(kwargs))), functions))


def functions_in(value: Any) -> tuple[Function, ...]:
    """Returns the functions over windows in columns, in their order, each once."""
    if isinstance(value, Mapping):
        return functions_in(tuple(value.values()))
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(one for item in value for one in functions_in(item)))
    known = memory_of(value)
    return () if known is None else known.functions


def on_stream(value: Any) -> Any:
    """Returns a value in which the columns have their form on a stream."""
    if isinstance(value, dict):
        return {name: on_stream(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(on_stream(item) for item in value)
    known = memory_of(value)
    return known.streamed if known is not None else value


def _column(plain: Column, memory: Memory) -> Column:
    kind = _kind(_plain(type(plain)))
    made = object.__new__(kind)
    made.__dict__.update(plain.__dict__)
    made.__dict__["memory"] = memory
    return cast("Column", made)


def _plain(kind: type[Any]) -> Any:
    """Returns pyspark's own class for a class of columns."""
    return next(one for one in kind.__mro__ if not issubclass(one, Remembering))


@cache
def _kind(plain: type[Column]) -> type[Any]:
    """Returns the class of columns with a memory for a class of pyspark. Spark Connect has its own class."""
    methods = {
        name: _lifted_method(getattr(plain, name))
        for name in vars(Column)
        if _is_operation(name, getattr(plain, name, None))
    }
    return type(plain.__name__, (Remembering, plain), {**methods, "over": _over, "__hash__": plain.__hash__})


def _is_operation(name: str, method: Any) -> bool:
    inner = name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
    of_object = name.startswith("__") and getattr(object, name, None) is method
    return callable(method) and name not in _NOT_LIFTED and name != "__hash__" and not inner and not of_object


def _lifted_method(method: Callable[..., Any]) -> Callable[..., Any]:
    is_name = method.__name__ in ("alias", "name")

    @wraps(method)
    def call(self: Column, *args: Any, **kwargs: Any) -> Any:
        made = lifted(method, (self, *args), kwargs)
        known = memory_of(made)
        if known is None:
            return _column(made, Memory(made)) if isinstance(made, Column) else made
        return _column(made, Memory(known.streamed, known.functions, named=is_name))

    return call


def _over(self: Any, window: Any) -> Column:
    """Returns the function over a window. Over a window of pyspark itself it is a plain column."""
    plain = _plain(type(self))
    if not isinstance(window, WindowSpec):
        return cast("Column", plain.over(self, window))
    native = (
        pyspark.sql.functions.raise_error(_ONLY_HERE)
        if window.only_here
        else plain.over(self, window.native())
    )
    if self.memory.call is None:
        return cast("Column", native)
    name = f"panewise over {next(_NUMBERS)}"
    return _column(
        native, Memory(pyspark.sql.functions.col(f"`{name}`"), (Function(self.memory.call, window, name),))
    )
