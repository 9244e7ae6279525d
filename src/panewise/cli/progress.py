"""Shows on a terminal how far a command is, if it takes longer than two seconds."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

if TYPE_CHECKING:
    from panewise.checkpoints.figures import ShowProgress

_STEPS: Final = 1000  # of a bar
AFTER_SECONDS = 2.0  # what is done sooner shows nothing


@contextmanager
def progress_bar(*, at_once: bool = False) -> "Iterator[ShowProgress]":
    """Yields a function that moves a bar on standard error, if that is a terminal.

    With `at_once` the bar appears before the first step ends: for steps that are known to take long.
    The bar stays on the terminal when standard error is redirected meanwhile, as for the log of Spark.
    """
    if not sys.stderr.isatty():
        yield lambda words, share: None
        return
    with ExitStack() as stack:
        terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
        yield _Bar(stack, stack.enter_context(terminal), 0.0 if at_once else AFTER_SECONDS).show


class _Bar:
    """A bar that appears after some seconds, and whose line ends with the stack."""

    def __init__(self, stack: ExitStack, terminal: TextIO, after: float) -> None:
        self._stack, self._terminal, self._from = stack, terminal, monotonic() + after
        self._bar: Any = None  # the class of click's bars is not public

    def show(self, words: str, share: float) -> None:
        """Moves the bar to a share of the whole, with words after it."""
        if self._bar is None:
            if monotonic() < self._from:
                return
            bar = click.progressbar(
                length=_STEPS,
                file=self._terminal,
                item_show_func=lambda words: words,
                update_min_steps=0,  # words are shown even if the bar does not move
            )
            self._bar = self._stack.enter_context(bar)
        self._bar.update(int(share * _STEPS) - self._bar.pos, words)
