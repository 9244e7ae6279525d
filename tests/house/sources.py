"""The sources of panewise, each read and parsed once, and a check of all of them by one test."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "panewise"

T = TypeVar("T")


def check_each(subjects: Collection[T], faults: Callable[[T], Iterable[str]]) -> None:
    """Fails if a subject has faults, or if there is no subject. The message has each fault in a line."""
    assert subjects, "there is nothing to check"
    found = [fault for subject in subjects for fault in faults(subject)]
    assert not found, "\n".join(["", *found])


@cache
def files() -> tuple[Path, ...]:
    return tuple(sorted(SRC.rglob("*.py")))


def shown(path: Path) -> str:
    return str(path.relative_to(SRC))


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path), filename=str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Returns all nodes of a file's tree."""
    return tuple(ast.walk(tree(path)))


def part(path: Path) -> str:
    """Returns the part of panewise that a file belongs to.

    It is `spec` for spec/windows/kinds.py, `chrono` for chrono.py, and empty for __init__.py.
    """
    first = path.relative_to(SRC).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def part_of_module(module: str) -> str:
    """Returns the part that a dotted name in panewise belongs to. It is empty for panewise itself."""
    _, _, rest = module.partition(".")
    return rest.split(".")[0]


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Returns the dotted names of the modules that a file imports, anywhere in the file.

    `from a import b` gives a. Only for `from panewise import b` it is panewise.b if b is a module.
    """
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{shown(path)}:{node.lineno}: relative import"
            assert node.module is not None
            if node.module == "panewise":
                yield from (_module_of_name(node.module, name.name) for name in node.names)
            else:
                yield node.module


def module_of(path: Path) -> str:
    """Returns the dotted name of a file, for instance panewise.spec for spec/__init__.py."""
    *folders, last = path.relative_to(SRC).with_suffix("").parts
    return ".".join(["panewise", *folders, *([] if last == "__init__" else [last])])


def imported_at_runtime(path: Path) -> Iterator[str]:
    """Returns the modules of panewise that a file imports, except those that only type checkers import.

    `from a import b` is a.b if that is a module, else a.
    """
    return _modules_of(_at_runtime(tree(path)))


def imported_modules(path: Path) -> Iterator[str]:
    """Returns the modules of panewise that a file imports, also for annotations alone."""
    return _modules_of(nodes(path))


def _modules_of(all_nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in all_nodes:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("panewise."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "panewise":
            yield from (_module_of_name(node.module or "", name.name) for name in node.names)


def _at_runtime(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of a tree without the bodies of `if TYPE_CHECKING`."""
    yield node
    checked = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    for child in node.orelse if checked else ast.iter_child_nodes(node):
        yield from _at_runtime(child)


def _module_of_name(module: str, name: str) -> str:
    """Returns the module that `from module import name` imports."""
    place = SRC.joinpath(*module.split(".")[1:], name)
    return f"{module}.{name}" if place.is_dir() or place.with_suffix(".py").is_file() else module


def is_itself(value: ast.expr) -> bool:
    """Returns whether an expression is `self`, `cls` or `super()`."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes(path) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Returns the number of lines of the body without the docstring."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


def circles(imports: dict[str, set[str]]) -> list[str]:
    """Returns circles of names that import themselves over others, such as "a -> b -> a".

    Without one import of each of these circles there would be none.
    """
    graph = {name: set(others) for name, others in imports.items()}
    found = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1][::-1]  # each name imports the next one
            start = circle.index(min(circle))
            names = [*circle[start:-1], *circle[:start]]
            found.append(" -> ".join([*names, names[0]]))
            graph[circle[0]].remove(circle[1])
        else:
            return sorted(found)
