"""Nothing outside the folders of a match asks which match a join has.

What depends on the match is reached through panewise/matches.py, so a new match changes no other file. Names
of its tables, columns and fields of the header belong to a match, too, and nothing else imports them.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import get_args

from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec.operators.join.match import Match
from tests.house.sources import SRC, check_each, files, imported_at_runtime, nodes, shown

JOIN = "panewise.engine.join."
CLASSES = {kind.__name__ for kind in get_args(Match)}
# The folders of their parts and methods in the engine. One may load another, whose method it puts rows into.
FOLDERS = {kind.engine.split(".")[3] for kind in MATCHES.values()}
LOADED = {"by_arrival": {"as_of"}, "streams": {"by_arrival"}}
# The folders and modules of the matches: values, parts, methods and strategies.
OWN = (
    *(f"spec/operators/join/{name}.py" for name in ("windowing", *MATCHES)),
    "spec/matches/",
    *(f"engine/join/{name}/" for name in FOLDERS),
    *(f"oracle/join/{kind.oracle.split('.')[3].partition(':')[0]}.py" for kind in MATCHES.values()),
    "sql/writing/matches.py",
    "testing/matches/",
)


def is_own(path: Path) -> bool:
    return shown(path).startswith(OWN)


@cache
def kinds() -> frozenset[str]:
    """Returns the names of the matches, and of the classes of their methods and parts."""
    own = {
        node.name
        for path in files()
        if is_own(path)
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    }
    return frozenset(own | CLASSES)


def questions(tree: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yields the lines that ask for a match.

    They do so by isinstance, a match statement, a comparison or a table, or import what a match has in the
    engine.
    """
    for node in tree:
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((node.lineno, name) for name in of_folders(f"{module}.{of.name}" for of in names))
            case ast.Import(names=names):
                yield from ((node.lineno, name) for name in of_folders(of.name for of in names))
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
                yield from ((node.lineno, name) for name in classes(asked))
            case ast.MatchClass(cls=asked):
                yield from ((node.lineno, name) for name in classes(asked))
            case ast.Dict(keys=keys):
                yield from ((node.lineno, name) for key in keys if key is not None for name in classes(key))
            case ast.Compare(left=ast.Attribute(attr="kind", value=of), comparators=others) if is_match(of):
                found = [one for other in others for one in ast.walk(other) if isinstance(one, ast.Constant)]
                yield from ((node.lineno, one.value) for one in found if one.value in MATCHES)
            case ast.Compare(left=left, comparators=others):
                yield from ((node.lineno, name) for one in (left, *others) for name in classes(one))


def of_folders(imported: Iterable[str]) -> Iterator[str]:
    """Yields the folders of matches in the engine that these modules and names are in."""
    for name in imported:
        folder = name.removeprefix(JOIN).partition(".")[0]
        if name.startswith(JOIN) and folder in FOLDERS:
            yield folder


def is_match(node: ast.AST) -> bool:
    return "match" in (getattr(node, "id", None), getattr(node, "attr", None))


def classes(node: ast.AST) -> list[str]:
    """Returns the classes of matches that an expression names."""
    found = [getattr(one, "id", getattr(one, "attr", None)) for one in ast.walk(node)]
    return [name for name in found if name in kinds()]


def faults(path: Path) -> list[str]:
    return [f"{shown(path)}:{line}: asks for {name}" for line, name in sorted(set(questions(nodes(path))))]


def test_nobody_asks_for_the_match() -> None:
    check_each([path for path in files() if not is_own(path)], faults)


def test_questions_are_found() -> None:
    def found(source: str) -> list[str]:
        return [name for _, name in questions(tuple(ast.walk(ast.parse(source))))]

    assert found("isinstance(x, (int, pw.Latest))") == ["Latest"]
    assert found("match x:\n    case LastRows(right=None):\n        pass\n") == ["LastRows"]
    assert found("type(x) is AsOf") == ["AsOf"]
    assert found("rules = {Interval: 'an interval'}") == ["Interval"]
    assert found("spec.match.kind == 'as_of'") == ["as_of"]
    names = "from panewise.engine.join.streams.clocks import RELEASED, WAITING"
    assert found(names) == ["streams", "streams"]
    assert found("from panewise.engine.join import plan, streams") == ["streams"]
    assert found("import panewise.engine.join.as_of.method") == ["as_of"]
    assert found("Interval(0, 5)\nisinstance(x, int)\nframe.kind == 'rows'") == []


def test_each_match_supplies_all_parts() -> None:
    assert {kind.kind for kind in get_args(Match)} == set(MATCHES)
    for kind in MATCHES.values():
        for reference in (kind.spec, kind.engine, kind.oracle, kind.testing):
            assert part(reference) is not None


@cache
def loaded(module: str) -> frozenset[str]:
    """Returns the modules of engine/join that are loaded with a module."""
    path = SRC.parent / f"{module.replace('.', '/')}.py"
    found, near = {module}, set(imported_at_runtime(path)) if path.is_file() else set()
    for one in near:
        found |= loaded(one) if one.startswith(JOIN) and one not in found else set()
    return frozenset(found)


def folders(module: str) -> set[str]:
    """Returns the folders of matches that are loaded with a module of engine/join."""
    return {one.split(".")[3] for one in loaded(f"{JOIN}{module}")} & FOLDERS


def test_a_match_loads_nothing_of_another() -> None:
    """A plan needs the parts of no match. Two methods are in front of others.

    The last rows by event time are looked up as of a time, and windowed streams release rows into windows by
    arrival.
    """
    assert folders("plan") == set()
    for folder in FOLDERS:
        assert folders(f"{folder}.parts") == {folder} | LOADED.get(folder, set())
