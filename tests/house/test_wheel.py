"""The wheel contains py.typed, which marks the package as typed."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.house.sources import ROOT


def test_the_wheel_says_that_it_has_types(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "panewise/py.typed" in zipfile.ZipFile(wheel).namelist()
