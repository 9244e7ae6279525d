"""Columns that are two things: what pyspark makes of them, and what stands for them on a stream.

On a stream a function over a window is a column of its own, which an operator adds to the rows. The rest of the expression is
pyspark's, with the name of that column in the place of the function. Every function and method that is given such columns makes one.
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

_OWN_NAMES = {"col": "column", "ord": "by"}  # of arguments, where they are not pyspark's
_OTHER_NAMES = {"countDistinct": "count_distinct", "approxCountDistinct": "approx_count_distinct"}  # of functions
_NOT_LIFTED = frozenset({"__init__", "__new__", "__getattr__", "__repr__", "__bool__", "__nonzero__", "__iter__", "__contains__", "over"})
_NUMBERS = count(1)  # so that names are nobody else's
_ONLY_HERE = "a range whose bounds are texts is panewise's: give such a column to withColumn, withColumns or select"


@dataclass(frozen=True, eq=False)
class Call:
    """A call of one of pyspark's functions."""

    function: Callable[..., Column]
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def over(self, window: WindowSpec, read: Reader) -> Over:
        """What it is on a stream; `read` gives the input column for a column that it was given.

        Raises:
            SpecError: if it is nothing there.
        """
        given = inspect.signature(self.function).bind(*self.args, **self.kwargs).arguments
        if len(given.get("cols", ())) or given.get("frequency", 1) != 1:
            rule = "on a stream a function over a window reads one column, each row once"
            raise SpecError(f"{self.name}{self.args!r}", rule, "count or repeat the values before")
        kept = {name: value for name, value in given.items() if name not in ("cols", "frequency", "deterministic") and value is not None}
        made = {_OWN_NAMES.get(name, name): read(value) if name in _OWN_NAMES else value for name, value in kept.items()}
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
    """A function over a window, in the place of which there is a column of this name."""

    call: Call
    window: WindowSpec
    name: str


@dataclass(frozen=True, eq=False)
class Memory:
    """What a column remembers: what stands for it on a stream, with which functions over windows; and the call that made it, if one did.

    `named` tells that it has been given a name.
    """

    streamed: Column
    functions: tuple[Function, ...] = ()
    call: Call | None = None
    named: bool = False


class Remembering:
    """What columns have in common that remember."""

    memory: Memory


def memory_of(value: Any) -> Memory | None:
    """What a value remembers; None if it is nothing that does."""
    return value.memory if isinstance(value, Remembering) else None


def remembering(made: Column, call: Call) -> Column:
    """A column made by a call, which may be put over a window."""
    known = memory_of(made) or Memory(made)
    return _column(made, replace(known, call=call))


def lifted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a function makes of columns, as it is in batch and on a stream."""
    functions = functions_in((*args, *kwargs.values()))
    made = function(*args, **kwargs)
    if not functions or not isinstance(made, Column):
        return made
    return _column(made, Memory(function(*on_stream(args), **on_stream(dict(kwargs))), functions))


def functions_in(value: Any) -> tuple[Function, ...]:
    """The functions over windows in columns, in their order, each once."""
    if isinstance(value, Mapping):
        return functions_in(tuple(value.values()))
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(one for item in value for one in functions_in(item)))
    known = memory_of(value)
    return () if known is None else known.functions


def on_stream(value: Any) -> Any:
    """A value with the columns in it as they are on a stream."""
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
    """Of a class of columns pyspark's own."""
    return next(one for one in kind.__mro__ if not issubclass(one, Remembering))


@cache
def _kind(plain: type[Column]) -> type[Any]:
    """The class of columns that remember, of pyspark's own class, which is another one with Spark Connect."""
    methods = {name: _lifted_method(getattr(plain, name)) for name in vars(Column) if _is_operation(name, getattr(plain, name, None))}
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
    """The function over a window. Of pyspark's own windows nothing is remembered."""
    plain = _plain(type(self))
    if not isinstance(window, WindowSpec):
        return cast("Column", plain.over(self, window))
    native = pyspark.sql.functions.raise_error(_ONLY_HERE) if window.only_here else plain.over(self, window.native())
    if self.memory.call is None:
        return cast("Column", native)
    name = f"panewise over {next(_NUMBERS)}"
    return _column(native, Memory(pyspark.sql.functions.col(f"`{name}`"), (Function(self.memory.call, window, name),)))
