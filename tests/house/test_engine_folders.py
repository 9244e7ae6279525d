"""Imports between the folders of engine/ run one way.

kernels <- {store, progress, aggregate <- ingest} <- windowing <- {windows, over, policy} <- chain <- the files of engine/ itself.
Operator families know nothing of one another; what several of them share lies in a folder below them.
"""

from pathlib import Path

import pytest

from tests.house.sources import SRC, files, imported, shown

LOW = {"kernels", "store", "progress", "aggregate", "ingest"}
SHARED = LOW | {"windowing"}
MAY_IMPORT = {
    "kernels": set(),
    "store": {"kernels"},
    "progress": {"kernels"},
    "aggregate": {"kernels"},
    "ingest": {"kernels", "aggregate"},
    "windowing": LOW,
    "windows": SHARED,
    "over": SHARED,
    "policy": SHARED,
    "chain": SHARED | {"windows", "over", "policy"},
}
FOR_ALL = {"columns"}  # files of engine/ itself that every folder may import
# What is still to be untangled; an entry that is not needed any more fails.
TO_DO = {
    ("over/operator.py", "panewise.engine.windows.operator"),  # the state of all operators is one class
    ("policy/operator.py", "panewise.engine.windows.operator"),  # it is a window operator with another step
}
ENGINE = [path for path in files() if path.is_relative_to(SRC / "engine")]


def folder(path: Path) -> str | None:
    """The folder of engine/ that a file is in; None for a file of engine/ itself."""
    first, *rest = path.relative_to(SRC / "engine").parts
    return first if rest else None


def upward(path: Path) -> set[tuple[str, str]]:
    """The imports of a file that go against the arrows."""
    here = folder(path)
    if here is None:
        return set()
    allowed = MAY_IMPORT[here] | FOR_ALL | {here}
    inner = {name for name in imported(path) if name.startswith("panewise.engine.")}
    name = str(path.relative_to(SRC / "engine"))
    return {(name, module) for module in inner if module.split(".")[2] not in allowed}


def test_every_folder_has_a_rule() -> None:
    assert {folder(path) for path in ENGINE} == {None, *MAY_IMPORT}


@pytest.mark.parametrize("path", ENGINE, ids=shown)
def test_imports_of_the_engine_run_one_way(path: Path) -> None:
    assert upward(path) <= TO_DO


def test_what_is_to_do_is_still_there() -> None:
    assert set().union(*map(upward, ENGINE)) == TO_DO


def test_rules_hold_no_cycle() -> None:
    reach = {here: set(folders) for here, folders in MAY_IMPORT.items()}
    for _ in reach:
        for folders in reach.values():
            folders |= {far for near in tuple(folders) for far in reach[near]}
    assert [here for here, folders in reach.items() if here in folders] == []
