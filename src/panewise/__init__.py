"""Window operators for streams: on PySpark, and in this process.

A :class:`WindowOperator` specifies which windows rows belong to, when panes are emitted, and what panes
contain. ``panewise.spark`` runs it over a DataFrame, ``panewise.standalone`` in this process, and
``panewise.testing`` over a list of events.
"""

from typing import TYPE_CHECKING, NoReturn

from panewise import errors, spec
from panewise.chrono import Duration
from panewise.errors import *  # noqa: F403 - all errors and warnings
from panewise.replaced_names import no_attribute
from panewise.spec import *  # noqa: F403 - the public names of specifications
from panewise.spec.timers import timer_interval
from panewise.spec.window_spec import Window

__version__ = "0.2.0"

__all__ = ["Duration", "Window", "timer_interval"]
__all__ += errors.__all__
__all__ += spec.__all__


if not TYPE_CHECKING:  # with it type checkers would accept every name

    def __getattr__(name: str) -> NoReturn:
        no_attribute(__name__, name)
