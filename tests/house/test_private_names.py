"""A name with a leading underscore is used in its own module, and by subclasses on themselves."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import SRC, check_each, files, nodes, shown

# Names of other packages that have no public name for the same.
OF_OTHERS = {
    "_replace": "named tuples",
    "_repr_html_": "IPython calls it",
    "_jc": "the JVM's column in PySpark",
    "_jvm": "the JVM of the driver in PySpark",
    "_jsparkSession": "the session of the JVM in PySpark",
    "_curr": "the present token of sqlglot's parser",
    "_prev": "the previous token of sqlglot's parser",
}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def names_of(all_nodes: tuple[ast.AST, ...]) -> set[str]:
    """Returns the names that a module defines or assigns: of functions, classes, variables and attributes."""
    defined = {
        node.name
        for node in all_nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    assigned = (node for node in all_nodes if isinstance(getattr(node, "ctx", None), ast.Store))
    return defined | {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in assigned
        if isinstance(node, (ast.Attribute, ast.Name))
    }


def is_itself(value: ast.expr) -> bool:
    """Returns whether an expression is `self`, `cls` or `super()`."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def private_names_of_others(path: Path) -> Iterator[str]:
    own = names_of(nodes(path)) | set(OF_OTHERS)
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if node.attr not in own and not is_itself(node.value):
                yield f"{shown(path)}:{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "panewise":
            for name in node.names:
                if is_private(name.name):
                    yield f"{shown(path)}:{node.lineno}: imports {node.module}.{name.name}"


def test_modules_do_not_use_private_names_of_others() -> None:
    check_each(files(), private_names_of_others)


def test_names_of_others_are_needed() -> None:
    used = {node.attr for path in files() for node in nodes(path) if isinstance(node, ast.Attribute)}
    assert set(OF_OTHERS) <= used


RETAINED = tuple(path for path in files() if path.is_relative_to(SRC / "standalone" / "retained"))


def attributes_set_outside(path: Path) -> Iterator[str]:
    attributes = (node for node in nodes(path) if isinstance(node, ast.Attribute))
    for node in attributes:
        if isinstance(node.ctx, (ast.Store, ast.Del)) and not is_itself(node.value):
            yield f"{shown(path)}:{node.lineno}: sets {ast.unparse(node)}; call a method that does it"


def test_objects_of_retained_windows_change_only_themselves() -> None:
    check_each(RETAINED, attributes_set_outside)
