"""Where events are played: one module for each runtime, with a function `play(script) -> list of outputs`.

They are imported by name when they are asked for, as each needs libraries that the others do not.
"""

from importlib import import_module
from typing import Any, Final, Protocol

from panewise.errors import InputError
from panewise.testing.events import Script

RUNTIMES: Final = ("oracle", "engine", "spark")


class Play(Protocol):
    """Plays a script: an output for each event, in the form that :func:`panewise.testing.run` documents."""

    def __call__(self, script: Script) -> list[dict[str, Any]]:
        """An output for each event."""
        ...


def runtime(name: str) -> Play:
    """The function that plays scripts in a runtime.

    Raises:
        InputError: if there is no such runtime.
    """
    if name not in RUNTIMES:
        raise InputError(f"runtime={name!r}", f"the runtimes are {list(RUNTIMES)}", "give one of these")
    play: Play = import_module(f"panewise.testing.runtimes.{name}").play
    return play
