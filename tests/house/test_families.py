"""Nothing outside the families asks which family a specification, plan or operator is of.

What depends on a family is reached through panewise/families.py, so a new family changes no other file.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from panewise.families import FAMILIES, part
from tests.house.sources import SRC, check_each, files, shown, tree

KINDS = {
    "Chain",
    "ChainOperator",
    "ChainPlan",
    "Interpreter",
    "Operator",
    "DeduplicateEngine",
    "DeduplicateInterpreter",
    "DeduplicateOperator",
    "DeduplicatePlan",
    "OverInterpreter",
    "OverEngine",
    "OverOperator",
    "OverPlan",
    "Plan",
    "PolicyInterpreter",
    "PolicyOperator",
    "PolicyPlan",
    "StreamWindow",
    "WindowOperator",
}
# Code for one family. The first has the public outputs of OVER operators; the others draw random cases.
OF_ONE_FAMILY = {"spark/results/over.py", "testing/chains.py", "testing/scripts.py"}
PLACES = [
    path
    for path in files()
    if path.relative_to(SRC).parts[0] in ("spark", "testing", "state", "cli.py", "demo", "families.py")
    or path.parent == SRC / "engine"
]


def kinds_asked(root: ast.AST) -> set[str]:
    """Returns the classes of KINDS that an isinstance, issubclass or match statement names."""
    found: set[str] = set()
    for node in ast.walk(root):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            tests = node.args[1:] if node.func.id in ("isinstance", "issubclass") else []
        else:
            tests = [node.cls] if isinstance(node, ast.MatchClass) else []
        found |= {name.id for test in tests for name in ast.walk(test) if isinstance(name, ast.Name)}
    return found & KINDS


def kinds_in(path: Path) -> list[str]:
    """Returns a fault if a file asks for kinds and may not, or may and asks for none."""
    asked = kinds_asked(tree(path))
    if bool(asked) == (shown(path) in OF_ONE_FAMILY):
        return []
    return [f"{shown(path)}: asks for {sorted(asked) or 'no kind, so it need not be in OF_ONE_FAMILY'}"]


def test_nobody_asks_for_the_family() -> None:
    check_each(PLACES, kinds_in)


def test_isinstance_and_match_are_found() -> None:
    source = "isinstance(x, (int, Chain))\nmatch x:\n    case StreamWindow(kind='tumbling'):\n        pass\n"
    assert kinds_asked(ast.parse(source)) == {"Chain", "StreamWindow"}
    assert kinds_asked(ast.parse("Chain(first, stages)\nisinstance(x, int)")) == set()


def test_each_family_supplies_all_parts() -> None:
    for family in FAMILIES:
        for reference in (family.spec, family.engine, family.oracle, family.testing):
            assert part(reference) is not None


@pytest.mark.parametrize(
    ("module", "not_loaded"),
    [
        ("panewise.engine.over.family", ("windowing", "windows", "chain", "policy")),
        ("panewise.engine.policy.family", ("windowing", "windows", "chain", "over")),
        ("panewise.engine.deduplicate.family", ("windowing", "windows", "chain", "over", "policy", "join")),
        ("panewise.engine.windows.family", ("chain", "over", "policy")),
    ],
)
def test_a_family_loads_nothing_of_another(module: str, not_loaded: tuple[str, ...]) -> None:
    """An OVER operator loads no trigger, no session and no sliding window."""
    program = f"import sys, {module}; print(*sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    folders = tuple(f"panewise.engine.{folder}" for folder in not_loaded)
    assert [
        name
        for name in ran.stdout.split()
        if name in folders or name.startswith(tuple(f"{one}." for one in folders))
    ] == []
