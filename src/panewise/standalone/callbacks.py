"""The functions of the caller that an operator calls in its life cycle."""

from collections.abc import Callable
from dataclasses import dataclass


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

    Source: S5 "StateHandler"; semantics 33.5.
    """

    setup: Callable[[], object] = _nothing
    drained: Callable[[], object] = _nothing
    checkpoint: Callable[[str], object] = _nothing
    restored: Callable[[str | None], object] = _nothing
    teardown: Callable[[], object] = _nothing
    write: Callable[[str], object] = _nothing
