"""The benchmark of cold starts: runners emit the key of each row, and results are medians over processes."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench import cold, cold_job, data, session


@pytest.mark.nightly
@pytest.mark.parametrize("runner", [cold_job.native, cold_job.panes, cold_job.write])
def test_a_runner_emits_the_key_of_each_row(
    spark: SparkSession, tmp_path: Path, runner: cold_job.Runner
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    job = cold_job.Job(folder)
    stream = session.read(session.beside(spark), data.Events(folder, 1, 1)).withWatermark("ts", "10 seconds")
    query = runner(stream, job, str(tmp_path / "checkpoint"))
    for _ in range(2):
        job.wait_for(job.put())
    query.stop()
    assert job.emitted.empty()


def test_the_first_rows_are_warm_up_and_ratios_are_of_medians() -> None:
    times = {runner: cold.Times() for runner in cold_job.RUNNERS}
    for slower, of in enumerate(times.values(), start=1):
        for start in (3.0, 1.0, 2.0):
            of.add(
                json.dumps(
                    {"cold_s": start * slower, "cold_cpu_s": 9.0, "latency_s": [99.0] * 5 + [0.5 * slower]}
                )
            )
    found = {result.shape: result for result in cold.results(times)}
    assert set(found) == {"cold_panes", "latency_panes", "cold_write", "latency_write"}
    assert (found["cold_write"].ours_s, found["cold_write"].peer_s, found["latency_panes"].ratio) == (
        6.0,
        2.0,
        0.5,
    )
    assert cold.table(times).splitlines()[2].split() == ["panes", "4.00", "9.00", "1.00"]


def test_a_process_that_fails_is_no_result() -> None:
    with pytest.raises(
        RuntimeError, match=r"^bench.cold_job no_such_runner ended with 1 \| it prints its times \| "
    ):
        cold.measured("no_such_runner", 6)
