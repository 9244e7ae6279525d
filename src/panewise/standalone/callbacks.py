"""The functions of the caller that an operator calls in its life cycle."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from panewise.errors import InputError


def _nothing(*arguments: object) -> None:
    """Does nothing: the default of a callback."""


@dataclass(frozen=True)
class Callbacks:
    """Functions that an operator calls in its life cycle, each after all of its inputs are done.

    Args:
        setup: called with no argument, when the operator has been made.
        drained: called with no argument, when all outstanding work is complete.
        checkpoint: called with the id of a checkpoint, when it has been saved.
        restored: called with the id of the checkpoint that the operator returned to. The id is None after a
            reset to the initial state, and "commit" if the operator continues the last commit of its store.
        teardown: called with no argument, when the operator is closed, before its store is.
        write: called before each write with its kind, for tests and logs: "output", "state" or "position".

    Raises:
        InputError: if one of them is no function, or one that has to be awaited.

    Source: S5 "StateHandler"; semantics 33.5.
    """

    setup: Callable[[], object] = _nothing
    drained: Callable[[], object] = _nothing
    checkpoint: Callable[[str], object] = _nothing
    restored: Callable[[str | None], object] = _nothing
    teardown: Callable[[], object] = _nothing
    write: Callable[[str], object] = _nothing

    def __post_init__(self) -> None:
        for name, function in vars(self).items():
            if not callable(function) or iscoroutinefunction(function):
                rule = "a callback is a function, and nothing awaits it"
                raise InputError(f"{name}={function!r}", rule, "give a plain function, or leave it out")


def callbacks_of(callbacks: Any) -> Callbacks:
    """Returns the callbacks of an operator, none of which does anything without an argument."""
    if callbacks is not None and not isinstance(callbacks, Callbacks):
        rule = "functions of the life cycle are in Callbacks"
        raise InputError(f"callbacks={callbacks!r}", rule, "give Callbacks(setup=..., teardown=...)")
    return callbacks or Callbacks()
