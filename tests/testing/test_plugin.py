"""The pytest plugin."""

import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("runtime", [None, "engine"])
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


def test_the_option_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime of the option plays a stream: an unknown one would be an error."""
    from panewise import InputError, Tumbling, WindowOperator
    from panewise import functions as F
    from panewise.testing import TestStream
    from panewise.testing.stream import RUNTIME

    token = RUNTIME.set("nowhere")
    try:
        with pytest.raises(InputError, match="nowhere"):
            TestStream(WindowOperator(window=Tumbling(10), aggregates=[F.count()])).clock(1).play()
    finally:
        RUNTIME.reset(token)
