"""The interpreter of the workers is looked for by `configure`, and on the driver before the first stream."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError
from panewise.spark import configure, windowed
from panewise.spark.session import worker_python
from panewise.spark.session.worker_python import DRIVER_CHECKED, check_driver_python, check_sinks, look_for


def interpreter(folder: Path, options: str) -> str:
    """Returns the path of a command that runs this Python with options."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {options} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_workers_that_cannot_import_panewise(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        spark.sparkContext, "pythonExec", interpreter(tmp_path, "-S")
    )  # without the packages of the environment
    with pytest.raises(
        SetupError,
        match=r"^workers run .*python.*, which has no panewise, polars, .* \| operators run in Spark's "
        r"Python workers, which import "
        r"panewise \| set PYSPARK_PYTHON=.* before the session starts, or install panewise\[spark\] "
        r"where the workers run \[PW-",
    ):
        configure(spark.newSession())
    configure(spark.newSession(), check=False)


def test_workers_that_do_not_start(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    with pytest.raises(
        SetupError,
        match=r'^a Python worker that does not work: .*"/no/such/python".* \| .* \| set PYSPARK_PYTHON=',
    ):
        configure(spark.newSession())


def stream_of(session: SparkSession) -> Any:
    """Returns the result of an operator over a stream."""
    rate = session.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    return windowed(rate, "timestamp").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))


def test_a_driver_that_cannot_start_the_interpreter(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 15.12: an environment that exists on the executors of a cluster alone"""
    monkeypatch.setattr(worker_python, "is_local", lambda _: False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "./environment/bin/python")
    session, unchecked = (configure(spark.newSession(), check=False) for _ in range(2))
    session.conf.unset(DRIVER_CHECKED)
    with pytest.raises(
        SetupError,
        match=r'^the driver cannot start the interpreter of the workers: .*"\./environment/bin/python".* \| '
        r"Spark starts the interpreter of its workers on the driver, too, when a streaming query starts \| "
        r"unpack the environment where the driver runs, so that the same path exists there, or give a path "
        r"that exists everywhere \(docs/operations/deployment\.md\) \[PW-",
    ):
        stream_of(session)
    rows = session.sql("SELECT now() AS timestamp")  # the driver starts nothing for a batch
    windowed(rows, "timestamp").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    stream_of(unchecked)


def test_a_driver_whose_interpreter_has_no_panewise(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 15.12"""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", interpreter(tmp_path, "-S"))
    with pytest.raises(
        SetupError,
        match=r"^the driver runs .*python.*, which has no .*polars, .* \| Spark starts .* \| install "
        r"them there\. Spark does not give it the files of --py-files: set PYTHONPATH to them before "
        r"spark-submit or the Connect server starts \(docs/operations/deployment\.md\) \[PW-",
    ):
        check_driver_python()


def test_files_that_spark_ships_do_not_reach_the_driver_s_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 15.12: tests/faults/test_deployment.py shows it on a cluster."""
    (tmp_path / "shipped_alone.py").touch()
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    needed = ("polars", "shipped_alone", "no_such.package")
    assert look_for(needed)(0) == f"{sys.executable}|no_such.package"
    assert look_for(needed, shipped=False)(0) == f"{sys.executable}|shipped_alone, no_such.package"
    assert sys.path[-1] == str(tmp_path)


def test_the_driver_is_checked_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 15.12"""
    monkeypatch.setattr(worker_python, "is_local", lambda _: False)
    session = configure(spark.newSession())
    stream_of(session)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    stream_of(session)


def test_without_a_cluster_nothing_is_started(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 15.12"""
    session = configure(spark.newSession())
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/such/python")
    stream_of(session)


def test_a_server_that_cannot_call_sinks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 15.13"""
    monkeypatch.setattr(worker_python, "is_classic", lambda _: False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", interpreter(tmp_path, "-S"))
    session = configure(spark.newSession(), check=False)
    check_sinks(session)
    session.conf.unset(DRIVER_CHECKED)
    with pytest.raises(
        SetupError,
        match=r"^the server runs .*python.*, which has no grpc, .*zstandard \| on a Connect server sinks are "
        r"called by a process that is itself a client of the server \| install panewise\[connect\] there "
        r"\(docs/operations/deployment\.md\) \[PW-",
    ):
        stream_of(session).write(panes=str(tmp_path / "panes"), checkpoint=str(tmp_path / "checkpoint"))
    assert not (tmp_path / "checkpoint").exists()
