"""The runtimes that play events: one module for each, with a function `play(script) -> list of outputs`.

A module is imported only when its runtime is used, because each needs libraries that the others do not.
"""

from importlib import import_module
from typing import Any, Final, Protocol, TypeAlias

from panewise.choices import is_choice
from panewise.errors import InputError
from panewise.extras import from_extra
from panewise.testing.events import Script

Counts: TypeAlias = dict[str, dict[str, int]]  # by input

RUNTIMES: Final = ("oracle", "engine", "standalone", "spark")


class Play(Protocol):
    """A function that plays a script; the form of its outputs is that of :func:`panewise.testing.run`."""

    def __call__(self, script: Script) -> list[dict[str, Any]]:
        """Plays the script; returns one output for each event."""


def runtime(name: str) -> Play:
    """Returns the function that plays scripts in a runtime.

    Raises:
        InputError: if there is no such runtime.
    """
    if not is_choice(name, RUNTIMES):
        raise InputError(f"runtime={name!r}", f"the runtimes are {list(RUNTIMES)}", "give one of these")
    with from_extra("spark", f"the runtime {name} needs it"):
        play: Play = import_module(f"panewise.testing.runtimes.{name}").play
    return play


def check_options(script: Script, *known: str) -> None:
    """Refuses options that a runtime does not have."""
    unknown = sorted(set(script.options) - set(known))
    if unknown:
        rule = f"the options of this runtime are {list(known)}"
        raise InputError(f"options={unknown}", rule, "leave them out")


def without_zeros(counts: Counts) -> Counts:
    """Returns the counts of the inputs that have received rows.

    >>> without_zeros({"left": {"rows_in": 1}, "right": {"rows_in": 0}})
    {'left': {'rows_in': 1}}
    """
    return {port: line for port, line in counts.items() if any(line.values())}
