"""tools/matrix.py: the versions of PySpark that the tests run on, and the other packages beside them."""

import re
import tomllib

import pytest

from panewise.spark import connectors
from tests.house.sources import ROOT
from tools import matrix

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_each_minor_version_that_the_extras_admit_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert extras["spark"][:2] == ["pyspark>=4.1,<4.3", "pandas>=2.2,<3"]
    assert extras["spark43"] == ["pyspark>=4.3,<4.4", *extras["spark"][1:]]
    assert [version.rpartition(".")[0] for version in matrix.VERSIONS] == ["4.1", "4.2", "4.3"]
    assert matrix.locked(LOCK) in matrix.VERSIONS


def test_only_pyspark_differs_from_the_lock() -> None:
    for version, digest in matrix.VERSIONS.items():
        made = matrix.pinned(LOCK, version)
        assert re.findall(r"^pyspark==(\S+) \\\n    --hash=sha256:(\w+)\n", made, re.MULTILINE) == [
            (version, digest)
        ]
        assert len(re.findall(r"^pandas==2\.\S+ \\$", made, re.MULTILINE)) == 1
        differing = set(made.splitlines()) ^ set(LOCK.splitlines())
        assert len(differing) == (0 if version == matrix.locked(LOCK) else 4)


def test_each_version_has_its_connectors() -> None:
    """The extra `spark` admits the versions that have all connectors (docs/decisions/0049)."""
    assert {version: sorted(connectors(version)) for version in matrix.VERSIONS} == {
        "4.1.4": ["delta", "kafka"],
        "4.2.0": ["delta", "kafka"],
        "4.3.0": ["kafka"],
    }


def test_a_version_can_be_chosen() -> None:
    assert matrix.chosen("all") == list(matrix.VERSIONS)
    assert matrix.chosen("4.1.4") == ["4.1.4"]
    with pytest.raises(
        SystemExit,
        match=r"PySpark '4\.0' \| the versions of the matrix are 4\.1\.4, 4\.2\.0, 4\.3\.0 \| give one",
    ):
        matrix.chosen("4.0")
