"""The wheel and the source distribution: what they contain, and that two builds are the same bytes.

At night each extra is installed from the wheel into an environment that has nothing else.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.house.sources import ROOT

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What is not code, of which the demo has no data: these come with a package of the extra `demo`.
DATA: Final = {
    "panewise/README.md",
    "panewise/error_codes.json",
    "panewise/py.typed",
    "panewise/observe/watch/page/index.html",
    "panewise/observe/watch/page/watch.css",
    "panewise/observe/watch/page/watch.js",
    "panewise/sizing/costs.json",
}
SPARK: Final = "from panewise.spark import windowed, configure, sql; import panewise.spark.compat"
# What each extra is for. An extra without code of its own needs a connector of Spark.
USES: Final = {
    "": "import panewise.standalone, panewise.testing, panewise.stores, panewise.oracle, panewise.observe",
    "spark": SPARK,
    "spark43": f"{SPARK}; import pyspark; assert pyspark.__version__.startswith('4.3')",
    "connect": f"{SPARK}; import pyspark.sql.connect.session",
    "metrics": f"{SPARK}; import panewise.observe.prometheus",
    "kafka": "from panewise.spark import KafkaSink, kafka_source",
    "delta": "from panewise.spark import DeltaSink",
    "postgres": "from panewise.spark import PostgresSink; PostgresSink('dsn', 't'); import psycopg",
    "testing": "import panewise.testing.strategies, panewise.testing.transcripts",
    "demo": "import panewise.demo.explain; from panewise.demo.join import inputs; inputs.load()",
}
# Without its extra the use of one says which one is missing.
WITHOUT: Final = ("spark", "kafka", "delta", "postgres", "testing")


def build(root: Path, to: Path, *kinds: str) -> dict[str, bytes]:
    """Builds distributions of a source tree, and returns their bytes by name."""
    targets = [word for kind in kinds for word in ("-t", kind)]
    command = [sys.executable, "-m", "hatchling", "build", *targets, "-d", str(to)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in to.iterdir()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the path of a wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    (name,) = build(ROOT, folder, "wheel")
    return folder / name


def test_the_wheel_has_code_and_no_data_of_the_demo(wheel: Path) -> None:
    """It contains py.typed, which marks the package as typed."""
    names = zipfile.ZipFile(wheel).namelist()
    inner = {name for name in names if name.startswith("panewise/")}
    assert {name for name in inner if not name.endswith(".py")} == DATA
    folders = {"panewise", f"{wheel.name.partition('-py3')[0]}.dist-info"}
    assert {Path(name).parts[0] for name in names} == folders
    assert wheel.stat().st_size < 3_000_000


def test_each_extra_has_a_use() -> None:
    assert {*USES} == {"", *PROJECT["optional-dependencies"]}


@pytest.mark.nightly
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    """The second is of a copy elsewhere, with other times and modes, in another time zone."""
    first = build(ROOT, tmp_path / "first", "sdist", "wheel")
    copy = tmp_path / "elsewhere" / "copy"
    ignored = shutil.ignore_patterns(".git", ".venv*", "out", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=ignored)
    for number, path in enumerate(sorted(copy.rglob("*"))):
        path.chmod(0o700 if path.stat().st_mode & 0o100 else 0o600)
        os.utime(path, (1_500_000_000 + number,) * 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        second = build(copy, tmp_path / "second", "sdist", "wheel")
    assert len(first) == 2
    assert [name for name in first if first[name] != second.get(name)] == []


def constraints(extra: str) -> str:
    """Returns the versions of the lock, without PySpark for the extra that has another one."""
    pins = re.findall(r"^\S+==\S+", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)
    return "\n".join(pin for pin in pins if not (extra == "spark43" and pin.startswith("pyspark=="))) + "\n"


def installed(wheel: Path, extra: str, folder: Path) -> Path:
    """Installs a distribution with an extra into a new environment, and returns its Python."""
    python, limits = folder / "bin" / "python", folder.with_suffix(".txt")
    limits.write_text(constraints(extra), encoding="utf-8")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, str(folder)], check=True)
    name = f"{wheel}[{extra}]" if extra else str(wheel)
    command = [*uv, "pip", "install", "--python", str(python), "--constraints", str(limits), name]
    subprocess.run(command, check=True)
    return python


def run(python: Path, code: str) -> "subprocess.CompletedProcess[str]":
    """Runs code in an environment, away from the sources."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PY")}
    return subprocess.run(
        [str(python), "-c", code],
        cwd=python.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.nightly
@pytest.mark.parametrize("extra", [*USES])
def test_an_extra_installs_into_an_empty_environment(extra: str, wheel: Path, tmp_path: Path) -> None:
    python = installed(wheel, extra, tmp_path / "environment")
    done = run(python, USES[extra])
    assert done.returncode == 0, done.stderr
    command = [python.with_name("panewise"), "--version"]
    assert subprocess.check_output(command, text=True).startswith("panewise ")


@pytest.mark.nightly
def test_the_source_distribution_installs(tmp_path: Path) -> None:
    (name,) = build(ROOT, tmp_path / "built", "sdist")
    done = run(installed(tmp_path / "built" / name, "", tmp_path / "environment"), USES[""])
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_without_an_extra_the_error_names_it(wheel: Path, tmp_path: Path) -> None:
    python = installed(wheel, "", tmp_path / "environment")
    for extra in WITHOUT:
        done = run(python, USES[extra])
        expected = extra if extra == "testing" else "spark"  # without any, PySpark is what is missing first
        assert f"| pip install 'panewise[{expected}]'" in done.stderr.strip().splitlines()[-1]
