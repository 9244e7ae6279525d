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
# Other families whose parts a family loads.
LOADED = NESTED | {COGROUP: {WINDOWS, JOIN}}  # the inputs of a cogroup are read as the sides of a join
# The families that load engine/windowing: their rows, or those of a match of joins, are in windows.
IN_WINDOWS = {WINDOWS, CHAIN, JOIN, WINDOWED_JOIN, COGROUP}
# The tables of families outside of panewise/families.py, and why they are not parts of a family.
TABLES = {
    "sql/to_sql.py": "SQL writes only these families, and a specification knows no SQL",
    "spark/results/by_family.py": "the classes are public, and families of other packages have FamilyResult",
}
NAMES = {name for name, value in vars(families).items() if isinstance(value, Family)}
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


@cache
def names_of(path: Path) -> dict[str, Any]:
    """Returns what a file imports by name from panewise."""
    found: dict[str, Any] = {}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "panewise":
            module = import_module(node.module or "")
            found |= {one.asname or one.name: getattr(module, one.name, None) for one in node.names}
    return found


def value_of(path: Path, name: str) -> Any:
    """Returns the value of a name in a file, which may have points; None if it is not known."""
    first, _, rest = name.partition(".")
    own = vars(import_module(module_of(path))) if path.stem != "__main__" else {}
    value = names_of(path).get(first, own.get(first))
    for attribute in rest.split(".") if rest else ():
        value = getattr(value, attribute, None)
    return value


def families_asked(all_nodes: Iterator[ast.AST] | tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Yields line and name of what asks for a family or for a field that only some have.

    These are comparisons of the attribute `family` or of its name, arguments of `is_specification`, and
    `getattr` and `hasattr` of such a field by its name. A specification that is compared with one of its
    ports asks whether other stages follow it.
    """
    for node in all_nodes:
        match node:
            case ast.Compare(left=left, comparators=compared) if is_family(left):
                yield from ((node.lineno, ast.unparse(name)) for name in compared)
            case ast.Compare(left=name, comparators=[compared]) if is_family(compared):
                yield node.lineno, ast.unparse(name)
            case ast.Compare(left=left, comparators=compared) if any(map(is_port, (left, *compared))):
                yield node.lineno, "a port by its value"
            case ast.Call(func=ast.Name(id="is_specification"), args=[_, *names]):
                yield from ((node.lineno, ast.unparse(name)) for name in names)
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(field)), *_]
            ):
                if field in FIELDS:
                    yield node.lineno, f"the field {field!r}"


def is_family(node: ast.AST) -> bool:
    """Returns whether an expression is the attribute `family`, or the name of this family."""
    if isinstance(node, ast.Attribute) and node.attr == "name":
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == "family"


def is_port(node: ast.AST) -> bool:
    """Returns whether an expression is a port of a specification, as in `spec.ports[INPUT]`."""
    ports = node.value if isinstance(node, ast.Subscript) else None
    return isinstance(ports, ast.Attribute) and ports.attr == "ports"


def families_tabled(all_nodes: Iterator[ast.AST] | tuple[ast.AST, ...]) -> Iterator[tuple[int, str]]:
    """Yields line and name of what may be a family and is the key of a dict, itself or by its name."""
    for node in all_nodes:
        for key in node.keys if isinstance(node, ast.Dict) else ():
            name = "" if key is None else ast.unparse(key).removesuffix(".name")
            if name.rpartition(".")[2] in NAMES:
                yield node.lineno, name


def tabled(path: Path) -> Iterator[tuple[int, str]]:
    """Yields line and name of the families of other files that are keys of a dict in this file."""
    for line, name in families_tabled(nodes(path)):
        if isinstance(value_of(path, name), Family) and not may_ask(path, name):
            yield line, name


def may_ask(path: Path, name: str) -> bool:
    """Returns whether a file may ask for a family, which is given by its name in panewise/families.py."""
    name = name.removesuffix(".name").rpartition(".")[2]
    own = {family for family in FAMILIES if is_own(path, family)}
    nested = {family for owner in own for family in NESTED.get(owner, ())}
    return getattr(families, name, None) in own | nested


def comparisons(path: Path) -> Iterator[str]:
    """Yields a fault for each family that a file asks for without a class."""
    asked = families_asked(nodes(path)) if shown(path) != "spec/protocol.py" else ()  # with is_specification
    others = [(line, name) for line, name in asked if not may_ask(path, name)]
    for line, name in (*others, *(tabled(path) if shown(path) not in TABLES else ())):
        yield f"{shown(path)}:{line}: asks for {name}"


def questions(path: Path) -> Iterator[str]:
    """Yields a fault for each class of a family that a file asks for, if it is not of that family."""
    for line, name in classes_asked(nodes(path)):
        value = value_of(path, name)
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
spec.family.name == JOIN.name, "windows" != spec.family.name
spec.ports[INPUT] is spec
{COGROUP: 1, families.DEDUPLICATE.name: 2, INPUT: 3}
"""
    tree = tuple(ast.walk(ast.parse(source)))
    found = {name for _, name in families_asked(tree)}
    fields = {"the field 'family'", "the field 'join'"}
    assert found == {"OVER", "CHAIN", "POLICY", "JOIN.name", "'windows'", "a port by its value"} | fields
    assert {name for _, name in families_tabled(tree)} == {"COGROUP", "families.DEDUPLICATE"}


def test_the_tables_are_there() -> None:
    for name in TABLES:
        assert [*tabled(SRC / name)], name


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


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_loads_nothing_of_another(family: Family) -> None:
    """An OVER operator loads no trigger, no session and no sliding window."""
    others = {other.name for other in set(FAMILIES) - {family} - LOADED.get(family, set())}
    not_loaded = others if family in IN_WINDOWS else others | {"windowing"}
    program = f"import sys, {family.engine.partition(':')[0]}; print(*sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("panewise.engine.").split(".")[0] for name in ran.stdout.split()}
    assert loaded & not_loaded == set()
    assert family.name in loaded
