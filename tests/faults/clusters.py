"""Starts Spark clusters on this machine, and ships panewise to their workers as a zip."""

import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pyspark

from tests.faults.processes import kill_job, living, wait_until
from tests.faults.rounds import ROOT


def spark_home(folder: Path) -> Path:
    """Returns a SPARK_HOME under `folder` that links to the Spark of pyspark.

    A local cluster writes its executors' files to SPARK_HOME/work, and no setting changes that.
    """
    home = folder / "spark"
    home.mkdir(parents=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        if entry.name != "work":
            (home / entry.name).symlink_to(entry)
    return home


def shipped(folder: Path) -> dict[str, str]:
    """Returns settings that ship panewise as a package, to workers that could not import it otherwise."""
    archive = folder / "panewise.zip"
    with ZipFile(archive, "w") as file:
        for path in sorted((ROOT / "src" / "panewise").rglob("*.py")):
            file.write(path, str(path.relative_to(ROOT / "src")))
    return {
        "spark.submit.pyFiles": str(archive),
        "spark.pyspark.python": bare_python(folder),
        "spark.pyspark.driver.python": sys.executable,
    }


def bare_python(folder: Path) -> str:
    """Returns the path of a Python that has the packages of the tests, but not panewise.

    It is the Python of the tests with -S. It does not read .pth files, and so does not find the editable
    installation. It finds third-party packages by PYTHONPATH.
    """
    bare = folder / "bare-python"
    packages = sysconfig.get_path("purelib")
    bare.write_text(
        f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec {sys.executable} -S "$@"\n', encoding="utf-8"
    )
    bare.chmod(0o755)
    found = subprocess.run(
        [str(bare), "-c", "import panewise"], capture_output=True, text=True, check=False, cwd=folder
    )
    assert "No module named 'panewise'" in found.stderr
    return str(bare)


def check_shipped(log: str) -> None:
    """Checks that the workers, whose Python could not import panewise otherwise, imported it from the zip."""
    (line,) = {line for line in log.splitlines() if line.startswith("panewise in workers: ")}
    assert line.endswith("panewise.zip/panewise/__init__.py")
    assert " " not in line.removeprefix("panewise in workers: ")


@contextmanager
def standalone(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the URL of a cluster on loopback, and the sessions of its processes.

    The cluster has a Master and two Workers of one core each. Each Worker has a host of its own, because
    Spark does not run the second copy of a task on the host that runs the first.
    """
    folder.mkdir(parents=True)
    port = free_port()
    started = [
        _daemon(
            folder,
            "master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            str(free_port()),
        )
    ]
    url = f"spark://127.0.0.1:{port}"
    try:
        assert wait_until(lambda: is_open(port), 60), "no Master"
        for number in (1, 2):
            place = [
                "--host",
                f"127.0.0.{number}",
                "--webui-port",
                str(free_port()),
                "--work-dir",
                str(folder / f"work{number}"),
            ]
            started.append(_daemon(folder, "worker.Worker", *place, "--cores", "1", "--memory", "1g", url))
        yield url, tuple(process.pid for process in started)
    finally:
        for process in reversed(started):
            kill_job(process)
        assert not living(process.pid for process in started)


def _daemon(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{name}",
        *arguments,
    ]
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
