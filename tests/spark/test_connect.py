"""Tests the API through Spark Connect, in a process of its own: a process is either classic or Connect."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.jvm import QUICK_JVM
from tests.spark.conftest import Feed

FIRST = ((0, "a", 1), (5, "a", 2), (7, "b", 3), (130, "a", 5), (None, "b", 1))
SUMS = [["a", 2, 3], ["a", 1, 5], ["b", 1, 3]]
STREAMED = [*SUMS, ["c", 1, 9]]
BATCH = [["a", 3, 103], *STREAMED[1:]]
# Of texts of SQL: panes, rows of OVER, and pairs. On the stream the row of "a" with 100 is late.
TEXTS = [
    [["a", 10], ["a", 10], ["b", 6], ["b", 6], ["c", 18], ["c", 18]],
    [["a", 1, 2], ["a", 2, 4], ["a", 5, 8], ["b", 3, 4], ["c", 9, 10]],
    [["a", 1, 100], ["a", 1, 2], ["a", 100, 2]],
]
STREAMED_TEXTS = [
    [["a", 10], ["a", 10], ["a", 4], ["a", 4], ["b", 6], ["b", 6], ["c", 18]],
    [["a", 1, 2], ["a", 2, 4], ["a", 5, 8], ["b", 3, 4]],
    [["a", 1, 2]],
]


def run(files: Feed, part: str, server: str = "local[2]") -> Any:
    """Runs a part of the job; returns what it writes."""
    return run_job("connect_job", server, files.path, files.folder, part)


def run_job(name: str, *arguments: object) -> Any:
    """Runs a job in a process of its own; returns what it writes."""
    job = Path(__file__).parent / f"{name}.py"
    # PySpark's client starts the server "local[2]", and has no setting for the options of its JVM.
    done = subprocess.run(
        [sys.executable, str(job), *map(str, arguments)],
        env=os.environ | {"JAVA_TOOL_OPTIONS": QUICK_JVM},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("told ")]
    assert lines, done.stderr[-3000:]
    return json.loads(lines[0].removeprefix("told "))


@pytest.fixture
def files(tmp_path: Path) -> Feed:
    return Feed(None, tmp_path)  # type: ignore[arg-type] - the job has a session of its own


@pytest.fixture
def server(spark: SparkSession) -> Iterator[str]:
    """Yields the address of a server in the JVM of the session, which is fast by now."""
    context: Any = spark.sparkContext
    services = context._jvm.org.apache.spark.sql.connect.service
    service = getattr(getattr(services, "SparkConnectService$"), "MODULE$")
    service.start(context._jsc.sc())
    try:
        yield f"sc://127.0.0.1:{service.localPort()}"
    finally:
        service.stop(*(getattr(service, f"stop$default${number}")() for number in (1, 2)))


def test_a_stream_through_connect(files: Feed, server: str) -> None:
    files.put(*FIRST)
    assert run(files, "smoke", server) == ["pyspark.sql.connect.session", SUMS]


@pytest.mark.spark
@pytest.mark.nightly
def test_all_through_connect(files: Feed) -> None:
    files.put(*FIRST[:3])
    files.put(*FIRST[3:])
    files.put()  # the watermark moves before the next rows (semantics 18.3)
    files.put((1, "a", 100), (300, "c", 9))
    assert run(files, "all") == {
        "connect": "pyspark.sql.connect.session",
        "refused": True,
        "timely": ["timestamp"],
        "refusals": [
            "a stream that another operator emits",
            "withWatermark('timestamp', '1 second') of emitted rows",
        ],
        "twice": [["a", 1], ["a", 1], ["a", 2], ["a", 2], ["b", 1], ["b", 1]],
        "behind": [["a", 1], ["a", 2], ["b", 1]],
        "name": "minutes",
        "observed": [7, 5, 0, 1, 1, 3],
        "as_pyspark": [["a", 1, None], ["a", 2, 1], ["b", 3, None], ["a", 5, 3]],
        "joined": [["A", 1, 2], "behind"],
        "counted": [[1, 2], [2, 1], [3, 1], [5, 1]],
        "streamed": STREAMED,
        "expressions": ["sum((V * 2))", "sum((v * 2)) FILTER (WHERE ((v % 2) = 1))"],
        "expressed": [[6, 6], [10, 10], [18, 18], [206, 2]],
        "sql": [TEXTS, STREAMED_TEXTS],
        "late": ["expired"],
        "invalid": ["event time is null"],
        "batch": BATCH,
    }


@pytest.mark.nightly
def test_a_state_of_several_operators_through_connect(tmp_path: Path, server: str) -> None:
    """semantics 47.9, 48.6, 48.7, 48.9: three operators go on in another query, with other shards."""
    rows = [((1, "a", 1), (2, "b", 2)), ((3, "a", 4), (17, "c", 8)), ((18, "a", 16), (40, "b", 32))]
    for folder, files in (("before", rows[:2]), ("after", rows[2:])):
        for side, factor, later in (("left", 1, 0), ("right", 100, 1)):
            (tmp_path / folder / side).mkdir(parents=True)
            feed = Feed(None, tmp_path / folder / side)  # type: ignore[arg-type] - as in `files`
            for file in files:
                feed.put(*((seconds + later, key, factor * value) for seconds, key, value in file))
    session, found, refused, records = run_job("connect_moved_job", server, tmp_path)
    assert session == "pyspark.sql.connect.session"
    ends = [f"2024-01-01 00:00:{end}9.999999" for end in (0, 1)]
    assert found == [
        ["a", ends[0], "5", ends[0], "500"],
        ["a", ends[1], "16", ends[0], "500"],
        ["a", ends[1], "16", ends[1], "1600"],
        ["b", ends[0], "2", ends[0], "200"],
        ["c", ends[1], "8", ends[1], "800"],
    ]
    assert "as many operators as the file: here 1 (semantics 48.7)" in refused
    assert records == 2  # that of the import, and that of the change
