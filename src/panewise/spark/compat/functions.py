"""pyspark.sql.functions, whose columns remember the functions over windows in them.

Names and arguments are those of pyspark.
"""

from functools import cache, wraps
from typing import Any

import pyspark.sql.functions
from pyspark.sql import Column

from panewise.spark.compat.columns import Call, lifted, remembering

__all__ = list(pyspark.sql.functions.__all__)


def __getattr__(name: str) -> Any:
    return _wrapped(name)


@cache
def _wrapped(name: str) -> Any:
    function: Any = getattr(pyspark.sql.functions, name)
    if isinstance(function, type) or not callable(function):
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = lifted(function, args, kwargs)
        return (
            remembering(result, Call(function, name, args, kwargs)) if isinstance(result, Column) else result
        )

    return call


def __dir__() -> list[str]:
    return list(__all__)
