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
from panewise.spark.compat.switch import is_enabled
from panewise.spark.compat.window import Reader, WindowSpec
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
        """
        bound = inspect.signature(self.function).bind(*self.args, **self.kwargs).arguments
        if len(bound.get("cols", ())) or bound.get("frequency", 1) != 1:
            rule = "on a stream a function over a window reads one column, each row once"
            raise SpecError(f"{self.name}{self.args!r}", rule, "count or repeat the values before")
        remaining = {
            name: value
            for name, value in bound.items()
            if name not in ("cols", "frequency", "deterministic") and value is not None
        }
        arguments = {
            _OWN_NAMES.get(name, name): read(value) if name in _OWN_NAMES else value
            for name, value in remaining.items()
        }
        try:
            function = getattr(panewise.functions, _OTHER_NAMES.get(self.name, self.name))
        except SpecError:
            raise
        except AttributeError:
            rule = "on a stream the functions over windows are those of panewise.functions"
            remedy = "use one of these, or panewise.UserAggregate with panewise.spark.over"
            raise SpecError(f"{self.name} over a window", rule, remedy) from None
        return cast("Over", function(**arguments).over(window.on_stream(read)))


@dataclass(frozen=True, eq=False)
class Function:
    """A function over a window, and the name of the column that takes its place."""

    call: Call
    window: WindowSpec
    name: str


@dataclass(frozen=True, eq=False)
class Memory:
    """What a column knows besides its plain form.

    Attributes:
        streamed: the column that takes its place on a stream.
        functions: the functions over windows in the column, in their order.
        call: the call of one of pyspark's functions that made the column, which `over` needs; None if it was
            made otherwise.
        named: whether it was given a name.
    """

    streamed: Column
    functions: tuple[Function, ...] = ()
    call: Call | None = None
    named: bool = False


class Remembering:
    """The base class of columns that have a memory."""

    plain: Column
    memory: Memory

    def __repr__(self) -> str:
        """Returns the text of the column that pyspark made."""
        return repr(self.plain)


def memory_of(value: Any) -> Memory | None:
    """Returns the memory of a value, or None if it has none."""
    return value.memory if isinstance(value, Remembering) else None


def remembering(column: Column, call: Call) -> Column:
    """Returns a column that remembers the call that made it, so that `over` can use the call."""
    plain = as_plain(column)
    return _column(plain, replace(memory_of(column) or Memory(plain), call=call))


def lifted(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Returns the result of a function of columns, with both of its forms."""
    functions = functions_in((*args, *kwargs.values()))
    plain = function(*as_plain(args), **as_plain(dict(kwargs)))
    if not functions or not isinstance(plain, Column):
        return plain
    return _column(plain, Memory(function(*on_stream(args), **on_stream(dict(kwargs))), functions))


def functions_in(value: Any) -> tuple[Function, ...]:
    """Returns the functions over windows in columns, in their order, each once."""
    if isinstance(value, Mapping):
        return functions_in(tuple(value.values()))
    if isinstance(value, (list, tuple)):
        return tuple(dict.fromkeys(function for item in value for function in functions_in(item)))
    known = memory_of(value)
    return () if known is None else known.functions


def on_stream(value: Any) -> Any:
    """Returns a value in which the columns have their form on a stream."""
    return _mapped(value, lambda column: column.memory.streamed)


def as_plain(value: Any) -> Any:
    """Returns a value in which the columns are those that pyspark made."""
    return _mapped(value, lambda column: column.plain)


def _mapped(value: Any, form: Callable[[Remembering], Column]) -> Any:
    if isinstance(value, dict):
        return {name: _mapped(item, form) for name, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_mapped(item, form) for item in value)
    return form(value) if isinstance(value, Remembering) else value


def _column(plain: Column, memory: Memory) -> Column:
    of_pyspark: Any = type(plain)
    kind = _kind(of_pyspark, guarded=bool(memory.functions))
    column = object.__new__(kind)
    column.__dict__.update({**plain.__dict__, "plain": plain, "memory": memory})
    return cast("Column", column)


@cache
def _kind(plain: type[Column], *, guarded: bool) -> type[Any]:
    """Returns the class of columns with a memory for a class of pyspark. Spark Connect has its own class.

    `guarded` columns contain functions over windows.
    """
    methods = {
        name: _lifted_method(getattr(plain, name))
        for name in vars(Column)
        if _is_operation(name, getattr(plain, name, None))
    }
    own = {"over": _over, "__hash__": plain.__hash__, **(_GUARDS if guarded else {})}
    return type(plain.__name__, (Remembering, plain), {**methods, **own})


def _guard(name: str) -> property:
    """Returns an attribute of pyspark's columns that can be read only while DataFrames are enabled.

    The functions and methods of this module read it from plain columns. So what reads it here is a DataFrame,
    or a function of pyspark that is not imported from panewise.
    """

    def read(self: Remembering) -> Any:
        if not is_enabled():
            rule = "PySpark takes columns with functions over such windows only after enable()"
            raise SpecError(repr(self), rule, "call panewise.spark.compat.enable() first")
        return self.__dict__[name]

    return property(read)


# What Spark classic and Spark Connect read of a column.
_GUARDS = {name: _guard(name) for name in ("_jc", "_expr")}


def _is_operation(name: str, method: Any) -> bool:
    inner = name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
    of_object = name.startswith("__") and getattr(object, name, None) is method
    return callable(method) and name not in _NOT_LIFTED and name != "__hash__" and not inner and not of_object


def _lifted_method(method: Callable[..., Any]) -> Callable[..., Any]:
    is_name = method.__name__ in ("alias", "name")

    @wraps(method)
    def call(self: Column, *args: Any, **kwargs: Any) -> Any:
        result = lifted(method, (self, *args), kwargs)
        known = memory_of(result)
        if known is None:
            return _column(result, Memory(result)) if isinstance(result, Column) else result
        return _column(as_plain(result), Memory(known.streamed, known.functions, named=is_name))

    return call


def _over(self: Any, window: Any) -> Column:
    """Returns the function over a window. Over a window of pyspark itself it is a plain column."""
    plain: Column = self.plain
    if not isinstance(window, WindowSpec):
        return plain.over(window)
    if window.only_here:
        native = pyspark.sql.functions.raise_error(_ONLY_HERE)
    else:
        of_plain = replace(window, keys=as_plain(window.keys), order=as_plain(window.order))
        native = plain.over(of_plain.native())
    if self.memory.call is None:
        return native
    name = f"panewise over {next(_NUMBERS)}"
    # A column alone would give its name, which differs in each process, to a field of `struct` and the like.
    # A function has no name, so Spark names the field as it does in batch.
    streamed = pyspark.sql.functions.coalesce(pyspark.sql.functions.col(f"`{name}`"))
    return _column(native, Memory(streamed, (Function(self.memory.call, window, name),)))
