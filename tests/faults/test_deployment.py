"""The commands of docs/operations/deployment.md, as they stand there, on a standalone cluster of processes.

They are run by a shell that knows nothing of the environment of the tests.
"""

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pyspark
import pytest

from tests.faults.clusters import bare_python, free_port, is_open, standalone
from tests.faults.processes import kill_job, living, wait_until
from tests.faults.rounds import PATIENCE, ROOT
from tests.jvm import QUICK_JVM

PAGE = ROOT / "docs" / "operations" / "deployment.md"
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS = [(0, "a", 1), (5, "a", 2), (7, "b", 3)]
PANES = ["a 2 3", "b 1 3"]
DEFAULTS = f"""
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.extraJavaOptions {QUICK_JVM}
spark.executor.extraJavaOptions {QUICK_JVM}
spark.executor.cores 1
spark.executor.memory 512m
spark.log.level ERROR
spark.ui.enabled false
"""
# What the shell of a user does not have.
OURS = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_REMOTE", "VIRTUAL_ENV")

pytestmark = pytest.mark.nightly


def blocks(heading: str, language: str = "sh") -> list[str]:
    """Returns the blocks of code under a heading of the page; of the whole page if it is empty."""
    text = PAGE.read_text(encoding="utf-8")
    section = (
        re.split(r"^## ", text.split(f"\n## {heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
        if heading
        else text
    )
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)


class Shell:
    """Runs commands in a folder with the job and its rows, as a user of the cluster does."""

    def __init__(self, folder: Path, master: str) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "conf").mkdir()
        (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS, encoding="utf-8")
        (folder / "job.py").write_text(blocks("", "python")[0], encoding="utf-8")
        (folder / "in").mkdir()
        rows = [(START + timedelta(seconds=seconds), key, value) for seconds, key, value in ROWS]
        schema = {"ts": pl.Datetime("us", "UTC"), "k": pl.String, "v": pl.Int64}
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "in" / "rows.parquet")
        self.variables = {name: value for name, value in os.environ.items() if name not in OURS} | {
            "MASTER": master,
            "DATA": str(folder / "in"),
            "OUT": str(folder / "out"),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def start(self, commands: str, **variables: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["bash", "-euc", commands],
                cwd=self.folder,
                env=self.variables | variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, commands: str, **variables: str) -> tuple[int, list[str]]:
        """Returns the exit status, and the lines that were written."""
        process = self.start(commands, **variables)
        try:
            return process.wait(PATIENCE), self.lines()
        finally:
            if living([process.pid]):
                kill_job(process)

    def lines(self) -> list[str]:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()

    def panes(self, commands: str, **variables: str) -> list[str]:
        """Runs the job to its end; returns the panes that it prints."""
        status, lines = self.run(commands, **variables)
        assert status == 0, "\n".join(lines[-60:])
        return [line for line in lines if re.fullmatch(r"\w \d \d", line)]

    def refusal(self, commands: str, **variables: str) -> str:
        """Runs the job, which must fail when the operator is built; returns its error."""
        status, lines = self.run(commands, **variables)
        errors = [line for line in lines if line.startswith("panewise.errors.SetupError: ")]
        assert (status, len(errors)) == (1, 1), "\n".join(lines[-60:])
        assert not (self.folder / "out").exists()
        return errors[0].removeprefix("panewise.errors.SetupError: ")


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone(tmp_path_factory.mktemp("cluster") / "files") as (url, _):
        yield url


@pytest.fixture
def shell(tmp_path: Path, master: str) -> Shell:
    return Shell(tmp_path / "user", master)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(ROOT)], check=True, cwd=folder)
    return str(next(folder.glob("panewise-*.whl")))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, wheel: str) -> Path:
    """Returns the archive of a packed environment."""
    folder = tmp_path_factory.mktemp("packed")
    subprocess.run(
        ["bash", "-euc", blocks("A packed environment")[0]],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name not in OURS} | {"WHEEL": wheel},
        check=True,
    )
    return folder / "environment.tar.gz"


@pytest.fixture
def with_archive(shell: Shell, packed: Path) -> Shell:
    (shell.folder / packed.name).symlink_to(packed)
    return shell


def test_a_packed_environment(with_archive: Shell) -> None:
    assert with_archive.panes(blocks("A packed environment")[1]) == PANES


def put_small_archive(folder: Path) -> None:
    """Makes an archive with a Python that starts the one of the tests, instead of 600 MB."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    with tarfile.open(folder / "environment.tar.gz", "w:gz") as archive:
        archive.add(python, "bin/python")


def test_an_environment_that_the_driver_lacks(shell: Shell) -> None:
    """semantics 15.12: the executors unpack the archive, and nobody does so for the driver."""
    put_small_archive(shell.folder)
    unpack, *submit = blocks("A packed environment")[1].splitlines()
    assert unpack.startswith("mkdir environment")
    text = shell.refusal("\n".join(submit), PYSPARK_DRIVER_PYTHON=sys.executable)
    shown = blocks("A packed environment", "text")[0].split()
    assert text.split() == shown[1:]


def test_a_wheel(shell: Shell, wheel: str) -> None:
    """Without PYTHONPATH the stream is refused (semantics 15.12)."""
    variables = {"WHEEL": wheel, "PYSPARK_PYTHON": bare_python(shell.folder)}
    (commands,) = blocks("A wheel with --py-files")
    without = "\n".join(line for line in commands.splitlines() if "PYTHONPATH" not in line)
    given, rule, _ = shell.refusal(without, **variables).split(" | ")
    assert re.fullmatch(r"the driver runs .*python.*, which has no panewise", given)
    assert rule.startswith("Spark starts the interpreter of its workers on the driver")
    assert shell.panes(commands, **variables) == PANES


def test_cluster_mode(shell: Shell) -> None:
    submit = '"$SPARK_HOME/bin/spark-submit" --master "$MASTER" --deploy-mode cluster job.py "$DATA" "$OUT"'
    status, lines = shell.run(submit)
    (words,) = blocks("Cluster mode", "text")
    assert status == 1
    assert any(words.strip() in line for line in lines), lines


@contextmanager
def served(shell: Shell, commands: str, port: str) -> Iterator[None]:
    """Runs a Connect server inside."""
    server = shell.start(commands, PORT=port)
    try:
        assert wait_until(lambda: is_open(int(port)) or server.poll() is not None, PATIENCE), "no server"
        assert server.poll() is None, "\n".join(shell.lines()[-60:])
        yield
    finally:
        kill_job(server)


CLIENT = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def test_a_connect_server(with_archive: Shell) -> None:
    start, connect = blocks("A Connect server")
    port, shared = str(free_port()), with_archive.folder / "shared"
    shared.mkdir()
    with_archive.variables["SHARED"] = str(shared)
    with served(with_archive, start, port):
        assert with_archive.panes(connect, PORT=port, PATH=CLIENT) == PANES


def test_archives_of_a_connect_server(shell: Shell) -> None:
    """They do not reach the workers of its sessions, which `configure` finds out."""
    put_small_archive(shell.folder)
    start, connect = blocks("A Connect server")
    *_, submit, options = start.splitlines()
    archived = "\n".join(
        [
            blocks("A packed environment")[1].splitlines()[0],
            "export PYSPARK_PYTHON=./environment/bin/python",
            submit,
            f"{options} --archives environment.tar.gz#environment",
        ]
    )
    port = str(free_port())
    with served(shell, archived, port):
        refused = shell.refusal(connect, PORT=port, PATH=CLIENT)
    assert 'Cannot run program "./environment/bin/python"' in refused
    assert "operators run in Spark's Python workers, which import panewise" in refused
