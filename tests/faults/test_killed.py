"""A kill -9 of any process at any moment does not change the contents of the sinks (semantics 33 and 35).

Each test here kills one query. test_together.py kills many at once.
"""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns import part_of
from tests.faults.conftest import Expected
from tests.faults.rounds import Job, Plan
from tests.faults.rounds_of import CLUSTER, environment, played
from tests.faults.sinks import check_same, contents
from tests.faults.specs import ALL
from tests.nightly import nightly

FILES = 4
LOCAL = {"job.checkpoints": "local"}

ROUNDS: list[Any] = [
    nightly(("session-retracting", "local[2]", Plan(1, "driver", 2))),
    nightly(("cumulating-accumulating", "local[2,4]", Plan(3, "worker", FILES))),
    pytest.param("session-retracting", CLUSTER, Plan(4, "executor", FILES), marks=pytest.mark.soak),
]


def _play(
    folder: Path, undisturbed: Expected, chosen: tuple[str, str, Plan], settings: dict[str, str], record: Any
) -> list[str]:
    """Plays a round, and checks the sinks; returns what happened."""
    spec, master, plan = chosen
    source = undisturbed.source((1,) * plan.files)
    job = Job(folder, source, spec, master, settings, environment(folder, master))
    story = played(job, plan, record)
    cuts = job.cuts()
    assert sum(cuts) == plan.files, story
    check_same(contents(job.out, len(cuts)), undisturbed.sinks(spec, cuts), [*story, cuts])
    return story


@pytest.mark.parametrize(
    ("spec", "master", "plan"), ROUNDS, ids=lambda value: value.victim if isinstance(value, Plan) else value
)
def test_a_killed_job_leaves_what_an_undisturbed_one_does(
    tmp_path: Path, undisturbed: Expected, record_property: Any, spec: str, master: str, plan: Plan
) -> None:
    settings = LOCAL if plan.seed % 2 else {}
    story = _play(tmp_path, undisturbed, (spec, master, plan), settings, record_property)
    assert any("killed" in line for line in story), story


def test_the_parts_are_everything() -> None:
    """`--part 3/16` is a part of the tests. All parts have about as many."""
    groups = [("rounds", range(784)), ("others", range(80)), *((name, [name]) for name in ALL)]
    parts: list[list[Any]] = [list(part_of(groups, number, 16)) for number in range(1, 17)]
    assert sorted(map(str, chain.from_iterable(parts))) == sorted(map(str, chain(*(of for _, of in groups))))
    assert max(map(len, parts)) < 1.2 * min(map(len, parts))
