"""The pytest plugin."""

import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from tests.nightly import first_here

TEST = """
from panewise import Tumbling, WindowOperator, functions as F
from panewise.testing import TestStream

def test_a_window(panewise_runtime):
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("rows")])
    played = TestStream(spec).rows({"event_time": 1}).watermark(10).play()
    played.assert_panes([{"rows": 1}])
    with open("runtime", "w") as file:
        file.write(panewise_runtime)
"""


@pytest.mark.parametrize("runtime", first_here([None, "standalone", "engine"], 2))
def test_a_test_is_played_by_the_runtime_of_the_option(tmp_path: Path, runtime: str | None) -> None:
    (tmp_path / "test_user.py").write_text(TEST)
    option = [] if runtime is None else [f"--panewise-runtime={runtime}"]
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", *option]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert (tmp_path / "runtime").read_text() == (runtime or "oracle")


def test_an_unknown_runtime_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--panewise-runtime=flink"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "invalid choice: 'flink'" in done.stderr


THREAD = """
from concurrent.futures import ThreadPoolExecutor

import pytest

import panewise.testing.stream as stream
from panewise import InputError, Tumbling, WindowOperator, functions as F
from panewise.testing import TestStream

def played():
    stream.DEFAULT.runtime += "?"  # an unknown runtime, which the error names
    return TestStream(WindowOperator(window=Tumbling(10), aggregates=[F.count()])).clock(1).play()

def test_in_a_thread():
    with ThreadPoolExecutor() as pool, pytest.raises(InputError, match="runtime='engine[?]'"):
        pool.submit(played).result()
"""


@pytest.mark.parametrize("workers", first_here([["-n", "2"], []]), ids=["two processes", "one process"])
def test_the_option_holds_in_all_threads_and_processes(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_user.py").write_text(THREAD)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "--panewise-runtime=engine", *workers]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_option_ends_with_pytest(tmp_path: Path) -> None:
    """A session of pytest inside another one does not change the outer one."""
    (tmp_path / "test_user.py").write_text(TEST)
    text = (
        "import pytest, panewise.testing.stream as stream; "
        "assert pytest.main(['-q', '--panewise-runtime=engine']) == 0; "
        "assert stream.DEFAULT.runtime == 'oracle'"
    )
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_imports_neither_polars_nor_pyspark() -> None:
    """pytest loads it for tests that may not need them."""
    text = "import sys, panewise.testing.plugin; assert not {'polars', 'pyspark'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_pytest_collects_no_function_of_the_test_kit() -> None:
    """It does where a file is named on its command line, and a name in it begins as those of tests do."""
    import panewise.testing as kit

    names = [one.name for one in pkgutil.walk_packages(kit.__path__, "panewise.testing.")]
    assert len(names) > 20
    collected = [
        f"{name}.{one}"
        for name in names
        for one, value in vars(import_module(name)).items()
        if one.lower().startswith("test") and callable(value) and getattr(value, "__test__", True)
    ]
    assert collected == []


def test_workers_of_spark_run_the_python_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no environment is activated, so that `python3` is another one."""
    spark = pytest.importorskip("panewise.testing.runtimes.spark")
    monkeypatch.setattr(spark, "SparkSession", MagicMock())
    monkeypatch.setattr(spark, "configure", MagicMock())
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    spark._session()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    monkeypatch.setenv("PYSPARK_PYTHON", "another")
    spark._session()
    assert os.environ["PYSPARK_PYTHON"] == "another"
