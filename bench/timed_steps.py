"""A processor whose workers time what a journal costs in a step.

Workers unpickle it by the name of this module. With its first rows a worker makes the activity of steps write
its seconds to the file that the environment names. Spark also starts the processor on the driver, which needs
nothing of that.
"""

import os
import time
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, Final

from panewise.spark.workers.processor import Processor

FILE: Final = "PANEWISE_BENCH_SECONDS"  # the environment variable with the path
TIMED: Final = ("at_start", "add_rows", "add_panes", "add_state", "text")  # methods of StepActivity


class TimedProcessor(Processor):
    """A processor of the package that times its steps."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        """Times the steps of this worker from now on."""
        time_steps()
        return super().handleInputRows(key, rows, timerValues)


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
                if name == TIMED[-1]:
                    self._write()

        return count

    def _write(self) -> None:
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
            file.write(f"{self.seconds}\n")
        self.seconds = 0.0


@cache
def time_steps() -> None:
    """Times the activity of the steps of this process, once."""
    from panewise.spark.activity import StepActivity  # noqa: PLC0415 - it imports Polars

    seconds = StepSeconds()
    for name in TIMED:
        work: Any = vars(StepActivity)[name]
        if isinstance(work, classmethod):
            setattr(StepActivity, name, classmethod(seconds.timed(name, work.__func__)))
        else:
            setattr(StepActivity, name, seconds.timed(name, work))
