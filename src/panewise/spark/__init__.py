"""Window and OVER operators over Spark DataFrames: the only part of panewise that imports pyspark.

Each name is imported when it is first used. Every Python worker of Spark imports its modules anew, and needs
few of these names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from panewise.spark import worker  # noqa: F401 - before anything that imports Polars

if TYPE_CHECKING:
    from panewise.spark.api import Result, Windowed, apply, windowed
    from panewise.spark.failures import QueryError
    from panewise.spark.overs import FrameResult, Overs, over
    from panewise.spark.policy_windows import EventResult, stream_window
    from panewise.spark.settings import configure
    from panewise.spark.sinks import ParquetSink
    from panewise.spark.writer import WindowQuery

_MODULES = {
    "api": ("Result", "Windowed", "apply", "windowed"),
    "failures": ("QueryError",),
    "overs": ("FrameResult", "Overs", "over"),
    "settings": ("configure",),
    "sinks": ("ParquetSink",),
    "policy_windows": ("EventResult", "stream_window"),
    "writer": ("WindowQuery",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "EventResult",
    "FrameResult",
    "Overs",
    "ParquetSink",
    "QueryError",
    "Result",
    "WindowQuery",
    "Windowed",
    "apply",
    "configure",
    "over",
    "stream_window",
    "windowed",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
