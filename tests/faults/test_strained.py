"""Speculative tasks, stopped processes, no memory, and kills under load do not change the sinks.

All tests run on a standalone cluster of processes. After each the sinks are as after a run without faults
(semantics 33 and 35).
"""

import json
import os
from pathlib import Path

import pytest

from tests.faults.clusters import standalone
from tests.faults.conftest import Expected
from tests.faults.rounds import ROOT, Job, Plan, play
from tests.faults.rounds_of import OFTEN_SNAPSHOTS
from tests.faults.sinks import check_same, contents

pytestmark = pytest.mark.soak

FILES = 6
SPEC = "session-retracting"
# Spark starts a copy of every task that takes slightly longer than the median.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "50ms",
    "spark.speculation.efficiency.enabled": "false",
}
# An executor that is silent for 10 seconds counts as lost. When it continues, its tasks already run
# elsewhere.
IMPATIENT = {
    "spark.network.timeout": "10s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "10s",
}


def strained(
    folder: Path, source: Path, spec: str, plan: Plan | None, settings: dict[str, str]
) -> tuple[Job, list[str]]:
    """Plays a round on a cluster; without a plan the job runs without faults."""
    known = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with standalone(folder / "cluster") as (master, sessions):
        given = {**OFTEN_SNAPSHOTS, "spark.executorEnv.PYTHONPATH": known, **settings}
        job = Job(folder, source, spec, master, given, {"PYTHONPATH": known}, also=sessions)
        if plan is None:
            job.run()
            return job, []
        return job, play(job, plan)


def check(job: Job, undisturbed: Expected, story: list[str]) -> None:
    """Checks that the sinks are as after a run without faults."""
    cuts = job.cuts()
    check_same(contents(job.out, len(cuts)), undisturbed.sinks(job.spec, cuts), [*story, cuts])


def copies(events: Path) -> int:
    """Returns the number of speculative copies of tasks in Spark's event log."""
    found = 0
    for path in events.rglob("*"):
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            if '"SparkListenerTaskEnd"' in line and json.loads(line)["Task Info"]["Speculative"]:
                found += 1
    return found


@pytest.mark.parametrize("spec", [SPEC, "replays"])
def test_speculative_copies(tmp_path: Path, undisturbed: Expected, spec: str) -> None:
    """Two copies of a task write the same state, and only one of them counts."""
    events = tmp_path / "events"
    events.mkdir()
    logged = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(events),
        "spark.eventLog.compress": "false",
    }
    source = undisturbed.source((1,) * FILES)
    plan = Plan(1, "worker", FILES, kills=3, means="stop")
    job, story = strained(tmp_path, source, spec, plan, SPECULATION | logged)
    check(job, undisturbed, story)
    assert copies(events) > 0, story


@pytest.mark.parametrize("victim", ["worker", "executor"])
@pytest.mark.parametrize("seed", range(3))
def test_processes_that_stop_and_go_on(tmp_path: Path, undisturbed: Expected, victim: str, seed: int) -> None:
    """An executor that counts as lost and then continues writes nothing that counts."""
    plan = Plan(seed, "worker" if victim == "worker" else "executor", FILES, kills=2, means="stop")
    job, story = strained(tmp_path, undisturbed.source((1,) * FILES), SPEC, plan, IMPATIENT)
    check(job, undisturbed, story)
    assert any("stopped" in line for line in story)


@pytest.mark.parametrize("victim", ["worker", "executor"])
@pytest.mark.parametrize("seed", [1, 2, 3])  # the strikes of these come long before the end
def test_processes_without_memory(tmp_path: Path, undisturbed: Expected, victim: str, seed: int) -> None:
    plan = Plan(seed, "worker" if victim == "worker" else "executor", FILES, means="starve")
    job, story = strained(
        tmp_path, undisturbed.source((1,) * FILES), SPEC, plan, {"spark.task.maxFailures": "8"}
    )
    check(job, undisturbed, story)
    # A worker may have all the memory that it needs.
    struck = ("died without memory",) + (("went on without more memory",) if victim == "worker" else ())
    assert any(line.endswith(struck) for line in story), story


@pytest.mark.parametrize("spec", ["hopping-retracting", "combined"])
def test_executors_are_killed_under_load(tmp_path: Path, undisturbed: Expected, spec: str) -> None:
    """Kills up to five executors, one after the other, while they work: micro-batches take seconds.

    On a fast machine the job may end before the fifth.
    """
    source = undisturbed.source((500,) * FILES)
    plan = Plan(7, "executor", FILES, kills=5, delay=4.0)
    job, story = strained(
        tmp_path,
        source,
        spec,
        plan,
        {"spark.task.maxFailures": "20", "spark.deploy.maxExecutorRetries": "-1"},
    )
    check_same(contents(job.out, FILES), undisturbed.sinks(spec, (500,) * FILES), story)
    assert sum("killed" in line for line in story) >= 3, story
    assert story.count("ended with 0") == len([line for line in story if line.startswith("ended")]), story
