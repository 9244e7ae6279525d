"""A processor whose workers time what a journal costs in a step.

Workers unpickle it by the name of this module. So they import it, and importing it makes the activity of
steps write its seconds to the file that the environment names.
"""

import os
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

from panewise.spark.activity import StepActivity
from panewise.spark.workers.processor import Processor

FILE: Final = "PANEWISE_BENCH_SECONDS"  # the environment variable with the path
_TIMED: Final = ("at_start", "add_rows", "add_panes", "add_state", "text")


class TimedProcessor(Processor):
    """A processor of the package. Where it is unpickled, steps are timed."""


class StepSeconds:
    """The seconds of the present step of this process, a line in the file for each step."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that counts its seconds. The last one of a step writes them."""

        @wraps(work)
        def count(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - began
                if name == _TIMED[-1]:
                    self._write()

        return count

    def _write(self) -> None:
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
            file.write(f"{self.seconds}\n")
        self.seconds = 0.0


def time_steps() -> None:
    """Times the activity of the steps of this process."""
    seconds = StepSeconds()
    for name in _TIMED:
        work: Any = vars(StepActivity)[name]
        if isinstance(work, classmethod):
            setattr(StepActivity, name, classmethod(seconds.timed(name, work.__func__)))
        else:
            setattr(StepActivity, name, seconds.timed(name, work))


if FILE in os.environ:
    time_steps()
