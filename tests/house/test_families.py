"""Only the files of a family ask whether a value is of one of its classes.

What depends on a family is reached through panewise/families.py, so a new family changes no other file. The
files of a family are those in a folder of its name in each part, and files of its name, such as
spec/codec/over.py.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from panewise import families
from panewise.engine.windowing.plan import WindowPlan
from panewise.families import CHAIN, COGROUP, FAMILIES, JOIN, WINDOWED_JOIN, WINDOWS, Family, part
from tests.house.sources import SRC, check_each, files, module_of, nodes, shown


@cache
def family_of(value: type) -> Family | None:
    """Returns the family of a class: of a specification, a plan, or anything in its folders; else None."""
    stated = getattr(value, "family", None)
    if isinstance(stated, Family):
        return stated
    return next((family for family in FAMILIES if _is_of(value, family)), None)


def _is_of(value: type, family: Family) -> bool:
    # Several families use the plan of windows, so it is in a folder that they share.
    return value.__module__.startswith(_folders_of(family)) or (family is WINDOWS and value is WindowPlan)


@cache
def _folders_of(family: Family) -> tuple[str, ...]:
    homes = [family.engine.partition(":")[0], family.oracle.partition(":")[0]]
    return tuple(f"{home.rpartition('.')[0]}." for home in homes)


# The families that a specification of a family consists of. Its files may ask for these, too.
NESTED = {CHAIN: {WINDOWS}, WINDOWED_JOIN: {JOIN, WINDOWS, CHAIN}, COGROUP: {WINDOWS}}
# Fields that only specifications of some families have: their own family, and other specifications.
FIELDS = {"family", "first", "stages", "join", "window", "windows"}

# How deep the folders and files of families are in each part: engine/over, spec/codec/over.py.
DEPTHS = {"engine": 1, "oracle": 1, "testing": 1, "spec": 2, "spark": 2}


def is_own(path: Path, family: Family) -> bool:
    """Returns whether a file is one of a family."""
    places = path.relative_to(SRC).with_suffix("").parts
    return places[DEPTHS.get(places[0], 0) :][:1] in ((family.name,), (f"{family.name}s",))


def classes_asked(all_nodes: Iterator[ast.AST] | tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Yields line and name of the classes that isinstance, issubclass and match statements name."""
    for node in all_nodes:
        tests: list[ast.expr] = []
        if isinstance(node, ast.Call):
            tests = node.args[1:] if _called(node) in ("isinstance", "issubclass") else []
        elif isinstance(node, ast.MatchClass):
            tests = [node.cls]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            tests = node.comparators if _called(node.left) == "type" else []
        for test in tests:
            for name in ast.walk(test):
                if isinstance(name, (ast.Name, ast.Attribute)):
                    yield test.lineno, ast.unparse(name)


def _called(call: ast.Call) -> str | None:
    return call.func.id if isinstance(call.func, ast.Name) else None


def names_of(path: Path) -> dict[str, Any]:
    """Returns what a file imports by name from panewise."""
    found: dict[str, Any] = {}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "panewise":
            module = import_module(node.module or "")
            found |= {one.asname or one.name: getattr(module, one.name, None) for one in node.names}
    return found


def families_asked(all_nodes: Iterator[ast.AST] | tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Yields line and name of what asks for a family or for a field that only some have.

    These are comparisons of the attribute `family`, arguments of `is_specification`, and `getattr` and
    `hasattr` of such a field by its name.
    """
    for node in all_nodes:
        match node:
            case ast.Compare(left=ast.Attribute(attr="family"), comparators=compared):
                yield from ((node.lineno, ast.unparse(name)) for name in compared)
            case ast.Compare(left=name, comparators=[ast.Attribute(attr="family")]):
                yield node.lineno, ast.unparse(name)
            case ast.Call(func=ast.Name(id="is_specification"), args=[_, *names]):
                yield from ((node.lineno, ast.unparse(name)) for name in names)
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(field)), *_]
            ):
                if field in FIELDS:
                    yield node.lineno, f"the field {field!r}"


def may_ask(path: Path, name: str) -> bool:
    """Returns whether a file may ask for a family, which is given by its name in panewise/families.py."""
    own = {family for family in FAMILIES if is_own(path, family)}
    nested = {family for owner in own for family in NESTED.get(owner, ())}
    return getattr(families, name, None) in own | nested


def comparisons(path: Path) -> Iterator[str]:
    """Yields a fault for each family that a file asks for without a class."""
    if shown(path) != "spec/protocol.py":  # is_specification is there
        for line, name in families_asked(nodes(path)):
            if not may_ask(path, name):
                yield f"{shown(path)}:{line}: asks for {name}"


def questions(path: Path) -> Iterator[str]:
    """Yields a fault for each class of a family that a file asks for, if it is not of that family."""
    asked = list(classes_asked(nodes(path)))
    known = names_of(path) if asked else {}
    own = vars(import_module(module_of(path))) if asked and path.stem != "__main__" else {}
    for line, name in asked:
        first, _, rest = name.partition(".")
        value = known.get(first, own.get(first))
        for attribute in rest.split(".") if rest else ():
            value = getattr(value, attribute, None)
        family = family_of(value) if isinstance(value, type) else None
        if family is not None and not is_own(path, family):
            yield f"{shown(path)}:{line}: asks for {name} of {family.name}"


def test_nobody_else_asks_for_the_family() -> None:
    check_each(files(), questions)


def test_nobody_else_compares_families() -> None:
    check_each(files(), comparisons)


def test_questions_are_found() -> None:
    source = """
isinstance(x, (int, Chain))
issubclass(x, pw.OverOperator)
type(x) is not WindowedJoin
match x:
    case StreamWindow(kind='tumbling'):
        pass
Chain(first, stages)
"""
    found = {name for _, name in classes_asked(ast.walk(ast.parse(source)))}
    assert found == {"int", "Chain", "pw", "pw.OverOperator", "WindowedJoin", "StreamWindow"}


def test_comparisons_are_found() -> None:
    source = """
if spec.family == OVER or CHAIN is not spec.family:
    getattr(type(spec.first), "family", None), getattr(spec, "join", spec), getattr(spec, name)
is_specification(spec, POLICY)
"""
    found = {name for _, name in families_asked(ast.walk(ast.parse(source)))}
    assert found == {"OVER", "CHAIN", "the field 'family'", "the field 'join'", "POLICY"}


def test_each_family_has_classes_of_all_kinds() -> None:
    """The specification, the plan, the operator and the interpreter of each family are among them."""
    spec = import_module("panewise.spec")
    specifications = {family_of(one) for one in vars(spec).values() if isinstance(one, type)}
    assert specifications >= set(FAMILIES)
    for family in FAMILIES:
        folder = SRC.joinpath(*family.engine.partition(":")[0].split(".")[1:-1])
        in_folder = [
            value
            for path in folder.glob("operator.py")
            for value in vars(import_module(module_of(path))).values()
            if isinstance(value, type) and family_of(value) == family
        ]
        assert in_folder
        assert family_of(part(family.oracle)) == family


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
