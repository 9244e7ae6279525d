"""A kill -9 of any process at any moment does not change the contents of the sinks (semantics 33 and 35).

`make test` kills the driver of a local cluster (test_clusters.py), and `make nightly` plays further rounds.
`make soak` plays a hundred over all windows and accumulation modes, 36 over sliding windows, windows of rows,
OVER operators, deduplications and policy windows, and 34 over joins and cogroups. The number of a round
repeats it.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.clusters import spark_home
from tests.faults.conftest import Expected
from tests.faults.rounds import ROOT, Job, Plan, Victim, play
from tests.faults.sinks import check_same, contents
from tests.faults.specs import JOINS, OF_ROWS, SPECS
from tests.nightly import nightly

FILES = 4
LONG_FILES = 12
CLUSTER = "local-cluster[2,1,1024]"

# By default snapshots of the state are too rare to take part in these tests.
OFTEN_SNAPSHOTS = {
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
}

LOCAL = {"job.checkpoints": "local"}

ROUNDS: list[Any] = [
    nightly(("session-retracting", "local[2]", Plan(1, "driver", 2))),
    nightly(("cumulating-accumulating", "local[2,4]", Plan(3, "worker", FILES))),
    pytest.param("session-retracting", CLUSTER, Plan(4, "executor", FILES), marks=pytest.mark.soak),
]


def _play(
    folder: Path, undisturbed: Expected, spec: str, master: str, plan: Plan, settings: dict[str, str]
) -> list[str]:
    """Plays a round, and checks the sinks; returns what happened."""
    source = undisturbed.source((1,) * plan.files)
    # Executors unpickle the listener of a specification by the name of its module.
    known = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {"SPARK_HOME": str(spark_home(folder)), "PYTHONPATH": known} if master == CLUSTER else {}
    job = Job(folder, source, spec, master, settings, environment)
    story = play(job, plan)
    cuts = job.cuts()
    assert sum(cuts) == plan.files, story
    check_same(contents(job.out, len(cuts)), undisturbed.sinks(spec, cuts), [*story, cuts])
    return story


@pytest.mark.parametrize(
    ("spec", "master", "plan"), ROUNDS, ids=lambda value: value.victim if isinstance(value, Plan) else value
)
def test_a_killed_job_leaves_what_an_undisturbed_one_does(
    tmp_path: Path, undisturbed: Expected, spec: str, master: str, plan: Plan
) -> None:
    story = _play(tmp_path, undisturbed, spec, master, plan, LOCAL if plan.seed % 2 else {})
    assert any("killed" in line for line in story), story


def drawn(number: int, specs: Iterable[str] = SPECS) -> tuple[str, str, Plan]:
    """Returns the round with a number: the specifications in turn, with victims that change each turn."""
    names = sorted(specs)
    victims: list[tuple[Victim, str]] = [
        ("driver", "local[2]"),
        ("worker", "local[2,4]"),
        ("worker", "local[2]"),
        ("executor", CLUSTER),
    ]
    victim, master = victims[(number + number // len(names)) % len(victims)]
    return names[number % len(names)], master, Plan(number, victim, LONG_FILES, kills=1 + number % 3)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(100))
def test_a_hundred_rounds(tmp_path: Path, undisturbed: Expected, number: int) -> None:
    spec, master, plan = drawn(number)
    _play(tmp_path, undisturbed, spec, master, plan, OFTEN_SNAPSHOTS | (LOCAL if number // 4 % 2 else {}))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(36))
def test_rounds_over_windows_of_rows(tmp_path: Path, undisturbed: Expected, number: int) -> None:
    spec, master, plan = drawn(number, OF_ROWS)
    _play(tmp_path, undisturbed, spec, master, plan, OFTEN_SNAPSHOTS | (LOCAL if number // 4 % 2 else {}))


@pytest.mark.soak
@pytest.mark.parametrize("number", range(34))
def test_rounds_over_joins(tmp_path: Path, undisturbed: Expected, number: int) -> None:
    spec, master, plan = drawn(number, JOINS)
    _play(tmp_path, undisturbed, spec, master, plan, OFTEN_SNAPSHOTS | (LOCAL if number // 4 % 2 else {}))
    found = contents(tmp_path / "out", plan.files)
    assert found["panes" if "panes" in found else "rows"]


def test_the_rounds_cover_everything() -> None:
    rounds = [drawn(number) for number in range(100)]
    assert {spec for spec, _, _ in rounds} == set(SPECS)
    assert {plan.victim for number, (_, _, plan) in enumerate(rounds) if number // 4 % 2} == {
        "driver",
        "worker",
        "executor",
    }
    for kind in ("tumbling", "hopping", "cumulating", "session", "global"):
        assert {plan.victim for spec, _, plan in rounds if spec.startswith(kind)} == {
            "driver",
            "worker",
            "executor",
        }
    of_rows = [drawn(number, OF_ROWS) for number in range(36)]
    assert {plan.victim for _, _, plan in of_rows} == {"driver", "worker", "executor"}
    for name in OF_ROWS:
        assert len({plan.victim for spec, _, plan in of_rows if spec == name}) > 1
    joins = [drawn(number, JOINS) for number in range(34)]
    for name in JOINS:
        assert len({plan.victim for spec, _, plan in joins if spec == name}) > 1
