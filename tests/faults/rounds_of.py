"""What rounds have in common: which processes they kill, their settings, and what is recorded."""

import os
from pathlib import Path
from typing import Any, Final

from tests.faults.clusters import spark_home
from tests.faults.rounds import ROOT, Job, Plan, Victim, play

CLUSTER: Final = "local-cluster[2,1,1024]"
VICTIMS: Final[tuple[tuple[Victim, str], ...]] = (
    ("driver", "local[2]"),
    ("worker", "local[2,4]"),  # Spark repeats a task up to four times
    ("worker", "local[2]"),
    ("executor", CLUSTER),
)
# By default snapshots of the state are too rare to take part in these tests.
OFTEN_SNAPSHOTS: Final = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
}


def environment(folder: Path, master: str) -> dict[str, str]:
    """Returns the environment of a job. Executors unpickle a listener by the name of its module."""
    known = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"SPARK_HOME": str(spark_home(folder)), "PYTHONPATH": known} if master == CLUSTER else {}


def played(job: Job, plan: Plan, record: Any) -> list[str]:
    """Plays a round, and records it; returns what happened."""
    story = play(job, plan)
    record("rounds", 1)
    record("kills", sum("killed" in line for line in story))
    return story
