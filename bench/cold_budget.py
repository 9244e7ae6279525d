"""Says where the time to the first pane goes, and from a row to its pane: `python -m bench.cold_budget`.

Panewise and Spark's own operator run in turn, each in a process of its own (:mod:`bench.cold_job`). The parts
add up to the measured times. They come from the sources of :mod:`bench.budget`. A row has its pane when the
sink has it, which is before the end of the micro-batch.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from bench.budget import Parts, Stage, lines, means, parts_of_stages, recorded, stages_of, table
from bench.cold import WARM_UP, measured

RUNNERS = {"panewise": "panes", "native": "native"}
_BEFORE_STAGES = ("latestOffset", "walCommit", "getBatch", "queryPlanning")


@dataclass(frozen=True)
class Process:
    """What a process has measured and recorded. Times are milliseconds since 1970."""

    started: float
    spans: Sequence[tuple[float, float]]
    progress: Sequence[Mapping[str, Any]]
    stages: Sequence[Stage]
    marks: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, runner: str, rows: int) -> Self:
        """Runs a query in a process of its own, until each of the rows has its pane."""
        with TemporaryDirectory(prefix="bench-budget-") as folder:
            log, marks = recorded(Path(folder))
            printed = json.loads(measured(runner, rows))
            spans = [(since * 1000, until * 1000) for since, until in printed["spans"]]
            recorded_marks = [json.loads(line) for line in lines(marks)]
            return cls(
                printed["started"] * 1000, spans, printed["progress"], stages_of(lines(log)), recorded_marks
            )

    def first_pane(self) -> Parts:
        """Returns the parts of the time from the start of the query to its first pane."""
        since, until = self.spans[0]
        (report,) = self._reports(until)
        begin = _begin(report)
        started = min(self.started, begin)
        before = {
            "the query is planned and started": started - since,
            "until its micro-batch": begin - started,
        }
        return before | self._of_batch(report, until)

    def later_panes(self) -> list[Parts]:
        """Returns the parts of the times from a row to its pane, without those of the warm-up.

        The last micro-batch may have no report, because the query is stopped before its end.
        """
        return [
            {"until its micro-batch": _begin(report) - since} | self._of_batch(report, until)
            for since, until in self.spans[1 + WARM_UP :]
            for report in self._reports(until)
        ]

    def _reports(self, until: float) -> list[Mapping[str, Any]]:
        """Returns the progress report of the micro-batch in which a pane came, if there is one."""
        return [
            report
            for report in self.progress
            if _begin(report) <= until <= _begin(report) + report["durationMs"]["triggerExecution"]
        ]

    def _of_batch(self, report: Mapping[str, Any], until: float) -> Parts:
        """Returns the parts from the begin of a micro-batch to a pane."""
        begin, durations = _begin(report), report["durationMs"]
        parts = {f"driver: {name}": float(durations.get(name, 0)) for name in _BEFORE_STAGES}
        mine = [stage for stage in self.stages if begin <= stage.begin and stage.end <= until]
        parts |= parts_of_stages(mine, self.marks, report)
        parts["before, between and after the stages"] = until - begin - sum(parts.values())
        return parts


def _begin(report: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(report["timestamp"]).timestamp() * 1000


def main(argv: Sequence[str] | None = None) -> None:
    """Prints a table for the first pane, and one for the later ones."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.cold_budget",
        description="Where the time to the first pane goes, and to later ones.",
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="processes of each runner; default: %(default)s"
    )
    parser.add_argument("--rows", type=int, default=25, help="rows of each process; default: %(default)s")
    asked = parser.parse_args(argv)
    if asked.rounds < 1 or asked.rows <= WARM_UP:
        parser.error(
            f"--rounds {asked.rounds} --rows {asked.rows} | the first {WARM_UP} rows are warm-up | "
            f"give 1 or more, and {WARM_UP + 1} or more"
        )
    first, later = defaultdict[str, list[Parts]](list), defaultdict[str, list[Parts]](list)
    for number in range(asked.rounds):
        for name, runner in RUNNERS.items():
            process = Process.of(runner, asked.rows)
            first[name].append(process.first_pane())
            later[name] += process.later_panes()
        print(f"round {number + 1} of {asked.rounds}", file=sys.stderr, flush=True)
    for title, panes in {"the first pane": first, "a row to its pane": later}.items():
        print(f"\n{title}\n\n{table({name: means(parts) for name, parts in panes.items()})}")


if __name__ == "__main__":
    main()
