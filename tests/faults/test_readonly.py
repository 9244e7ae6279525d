"""Read-only directories: a query needs no mirror, but a read-only checkpoint or sink stops it with a reason.

Once these are writable, the query continues, and the sinks are as after a run without faults
(semantics 33 and 35).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.conftest import Expected, some_files
from tests.faults.rounds import PATIENCE, Job, bury
from tests.faults.sinks import check_same, contents
from tests.faults.test_restarts import FILES as RESTART_FILES
from tests.faults.test_restarts import SPEC as RESTARTED
from tests.faults.test_restarts import Stage

pytestmark = pytest.mark.soak

FILES = 4
SPEC = "session-retracting"
# Root may write anywhere, unless it starts without these capabilities.
_CAPABILITIES = "-dac_override,-dac_read_search"
BOUND_BY_MODES = (
    ("setpriv", f"--bounding-set={_CAPABILITIES}", f"--inh-caps={_CAPABILITIES}") if os.geteuid() == 0 else ()
)


def test_no_copies_of_state(tmp_path: Path, undisturbed: Expected) -> None:
    """Without a mirror every micro-batch reads its state from Spark's state store."""
    source, expected = undisturbed(SPEC, FILES)
    local = tmp_path / "local"
    job = Job(
        tmp_path,
        source,
        SPEC,
        "local[2,4]",
        {"job.mirror": "read-only", "spark.local.dir": str(local)},
        through=BOUND_BY_MODES,
    )
    job.run()
    check_same(contents(job.out, FILES), expected, "")


@pytest.mark.parametrize("place", ["checkpoint", "panes"])
def test_a_query_stops_and_continues(
    spark: SparkSession, tmp_path: Path, undisturbed: Expected, place: str
) -> None:
    stage = Stage(spark, undisturbed, tmp_path)
    stage.first()
    job = Job(
        tmp_path, some_files(stage.all, tmp_path / "in", RESTART_FILES), RESTARTED, through=BOUND_BY_MODES
    )
    done = job.commits()
    with read_only(job.out / place):
        process = job.start()
        try:
            assert process.wait(PATIENCE) != 0
        finally:
            bury(process)
    (reason,) = [line for line in job.log.splitlines() if "QueryError: " in line]
    assert f"{job.out}/{place}" in reason
    assert "denied" in reason or "failed to create" in reason
    assert job.commits() == done
    stage.second()
    stage.check()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Makes a folder and all folders in it read-only, and writable again at the end."""
    folders = [Path(name) for name, _, _ in os.walk(folder)]
    for one in folders:
        one.chmod(0o555)
    try:
        yield
    finally:
        for one in folders:
            one.chmod(0o755)
