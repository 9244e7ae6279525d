"""A kill -9 hits all queries of an application, and each has afterwards what it has without faults.

`make rounds` plays all rounds here. The number of a round and the seed repeat it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.campaigns import seed_of
from tests.driver_workers import quick_python
from tests.faults.conftest import Expected
from tests.faults.moved_job import Way
from tests.faults.rounds import Victim, cuts_of
from tests.faults.rounds_of import OFTEN_SNAPSHOTS, VICTIMS, environment
from tests.faults.sinks import check_same, contents
from tests.faults.specs import ALL, CHANGED, SECOND
from tests.faults.test_moved import FILES as FILES_IN_PARTS
from tests.faults.test_moved import HALF, InParts, both_cuts, in_parts, sinks
from tests.faults.together import Kills, TogetherJob, every_difference, play_together, record

__all__ = ["in_parts"]

ROUNDS, ROUNDS_OF_MOVED, ROUNDS_OF_CHANGES = 20, 4, 5
FILES, LONG_FILES = 4, 12
# Kills in a round. That of a worker hits a query or two, the others hit all.
COUNTS: Final[dict[Victim, int]] = {"driver": 2, "worker": 40, "executor": 3}


@dataclass(frozen=True)
class Round:
    """The queries of a round, its seed, and what is killed."""

    names: tuple[str, ...]
    files: int
    seed: int
    number: int

    @property
    def way(self) -> Way:
        """Returns the way of queries in two parts."""
        return "moved" if self.names[0].startswith("moved.") else "changed"

    @property
    def victim(self) -> tuple[Victim, str]:
        """Returns what is killed, and the master. With the next number it is something else."""
        return VICTIMS[self.number % len(VICTIMS)]

    @property
    def is_local(self) -> bool:
        """Returns whether Spark knows that the checkpoints are on a local disk: three times of four.

        Otherwise it starts a process for each of their files.
        """
        return (self.number + self.number // len(VICTIMS)) % 4 != 0

    @property
    def kills(self) -> Kills:
        """Returns when something is killed, and how often."""
        victim, master = self.victim
        steps = len(self.names) * (self.files + 2)
        return Kills(
            self.seed, victim, COUNTS[victim], steps, fails=master == "local[2]" and victim == "worker"
        )

    def job(self, folder: Path, source: Path, python: str, **settings: str) -> TogetherJob:
        """Returns the application."""
        _, master = self.victim
        given = OFTEN_SNAPSHOTS | {"spark.sql.streaming.stateStore.maintenanceInterval": "5s"}
        given |= {f"job.{name}": value for name, value in settings.items()}
        given |= {"job.checkpoints": "local"} if self.is_local else {}
        if master == "local[2,4]":
            (folder / "events").mkdir()
            given |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(folder / "events")}
            given |= {"spark.eventLog.compress": "false"}
        known = environment(folder, master) | {"PYSPARK_PYTHON": python}
        return TogetherJob(folder, source, ",".join(self.names), master, given, known)


def of_operators(number: int) -> Round:
    """Returns a round over all operators."""
    names = tuple(f"plain.{name}" for name in sorted(ALL))
    return Round(names, LONG_FILES if number % 5 == 4 else FILES, seed_of(number), number)


def in_two_parts(way: Way, number: int) -> Round:
    """Returns a round over all operators whose states are moved, or over all changed specifications."""
    names = tuple(f"{way}.{name}" for name in sorted(ALL if way == "moved" else CHANGED))
    return Round(names, FILES_IN_PARTS, seed_of(number), number)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yields a Python that starts quickly on the driver."""
    with quick_python(tmp_path_factory.mktemp("python")) as executable:
        yield executable


def family(query: str) -> str:
    """Returns what a query counts as: its way, and the class of its operator."""
    way, _, name = query.partition(".")
    kind = type(ALL[name]).__name__ + (" and WindowOperator" if name in SECOND else "")
    return kind if way == "plain" else f"{way} {kind}"


@pytest.mark.soak
@pytest.mark.rounds
@pytest.mark.parametrize("number", range(ROUNDS))
def test_rounds_over_all_operators(
    tmp_path: Path, undisturbed: Expected, python: str, record_property: Any, number: int
) -> None:
    """semantics 33, 35"""
    chosen = of_operators(number)
    job = chosen.job(tmp_path, undisturbed.source((1,) * chosen.files), python)
    outcome = play_together(job, chosen.kills)
    cuts = {name: cuts_of(job.query(name) / "checkpoint") for name in job.names}
    undisturbed.prepare((name.partition(".")[2], of) for name, of in cuts.items())
    with every_difference() as compare:
        for name, of in cuts.items():
            with compare(name):
                assert sum(of) == chosen.files, of
                expected = undisturbed.sinks(name.partition(".")[2], of)
                check_same(contents(job.query(name), len(of)), expected, [of, *outcome.story])
    record(record_property, outcome, chosen.kills, family)


def check_in_parts(in_parts: InParts, folder: Path, python: str, record_property: Any, chosen: Round) -> None:
    """Plays a round over queries in two parts, and compares their sinks with those of runs without faults."""
    source = in_parts.undisturbed.source((1,) * chosen.files)
    job = chosen.job(folder, source, python, first=str(HALF))
    outcome = play_together(job, chosen.kills)
    cuts = {name: both_cuts(job.query(name)) for name in job.names}
    runs = {name: (name.partition(".")[2], chosen.way, of) for name, of in cuts.items()}
    in_parts.prepare(runs.values())
    with every_difference() as compare:
        for name, run in runs.items():
            with compare(name):
                expected = in_parts(*run)
                check_same(sinks(job.query(name)), sinks(expected), [cuts[name], *outcome.story])
    record(record_property, outcome, chosen.kills, family)


@pytest.mark.soak
@pytest.mark.rounds
@pytest.mark.parametrize("number", range(ROUNDS_OF_MOVED))
def test_rounds_of_moved_states(
    in_parts: InParts, tmp_path: Path, python: str, record_property: Any, number: int
) -> None:
    """semantics 48.1, 48.9"""
    check_in_parts(in_parts, tmp_path, python, record_property, in_two_parts("moved", number))


@pytest.mark.soak
@pytest.mark.rounds
@pytest.mark.filterwarnings("ignore::panewise.UnguardedWatermarkWarning")  # no row is in the future
@pytest.mark.parametrize("number", range(ROUNDS_OF_CHANGES))
def test_rounds_of_changes(
    in_parts: InParts, tmp_path: Path, python: str, record_property: Any, number: int
) -> None:
    """semantics 47.9"""
    check_in_parts(in_parts, tmp_path, python, record_property, in_two_parts("changed", number))


def test_the_rounds_cover_everything() -> None:
    rounds = [of_operators(number) for number in range(ROUNDS)]
    assert {name for one in rounds for name in one.names} == {f"plain.{name}" for name in ALL}
    masters = {(one.victim, one.is_local) for one in rounds}
    assert masters == {(victim, is_local) for victim in VICTIMS for is_local in (False, True)}
    assert len({one.seed for one in rounds}) == ROUNDS
    of_all = [
        *rounds,
        *(in_two_parts("moved", number) for number in range(ROUNDS_OF_MOVED)),
        *(in_two_parts("changed", number) for number in range(ROUNDS_OF_CHANGES)),
    ]
    assert sum(len(one.names) for one in of_all) >= 950, "with the rounds of tables more than 1,000"
