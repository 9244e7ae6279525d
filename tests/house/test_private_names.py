"""A name with a leading underscore is used in its own module, and by subclasses on themselves."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import check_each, files, is_itself, nodes, shown

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
