"""The command `panewise check`."""

import subprocess
import sys
from pathlib import Path

import pytest

from panewise.cli import main


def test_it_lists_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--no-spark"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    assert {"Python", "Java", "pyspark", "polars"} <= {line.split()[1] for line in lines}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, "no java in JAVA_HOME="),
        ("echo 'openjdk version \"1.8.0_392\"' >&2", "is Java 8 | Spark 4 runs on Java 17 or 21 | install"),
        ("echo none", "is Java of unknown version"),
    ],
)
def test_a_wrong_java_is_named(
    script: str | None,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if script is not None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert main(["check", "--no-spark"]) == 1
    assert said in capsys.readouterr().out


@pytest.mark.nightly
def test_the_workers_of_a_session_are_checked() -> None:
    """A new session has no connector for Kafka: its coordinates are named."""

    def check(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "panewise", "check", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = check()
    assert (done.returncode, "they start, and import panewise" in done.stdout) == (0, True)
    done = check("--connector", "kafka")
    assert (done.returncode, "spark-sql-kafka-0-10" in done.stdout) == (1, True)
