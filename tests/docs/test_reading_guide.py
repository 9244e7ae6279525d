"""The files and functions that docs/explanation/walk.md names exist.

tests/spark/test_walk.py compares its walk with a real one.
"""

import ast
import re

import pytest

from tests.house.sources import ROOT, SRC, files, tree

GUIDE = (ROOT / "docs" / "explanation" / "walk.md").read_text(encoding="utf-8")
HOPS = sorted(set(re.findall(r"`([A-Z]\w+\.\w+)`", GUIDE)))


def names(root: ast.AST) -> set[str]:
    """Returns the functions of a module, and the methods with their classes: `Class.method`."""
    found = {node.name for node in ast.iter_child_nodes(root) if isinstance(node, ast.FunctionDef)}
    for kind in ast.iter_child_nodes(root):
        if isinstance(kind, ast.ClassDef):
            found |= {f"{kind.name}.{one.name}" for one in kind.body if isinstance(one, ast.FunctionDef)}
    return found


def test_hops_exist() -> None:
    """The methods that are named in words, so that nobody has to open their files, exist somewhere."""
    known = set[str]().union(*(names(tree(path)) for path in files()))
    assert HOPS
    assert set(HOPS) <= known


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+(?:\.py|/))`", GUIDE))))
def test_files_exist(path: str) -> None:
    assert (SRC / path).exists() or (ROOT / path).exists()
