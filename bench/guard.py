"""Compares the speed of the present code with that of commits, and fails if a shape has become slower.

`make bench-guard BASE=<commit>`, or `python -m bench.guard BASE ... [--spark ROWS [--shapes NAME ...]]`. The
runs of all alternate, each in a process of its own, so that a busy machine affects them alike. The medians of
the processor time are compared; on Spark, whose processes do not all report theirs, those of the wall time.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.shapes import SHAPES

ROOT = Path(__file__).parent.parent
ROUNDS = 7
LIMIT = 7.0  # percent
NATIVE = "native, "  # begins the shapes of Spark's own operator, which only the machine makes slower

Seconds = dict[str, tuple[float | None, float]]


@dataclass
class Sample:
    """The seconds of one shape in all runs of a side: of the processor, and on the wall."""

    processor: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def add(self, processor: float | None, wall: float) -> None:
        """Adds those of a run."""
        self.wall.append(wall)
        if processor is not None:
            self.processor.append(processor)


@dataclass(frozen=True)
class Comparison:
    """The seconds of a shape with the code before and now: of the processor, or else on the wall."""

    shape: str
    before: float
    now: float
    wall: float

    @property
    def change(self) -> float:
        """By how many percent it takes longer now."""
        return 100 * (self.now / self.before - 1)

    def is_slower(self, limit: float) -> bool:
        """Returns whether panewise takes longer by more than a limit in percent."""
        return self.change > limit and not self.shape.startswith(NATIVE)

    def line(self, limit: float) -> str:
        """Returns a line of the table."""
        verdict = "slower" if self.is_slower(limit) else ""
        return (
            f"{self.shape:<36} {self.before:9.4f} {self.now:9.4f} {self.change:+7.1f} % "
            f"{self.wall:+7.1f} %  {verdict}"
        ).rstrip()


def compared(before: dict[str, Sample], now: dict[str, Sample]) -> list[Comparison]:
    """Returns the comparison of each shape."""
    comparisons = []
    for shape, sample in now.items():
        earlier = before[shape]
        pair = [median(side.processor or side.wall) for side in (earlier, sample)]
        wall = 100 * (median(sample.wall) / median(earlier.wall) - 1)
        comparisons.append(Comparison(shape, *pair, wall))
    return comparisons


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Checks a commit out into a directory, for as long as the block runs."""
    with TemporaryDirectory(prefix="bench-guard-") as folder:
        place = Path(folder) / "base"
        git("worktree", "add", "--detach", str(place), commit)
        try:
            yield place
        finally:
            git("worktree", "remove", "--force", str(place))


def git(*command: str) -> None:
    """Runs a command of git in this repository."""
    subprocess.run(["git", "-C", str(ROOT), *command], check=True, capture_output=True)


def run(source: Path, spark: Sequence[str]) -> Seconds:
    """Returns what one run of `bench.guard_job` measures with the code in a directory.

    `spark` has the rows of a micro-batch and the shapes that are measured on Spark. If it is empty, no Spark
    starts.
    """
    path = os.pathsep.join([str(source / "src"), str(ROOT)])
    environment = {"POLARS_MAX_THREADS": "1", **os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "bench.guard_job", *spark]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    seconds: Seconds = json.loads(done.stdout.splitlines()[-1])
    return seconds


def alternate(bases: Mapping[str, Path], rounds: int, spark: Sequence[str]) -> dict[str, list[Comparison]]:
    """Runs all in turn, and returns the comparisons with each commit."""
    sides: dict[Path, dict[str, Sample]] = {source: {} for source in (*bases.values(), ROOT)}
    for number in range(rounds):
        for source in sides if number % 2 == 0 else reversed(sides):
            for shape, seconds in run(source, spark).items():
                sides[source].setdefault(shape, Sample()).add(*seconds)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return {commit: compared(sides[base], sides[ROOT]) for commit, base in bases.items()}


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.guard", description=__doc__.split("\n", 1)[0])
    parser.add_argument("bases", nargs="+", metavar="BASE", help="a commit to compare with")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="runs of each commit; default: %(default)s"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT,
        help="percent that a shape may take longer; default: %(default)s",
    )
    parser.add_argument("--spark", type=int, help="instead: on Spark, with so many rows a micro-batch")
    parser.add_argument(
        "--shapes",
        choices=SHAPES,
        nargs="+",
        default=["tumbling"],
        help="what is measured with --spark; default: tumbling",
    )
    return parser.parse_args(argv)


def main() -> None:
    """Prints the comparisons, and fails if a shape has become slower than the limit allows."""
    asked = arguments()
    spark = [] if asked.spark is None else [str(asked.spark), *asked.shapes]
    with ExitStack() as stack:
        bases = {commit: stack.enter_context(checked_out(commit)) for commit in asked.bases}
        comparisons = alternate(bases, asked.rounds, spark)
    slower = []
    for commit, of_commit in comparisons.items():
        print(f"{f'seconds, beside {commit}':<36} {'before':>9} {'now':>9} {'change':>9} {'wall':>9}")
        for comparison in of_commit:
            print(comparison.line(asked.limit))
        slower += [f"{each.shape} (than {commit})" for each in of_commit if each.is_slower(asked.limit)]
    if slower:
        sys.exit(f"slower by more than {asked.limit:g} %: {', '.join(slower)}")


if __name__ == "__main__":
    main()
