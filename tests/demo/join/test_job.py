"""The join of the demo on Spark, for three days."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from panewise.demo.join import check, inputs, job
from panewise.demo.join.check import JoinOutputs
from tests.demo.join.simulated import Pair

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.nightly
def test_the_join_writes_what_the_checks_and_the_simulation_expect(
    spark: "SparkSession", days: Pair, outputs: JoinOutputs, tmp_path: Path
) -> None:
    flights, weather = days
    ends = inputs.write(flights, weather, tmp_path)
    seen: list[int] = []
    job.run(spark, tmp_path, tmp_path, seen.append)
    written = check.read(tmp_path)
    assert [finding for finding in check.verify(flights, weather, written) if not finding.passed] == []
    columns = outputs.joined.columns
    assert written.joined.select(columns).sort("id").equals(outputs.joined.sort("id"))
    assert written.joined["join_time"].equals(written.joined["scheduled"].alias("join_time"))
    assert written.joined.filter(written.joined["batch_id"] < ends.len() - 1).height > 0  # not all at the end
    assert seen == sorted(seen)
