"""Seconds from the start of a query to its first pane, and from a row to its pane: `python -m bench.cold`.

Ours and native count the rows of hourly windows and emit each changed window, with a trigger of one second.
Each run is a process of its own, whose session exists before the query starts. Ours runs in two ways: with
its panes in a query of the user, and with `write`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench import report
from bench.cold_job import RUNNERS

WARM_UP = 5  # the first rows of a run, while the JVM compiles
_NAMES = {"cold_s": "cold", "latency_s": "latency"}


@dataclass
class Times:
    """The times of one runner: of each start, and of the rows of all runs."""

    cold_s: list[float] = field(default_factory=list)
    cold_cpu_s: list[float] = field(default_factory=list)
    latency_s: list[float] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Adds the times that one process printed."""
        measured = json.loads(line)
        self.cold_s.append(measured["cold_s"])
        self.cold_cpu_s.append(measured["cold_cpu_s"])
        self.latency_s += measured["latency_s"][WARM_UP:]

    def median(self, name: str) -> float:
        """Returns the median of one kind of times."""
        return statistics.median(getattr(self, name))


def measured(runner: str, rows: int) -> str:
    """Runs a process with one query; returns the last line that it prints.

    Raises:
        RuntimeError: if the process fails; the message has the end of its standard error.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.cold_job", runner, str(rows)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"bench.cold_job {runner} ended with {done.returncode} | it prints its times | "
            f"{done.stderr[-2000:]}"
        )
    return done.stdout.splitlines()[-1]


def table(times: dict[str, Times]) -> str:
    """Returns a table of the medians."""
    lines = ["runner  first pane s  CPU s of it  row to pane s"]
    for name, of in times.items():
        cells = (of.median("cold_s"), of.median("cold_cpu_s"), of.median("latency_s"))
        lines.append(f"{name:6}  {cells[0]:12.2f}  {cells[1]:11.2f}  {cells[2]:13.2f}")
    return "\n".join(lines)


def results(times: dict[str, Times]) -> list[report.Result]:
    """Returns ours compared with native, in the form of the other benchmarks' results."""
    found = []
    for runner in RUNNERS[1:]:
        for kind, name in _NAMES.items():
            ours, theirs = times[runner].median(kind), times["native"].median(kind)
            found.append(report.Result(f"{name}_{runner}", "native", 1, 1, theirs / ours, ours, theirs))
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Runs all runners in turn, round after round."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cold", description="Seconds to the first pane, and from a row to its pane."
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="processes of each runner; default: %(default)s"
    )
    parser.add_argument(
        "--rows",
        type=int,
        default=25,
        help=f"rows of each process, {WARM_UP} of them warm-up; default: %(default)s",
    )
    asked = parser.parse_args(argv)
    if asked.rounds < 1 or asked.rows <= WARM_UP:
        parser.error(
            f"--rounds {asked.rounds} --rows {asked.rows} | a median needs a value | give 1 or more, "
            f"and {WARM_UP + 1} or more"
        )
    times = {runner: Times() for runner in RUNNERS}
    for _ in range(asked.rounds):
        for runner, of in times.items():
            of.add(measured(runner, asked.rows))
    for result in results(times):
        report.append(result)
    print(table(times))


if __name__ == "__main__":
    main()
