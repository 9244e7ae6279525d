"""A local cluster whose driver is killed, and a standalone one, give the same output as local threads.

panewise is shipped to their workers as a zip. In `make test` tests/connectors/test_topic_to_delta.py runs on
a local cluster.
"""

from pathlib import Path

import pytest

from tests.faults.clusters import check_shipped, shipped, spark_home, standalone
from tests.faults.conftest import Expected
from tests.faults.rounds import Job, Plan, play
from tests.faults.sinks import check_same, contents

FILES = 4
SPEC = "session-retracting"


def _of_local_cluster(tmp_path: Path, source: Path, files: int) -> Job:
    """Returns the job of a local cluster, whose workers import panewise from a zip."""
    master, home = f"local-cluster[{min(files, 2)},1,1024]", {"SPARK_HOME": str(spark_home(tmp_path))}
    return Job(tmp_path, source, SPEC, master, shipped(tmp_path), home)


@pytest.mark.nightly
@pytest.mark.parametrize("files", [1, FILES])
def test_the_driver_of_a_local_cluster_is_killed(tmp_path: Path, undisturbed: Expected, files: int) -> None:
    """semantics 33"""
    job = _of_local_cluster(tmp_path, undisturbed.source((1,) * files), files)
    story = play(job, Plan(1, "driver", files))
    assert any("killed" in line for line in story), story
    check_shipped(job.log)
    cuts = job.cuts()
    check_same(contents(job.out, len(cuts)), undisturbed.sinks(SPEC, cuts), [*story, cuts])


@pytest.mark.nightly
def test_a_standalone_cluster(tmp_path: Path, undisturbed: Expected) -> None:
    source, expected = undisturbed(SPEC, FILES)
    with standalone(tmp_path / "cluster") as (master, _):
        job = Job(tmp_path, source, SPEC, master, shipped(tmp_path))
        job.run()
    check_shipped(job.log)
    check_same(contents(job.out, FILES), expected, master)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_executors_of_a_standalone_cluster_are_killed(
    tmp_path: Path, undisturbed: Expected, seed: int
) -> None:
    source, expected = undisturbed(SPEC, FILES)
    with standalone(tmp_path / "cluster") as (master, sessions):
        job = Job(tmp_path, source, SPEC, master, shipped(tmp_path), also=sessions)
        story = play(job, Plan(seed, "executor", FILES, kills=2))
    assert any("killed" in line for line in story), story
    check_same(contents(job.out, FILES), expected, story)
