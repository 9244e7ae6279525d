"""Tests of the command `panewise watch`."""

import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from panewise.cli import main


def test_the_page_is_served_until_it_is_interrupted(tmp_path: Path) -> None:
    """It prints the address, which is of this machine only, and needs no Spark (semantics 15.20)."""
    code = (
        "import sys; sys.modules['pyspark'] = None; "
        "from panewise.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "watch", str(tmp_path / "later")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        with urlopen(url, timeout=10) as response:
            assert "panewise watch" in response.read().decode()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(tmp_path), "--port", "70000"]) == 2
    assert "port=70000 | a server needs an address that it can open" in capsys.readouterr().err
