"""An attribute of an object is set in the module of its class. Other modules call a method that does it.

Attributes are found by name. One that a class of the module has, too, is only seen if it is set on a
parameter whose class is of another module.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house.sources import SRC, check_each, files, is_itself, nodes, shown, tree

# Attributes that modules set on objects of other packages, and why one of ours is set.
EXEMPT = {
    "__class__": "PySpark's DataFrame becomes one whose withWatermark is refused",
    "argv": "the arguments of the interpreter, for the command line of a demo",
    "ctx": "an error of click gets the command that it belongs to",
    "daemon_threads": "a setting of the standard library's server",
    "dataType": "a field of a schema of PySpark",
    "environment": "the environment that PySpark gives to its workers",
    "owner": "each message or row passes here, and a call costs more than what it would do",
    "prec": "the precision in a context of the standard library's decimal",
    "sync": "an option of RocksDB",
}
RETAINED = tuple(path for path in files() if path.is_relative_to(SRC / "standalone" / "retained"))
# An interpreter is plain data and what is done to it, in the modules of one folder.
ORACLE = SRC / "oracle"


def set_attributes(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yields the attributes in a tree that are assigned or deleted, except those of `self` and `cls`."""
    for part in ast.walk(node):
        is_set = isinstance(part, ast.Attribute) and isinstance(part.ctx, (ast.Store, ast.Del))
        if is_set and not is_itself(part.value):
            yield part


@cache
def classes(path: Path) -> tuple[ast.ClassDef, ...]:
    """Returns the classes of a module; in the oracle those of all modules of its folder."""
    modules = path.parent.glob("*.py") if path.is_relative_to(ORACLE) else (path,)
    return tuple(node for module in modules for node in nodes(module) if isinstance(node, ast.ClassDef))


@cache
def own_attributes(path: Path) -> frozenset[str]:
    """Returns the attributes that the classes of a module declare or set on themselves."""
    found = set()
    for node in (part for kind in classes(path) for part in ast.walk(kind)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_itself(node.value):
            found.add(node.attr)
    return frozenset(found)


def types_of_parameters(path: Path) -> Iterator[tuple[ast.AST, str, set[str]]]:
    """Yields each function with the names of its parameters, and the names in their annotations."""
    for node in nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                if argument.annotation is not None:
                    names = (part for part in ast.walk(argument.annotation) if isinstance(part, ast.Name))
                    yield node, argument.arg, {name.id for name in names}


def of_other_modules(path: Path) -> Iterator[ast.Attribute]:
    """Yields the set attributes of parameters whose class is that of another module."""
    own = {kind.name for kind in classes(path)}
    for function, parameter, types in types_of_parameters(path):
        if types.isdisjoint(own):
            for attribute in set_attributes(function):
                if isinstance(attribute.value, ast.Name) and attribute.value.id == parameter:
                    yield attribute


def set_outside(path: Path) -> Iterator[str]:
    unknown = (node for node in set_attributes(tree(path)) if node.attr not in own_attributes(path))
    outside = {(node.lineno, ast.unparse(node), node.attr) for node in (*unknown, *of_other_modules(path))}
    for line, written, name in sorted(outside):
        if name not in EXEMPT:
            yield f"{shown(path)}:{line}: sets {written}; call a method that does it"


def set_anywhere(path: Path) -> Iterator[str]:
    for node in set_attributes(tree(path)):
        yield f"{shown(path)}:{node.lineno}: sets {ast.unparse(node)}; call a method that does it"


def test_attributes_are_set_in_the_module_of_the_class() -> None:
    check_each(files(), set_outside)


def test_objects_of_retained_windows_change_only_themselves() -> None:
    check_each(RETAINED, set_anywhere)


def test_exemptions_are_needed() -> None:
    assert set(EXEMPT) <= {node.attr for path in files() for node in set_attributes(tree(path))}
