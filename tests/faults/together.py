"""Rounds of many queries: they run in one application, whose processes are killed while they work.

A start of Spark costs as much as dozens of micro-batches. So all queries of a round share the starts and the
kills. `Outcome` says which queries each kill hit.
"""

import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.processes import executors, kill, kill_job, pause, python_workers, wait_until
from tests.faults.rounds import SLOW, Job, Victim, bury
from tests.faults.supervised import ended, failures
from tests.faults.together_job import QUERIES

PATIENCE = 3600  # seconds for all queries of a round, on a busy machine
_DELAY = 1.0  # the longest time from a commit to a kill, in seconds


@dataclass
class TogetherJob(Job):
    """An application with several queries, whose names `spec` lists."""

    module: str = "tests.faults.together_job"

    @property
    def names(self) -> list[str]:
        return self.spec.split(",")

    def query(self, name: str) -> Path:
        """Returns the folder of a query."""
        return self.out / QUERIES / name

    def commits(self) -> int:
        """Returns the number of committed micro-batches of all queries."""
        return sum(1 for _ in self._logged("commits"))

    def active(self) -> list[str]:
        """Returns the queries that have begun a micro-batch, and have not ended."""
        begun = {path.relative_to(self.out / QUERIES).parts[0] for path in self._logged("offsets")}
        return sorted(begun - ended(self.out))

    def _logged(self, kind: str) -> Iterator[Path]:
        for path in (self.out / QUERIES).glob(f"*/checkpoint/{kind}/[0-9]*"):
            yield path
        for path in (self.out / QUERIES).glob(f"*/*/checkpoint/{kind}/[0-9]*"):
            yield path


@dataclass(frozen=True)
class Kills:
    """How often what is killed; `seed` decides when. `steps` is about the number of commits of the round.

    With `fails` a killed worker ends its query, which the application starts again. Else Spark repeats
    the task.
    """

    seed: int
    victim: Victim
    count: int
    steps: int
    fails: bool = False


@dataclass
class Outcome:
    """What happened in a round.

    Attributes:
        kills: how often a process was killed, or several at once.
        processes: how many processes were killed.
        hits: how many of these kills hit each query.
        story: the same in words, for the message of a failing test.
    """

    kills: int = 0
    processes: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    story: list[str] = field(default_factory=list)


def play_together(job: TogetherJob, kills: Kills) -> Outcome:
    """Plays a round until all queries have ended well."""
    draw, outcome = random.Random(kills.seed), Outcome()
    moments = [
        (draw.randrange(1, max(2, kills.steps // (kills.count + 1))), draw.uniform(0, _DELAY))
        for _ in range(kills.count)
    ]
    while True:
        process, before = job.start(), outcome.kills
        try:
            while moments and _reached(job, process, *moments[0]):
                moments.pop(0)
                _strike(draw, job, process, kills, outcome)
            code = process.wait(PATIENCE)
        finally:
            bury(process)
        outcome.story.append(f"ended with {code}, {job.commits()} committed")
        (job.folder / "story").write_text("\n".join(outcome.story), encoding="utf-8")
        if code == 0:
            break
        killed = kills.victim == "driver" and outcome.kills > before
        assert killed, f"an application died by itself: {outcome.story}\n{job.log[-6000:]}"
    _hits_of_workers(job, kills, outcome)
    return outcome


def _reached(job: TogetherJob, process: subprocess.Popen[bytes], commits: int, delay: float) -> bool:
    """Waits until so many more micro-batches are committed; returns False if the job ended before it."""
    begun = job.commits()

    def now() -> bool:
        return job.commits() >= begun + commits or process.poll() is not None

    assert wait_until(now, PATIENCE), f"waited too long for {commits} commits\n{job.log[-4000:]}"
    pause(delay)
    return process.poll() is None


def _strike(
    draw: random.Random, job: TogetherJob, process: subprocess.Popen[bytes], kills: Kills, outcome: Outcome
) -> None:
    """Kills the driver, an executor, or one or all of the Python workers."""
    active, killed = job.active(), 1
    if kills.victim == "driver":
        kill_job(process)
    else:
        there = (python_workers if kills.victim == "worker" else executors)([process.pid, *job.also])
        chosen = there if there and kills.victim == "worker" and draw.random() < 0.5 else there[:0]
        chosen = chosen or ([draw.choice(there)] if there else [])
        killed = sum(kill(one.pid) for one in chosen)
    outcome.story.append(f"{job.commits()} committed, {len(active)} active: {kills.victim} killed ({killed})")
    outcome.kills += killed > 0
    outcome.processes += killed
    if kills.victim != "worker" and killed:
        outcome.hits.update(active)


def _hits_of_workers(job: TogetherJob, kills: Kills, outcome: Outcome) -> None:
    """Adds the queries that failed because a worker was killed, or of which Spark repeated a task."""
    failed = [one for one in failures(job.out) if SLOW not in one["error"]]
    outcome.story += [f"{one['query']} failed" for one in failed]
    expected = outcome.processes if kills.fails else 0
    assert len(failed) <= expected, f"queries failed by themselves: {failed}\n{outcome.story}"
    if kills.victim == "worker":
        outcome.hits.update(one["query"] for one in failed)
        outcome.hits.update(_repeated(job))


def _repeated(job: TogetherJob) -> Iterator[str]:
    """Yields the query of each task that failed, by Spark's log of events."""
    names = dict(_ids(job))
    of_stage: dict[int, str] = {}
    for event in _events(job.folder / "events"):
        if event["Event"] == "SparkListenerStageSubmitted":
            known = event.get("Properties", {}).get("sql.streaming.queryId", "")
            of_stage[event["Stage Info"]["Stage ID"]] = names.get(known, "")
        elif _crashed(event["Task End Reason"]) and of_stage.get(event["Stage ID"]):
            yield of_stage[event["Stage ID"]]


def _crashed(reason: Mapping[str, str]) -> bool:
    """Returns whether a task failed, other than by a slow start. Spark also ends tasks itself."""
    return reason["Reason"] == "ExceptionFailure" and SLOW not in str(reason)


def _ids(job: TogetherJob) -> Iterator[tuple[str, str]]:
    for name in job.names:
        for path in job.query(name).rglob("checkpoint/metadata"):
            yield json.loads(path.read_text(encoding="utf-8"))["id"], name


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    wanted = ('"SparkListenerStageSubmitted"', '"SparkListenerTaskEnd"')
    for path in sorted(folder.rglob("*")) if folder.exists() else ():
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            if any(kind in line for kind in wanted):
                yield json.loads(line)


@contextmanager
def every_difference() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """Yields what surrounds the comparison of a query; raises at the end, with the differences of all."""
    found: list[str] = []

    @contextmanager
    def compare(name: str) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            found.append(f"{name}: {error}")

    yield compare
    assert not found, f"{len(found)} queries differ\n" + "\n\n".join(found)


def record(record_property: Any, outcome: Outcome, kills: Kills, kind: Callable[[str], str]) -> None:
    """Records the kills, and the queries that were hit and compared, by their kinds.

    A query that no kill hit counts nowhere.
    """
    record_property("kills", outcome.kills)
    record_property(f"kills of {kills.victim}s", outcome.kills)
    record_property("hits", outcome.hits.total())
    record_property("query-rounds", len(outcome.hits))
    for of_what, count in Counter(map(kind, outcome.hits)).items():
        record_property(f"query-rounds of {of_what}", count)
