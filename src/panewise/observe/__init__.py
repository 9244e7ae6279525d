"""What runs of queries report, in the forms in which they are watched.

These are log lines, Prometheus metrics, a journal with a page that shows it, and pictures of recorded panes.
Nothing here imports Spark. :func:`panewise.spark.observe` reads Spark's progress reports.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from panewise.observe.pictures import Picture, picture

__all__ = ["Picture", "picture"]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used: workers of Spark import other modules of this package."""
    if name not in __all__:
        raise AttributeError(f"module 'panewise.observe' has no attribute {name!r}")
    return getattr(import_module("panewise.observe.pictures"), name)
